"""Reports read back: rows of CSV and JSON lines, tables of a Markdown page, test cases of JUnit XML."""

import csv
import io
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import orjson
from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.token import Token

csv.field_size_limit(1 << 24)

Rows = list[dict[str, Any]]


def read_csv(text: str) -> Rows:
    """Read a table; every row must have as many cells as the header, and numbers come as numbers."""
    header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert all(len(row) == len(header) for row in rows)
    return [{name: _value(name, cell) for name, cell in zip(header, row, strict=True)} for row in rows]


def read_jsonl(text: str) -> Rows:
    return [orjson.loads(line) for line in text.splitlines()]


def _value(name: str, cell: str) -> Any:
    if cell == "":
        return None
    if name in {"score", "seconds"}:
        return float(cell)
    return int(cell) if name in {"line", "repeat", "attempts"} else cell


def tokens_of(page: str) -> list[Token]:
    """Parse a page as GitHub does, as far as tables and raw HTML go; what is inside lines comes flat."""
    blocks = MarkdownIt("commonmark").enable("table").parse(page)
    return [one for block in blocks for one in (block, *(block.children or ()))]


def tables_of(page: str) -> list[Rows]:
    """Find all tables, each row by its titles."""
    tables: list[list[list[str]]] = []
    tokens = MarkdownIt("commonmark").enable("table").parse(page)
    for place, token in enumerate(tokens):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type in {"th_open", "td_open"}:
            tables[-1][-1].append(tokens[place + 1].content)
    return [[dict(zip(table[0], row, strict=True)) for row in table[1:]] for table in tables]


@cache
def _schema() -> etree.XMLSchema:
    return etree.XMLSchema(file=Path(__file__).with_name("junit.xsd"))


def read_junit(text: str) -> Element:
    """Read a document that keeps to the schema and whose counts are those of its test cases."""
    _schema().assertValid(etree.fromstring(text.encode()))
    root = fromstring(text.encode())  # noqa: S314  our own
    for suite in (*root, root):
        assert int(suite.get("tests", "")) == len(list(suite.iter("testcase")))
        assert int(suite.get("failures", "")) == len(list(suite.iter("failure")))
        assert int(suite.get("errors", "")) == len(list(suite.iter("error")))
    return root


def cases_of(root: Element) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Give each test case: its class, its name, its properties."""
    for case in root.iter("testcase"):
        properties = {one.get("name", ""): one.get("value", "") for one in case.iter("property")}
        yield case.get("classname", ""), case.get("name", ""), properties
