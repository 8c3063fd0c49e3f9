"""Whose results a file holds, by what stands in its first bytes, and who reads them."""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from optimize_eval.base.errors import UsageError
from optimize_eval.foreign import promptfoo, promptfoo_table, score_tables
from optimize_eval.foreign.reading import ForeignFile
from optimize_eval.foreign.rows import refusal
from optimize_eval.foreign.sheet import OriginFile, Sheet

_EXPORT = "promptfoo export eval EVAL_ID -o results.json writes what can be read"


def _nothing(_sheet: Sheet) -> None:
    pass


class Reader(NamedTuple):
    """A form of results: how it begins, and who reads it; `refused` says why nobody does."""

    tool: str
    marks: tuple[re.Pattern[str], ...]  # patterns that all stand in the first bytes
    read: Callable[[ForeignFile, Sheet], None] | None
    refused: str = ""
    end: Callable[[Sheet], None] = _nothing  # says what was noticed in all files


READERS = (
    Reader(
        promptfoo.TOOL,
        (
            re.compile(r'\A\s*\{\s*"evalId":'),
            re.compile(r'"results":'),
        ),
        promptfoo.read_json,
        end=promptfoo.end,
    ),
    Reader(
        promptfoo.TOOL,
        (
            re.compile(r'\A\s*\{[^\n]*"promptIdx":'),
            re.compile(r'\A[^\n]*"testIdx":'),
        ),
        promptfoo.read_lines,
        end=promptfoo.end,
    ),
    Reader(promptfoo.TOOL, (re.compile(r"\A(---\s*)?evalId:"),), None, f"its YAML has references: {_EXPORT}"),
    Reader(
        promptfoo.TOOL,
        (
            re.compile(r"(?i)\A\s*<(!doctype html|html)"),
            re.compile(r"promptfoo"),
        ),
        None,
        f"its HTML is a page for people: {_EXPORT}",
    ),
    Reader(
        promptfoo.TOOL,
        (
            re.compile(r"(?i)\A\s*<(\?xml|testsuites)"),
            re.compile(r"promptfoo"),
        ),
        None,
        f"its XML does not hold all of the results: {_EXPORT}",
    ),
    Reader(
        promptfoo.TOOL,
        (re.compile(r"\A[^\n\[]*\["), re.compile(",Status,Score,")),
        promptfoo_table.read_csv,
        end=promptfoo.end,
    ),
    Reader(
        score_tables.TOOL, (re.compile(r"\A(\ufeff)?\s*\{"),), score_tables.read_lines, end=score_tables.end
    ),
    Reader(
        score_tables.TOOL,
        (re.compile(r"\A[^\n<{\[\x00-\x08,;\t]*[,;\t]"),),
        score_tables.read_delimited,
        end=score_tables.end,
    ),
)
_BLANKS_AFTER_KEYS = re.compile(r'"\s+:')


def reader_of(file: ForeignFile) -> Reader | None:
    """Find who reads a file; None where nobody knows it."""
    head = _BLANKS_AFTER_KEYS.sub('":', file.head.decode("utf-8", "replace"))
    return next((each for each in READERS if all(mark.search(head) for mark in each.marks)), None)


def read_files(paths: Iterable[str], sheet: Sheet) -> None:
    """Read all that was named into one sheet."""
    ends: dict[Callable[[Sheet], None], None] = {}
    for path in paths:
        file = ForeignFile(path)
        reader = reader_of(file)
        if reader is None:
            raise refusal(
                path,
                "nobody knows whose results these are; known are results of promptfoo and tables of scores",
            )
        if reader.read is None:
            raise refusal(path, f"it is {reader.tool}'s, and {reader.refused}")
        if sheet.tool and sheet.tool != reader.tool:
            raise UsageError(
                f"{path} is {reader.tool}'s, and the files before are {sheet.tool}'s",
                hint="report each tool's files by themselves",
            )
        sheet.tool = reader.tool
        sheet.begin_file(file.stem)
        reader.read(file, sheet)
        sheet.end_file(OriginFile(name=file.name, sha256=file.sha256, bytes=file.size))
        ends[reader.end] = None
    for end in ends:
        end(sheet)
    if not sheet.rows:
        raise UsageError(f"there is no result in {', '.join(paths)}", hint="run the tool's evaluation first")
