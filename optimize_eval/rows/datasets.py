"""Datasets: a file → examples, or all that is wrong with it; the end of its name says which reader it takes.

Knows no evaluator, no model and no network; what an example means is the evaluator's business.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from optimize_eval.base import files
from optimize_eval.base.errors import DataError, Problem, UsageError
from optimize_eval.rows import jsonl
from optimize_eval.rows.example import Example, ParsedFile, within
from optimize_eval.rows.foreign import NOT_JSONL
from optimize_eval.rows.jsonl import parse_line

MAX_RECORDS = 10_000

__all__ = [
    "MAX_RECORDS",
    "NOT_JSONL",
    "Example",
    "ParsedFile",
    "copies_of",
    "describe_copies",
    "is_table",
    "load_dataset",
    "load_example",
    "load_examples",
    "make_example",
    "parse_dataset",
    "parse_example",
    "read_dataset",
    "where_of",
]


def load_dataset(path: str | Path) -> list[dict[str, Any]]:
    """Load a dataset as plain dictionaries; raises DataError naming every bad line.

    >>> from optimize_eval import shipped
    >>> load_dataset(shipped.path("datasets/greetings.jsonl"))[0]["input"]
    'Ada'
    """
    return [example.value for example in load_examples([path])[0]]


def load_examples(
    paths: Iterable[str | Path], *, most: int | None = MAX_RECORDS
) -> list[tuple[Example, ...]]:
    """Load several files; one DataError tells the problems of all of them."""
    readings = [read_dataset(path, most=most) for path in paths]
    if problems := [problem for reading in readings for problem in reading.problems]:
        raise DataError(problems)
    return [reading.examples for reading in readings]


def load_example(path: str | Path, line: int) -> Example:
    """Load the one record of a line of JSONL, or of a number, even if others are malformed."""
    parsed = _parse(str(path), files.read(path, files.DATASET))
    there = [item for item in parsed if item.line == line]
    wrong = [item for item in parsed if isinstance(item, Problem)]
    whole = [problem for problem in wrong if problem.rule == NOT_JSONL or not problem.line]
    if problems := [problem for problem in wrong if problem.line == line] or whole:
        raise DataError(problems)
    for example in there:
        if isinstance(example, Example):
            return example
    nearest = min((item.line or 0 for item in parsed), key=lambda number: abs(number - line), default=None)
    raise UsageError(
        f"{path}:{line}: there is no record {where_of(path)}",
        hint=f"the nearest record is {path}:{nearest}" if nearest else "the file holds no record at all",
    )


def parse_example(text: str, *, source: str) -> Example:
    """Read an example given as JSON text; line ends, which stand between its tokens, become blanks."""
    example = parse_line(source, 1, text.encode("utf-8", "surrogateescape"))  # as arguments are decoded
    if isinstance(example, Problem):
        raise DataError([example])
    return replace(example, raw=example.raw.replace(b"\n", b" "))


def make_example(value: Mapping[str, Any]) -> Example:
    """Make an example of a decoded object, by the same rules as one from a file."""
    try:
        text = json.dumps(dict(value), ensure_ascii=False, separators=(",", ":"))
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"the example cannot be written as JSON: {error}", hint="pass plain JSON values"
        ) from None
    return parse_example(text, source="example")


def read_dataset(path: str | Path, *, most: int | None = MAX_RECORDS) -> ParsedFile:
    """Read a whole file: good lines become examples, everything wrong a problem, as is more than `most`."""
    try:
        if path == files.STDIN:
            return parse_dataset("stdin", files.read_stdin(files.DATASET), most=most)
        return parse_dataset(str(path), files.read(path, files.DATASET), most=most)
    except DataError as error:
        return ParsedFile(path=str(path), examples=(), problems=error.problems)


def parse_dataset(name: str, data: bytes, *, most: int | None = MAX_RECORDS) -> ParsedFile:
    """Read what a whole file holds; see read_dataset."""
    parsed = list(within(name, _parse(name, data), most))
    problems = [item for item in parsed if isinstance(item, Problem)]
    examples = tuple(item for item in parsed if isinstance(item, Example))
    if not parsed:
        problems = [Problem(path=name, rule="empty", reason="the file holds no record")]
    return ParsedFile(path=name, examples=examples, problems=tuple(problems))


def is_table(path: str | Path) -> bool:
    """Return True if the name of a file says that it is no JSONL."""
    return _suffix(path) in files.TABLES


def where_of(path: str | Path) -> str:
    """Say what the number of an example tells."""
    return "of this number" if is_table(path) else "on this line"


def _parse(name: str, data: bytes) -> list[Example | Problem]:
    return (_READERS[_suffix(name)] if is_table(name) else jsonl.parse)(name, data)


def _reader(module: str, **settings: str) -> Callable[[str, bytes], list[Example | Problem]]:
    """Load a reader when there is a file for it: most datasets are JSONL."""

    def parse(name: str, data: bytes) -> list[Example | Problem]:
        parsed: list[Example | Problem] = import_module(f"optimize_eval.rows.{module}").parse(
            name, data, **settings
        )
        return parsed

    return parse


def _suffix(path: str | Path) -> str:
    return Path(path).suffix.lower()


_READERS: Mapping[str, Callable[[str, bytes], list[Example | Problem]]] = {
    ".csv": _reader("delimited", delimiter=","),
    ".tsv": _reader("delimited", delimiter="\t"),
    ".json": _reader("json_list"),
    ".parquet": _reader("parquet"),
}


def copies_of(examples: Iterable[Example]) -> dict[int, int]:
    """Find the lines of records that are there already, byte for byte, each with the line of the first."""
    first: dict[bytes, int] = {}
    lines = {example.line: first.setdefault(example.raw, example.line) for example in examples}
    return {line: earlier for line, earlier in lines.items() if line != earlier}


def describe_copies(copies: Mapping[int, int], examples: Sequence[Example]) -> str:
    """Say how many records are copies of others, and which is the first."""
    pair = next(iter(copies.items()))
    copy, first = (next(_place(one) for one in examples if one.line == line) for line in pair)
    what = "is a copy of another" if len(copies) == 1 else "are copies of others"
    return f"{len(copies):,} of {len(examples):,} records {what}: {copy} equals {first}"


def _place(one: Example) -> str:
    return f"line {one.line}" if one.file_line is None else f"record {one.line}{one.in_file}"
