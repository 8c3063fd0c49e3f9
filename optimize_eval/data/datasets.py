"""Datasets: a file → examples, or all that is wrong with it; the end of its name says which reader it has.

JSON lines and lists are read here, tables in tables. A record is known by its number; the reason of a problem
says at which line and column of the file it is. An example's bytes are kept as its line had them: what it
means is the evaluator's business.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from optimize_eval.base import files, strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import DataError, Problem, UsageError
from optimize_eval.data.example import BOM, Example, ParsedFile, Rows, of_record, within
from optimize_eval.data.foreign_files import NOT_JSONL, find_foreign, find_other_form

JSON_NAMES = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


def parse_jsonl(path: str, data: bytes) -> list[Example | Problem]:
    """Read all records, and all that is wrong with them; a file that is something else is one problem."""
    if foreign := find_foreign(path, data):
        return [foreign]
    parsed = list(_parse_lines(path, data.removeprefix(BOM)))
    has_records = any(isinstance(item, Example) for item in parsed)
    if any(isinstance(item, Problem) for item in parsed) and (
        whole := find_other_form(path, data, has_records=has_records)
    ):
        return [whole]
    return parsed


def _parse_lines(path: str, data: bytes) -> Iterator[Example | Problem]:
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield parse_line(path, number, line)


def parse_line(path: str, number: int, line: bytes) -> Example | Problem:
    indent = len(line) - len(line.lstrip())
    body = line.strip()
    try:
        value = strict_json.loads(body.decode(), unique_keys=True)
    except UnicodeDecodeError as error:
        column = indent + len(body[: error.start].decode()) + 1
        reason = f"not UTF-8: byte 0x{body[error.start]:02X}"
        return Problem(path=path, rule="bad_utf8", line=number, column=column, reason=reason)
    except strict_json.JsonFault as fault:
        column = indent + fault.offset + 1
        return Problem(path=path, rule="bad_json", line=number, column=column, reason=fault.reason)
    if not isinstance(value, dict):
        reason = f"a record must be a JSON object, this is {JSON_NAMES[type(value)]}"
        return Problem(path=path, rule="bad_type", line=number, column=indent + 1, reason=reason)
    # A bare carriage return can only stand between tokens; as a blank it cannot end a line anywhere.
    return Example(raw=body.replace(b"\r", b" "), line=number, value=value)


_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()  # lenient: strict_json says of each record what is wrong


def parse_json_list(path: str, data: bytes) -> list[Example | Problem]:
    """Read all records of a list, and all that is wrong with them."""
    if whole := find_foreign(path, data):
        return [whole]
    try:
        text = data.removeprefix(BOM).decode()
    except UnicodeDecodeError as error:
        before = data.removeprefix(BOM)[: error.start].decode()
        reason = f"not UTF-8: byte 0x{error.object[error.start]:02X} {_Lines(before).at(len(before))}"
        return [Problem(path=path, rule="bad_utf8", reason=reason)]
    start = _after_blanks(text, 0)
    if text.startswith("{", start):
        return _not_a_list(path, text, start) or parse_jsonl(path, data)
    if not text.startswith("[", start):
        problem = Problem(path=path, rule="bad_json", reason="the file is not a list of objects: [{…}, …]")
        return [problem] if text.strip() else []
    return list(_elements(path, text, start + 1))


def _not_a_list(path: str, text: str, start: int) -> list[Example | Problem]:
    """Refuse one object where a list of them is meant."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return []
    if _after_blanks(text, end) < len(text):
        return []
    lists = [key for key, item in value.items() if isinstance(item, list)]
    hint = f"; take its list {lists[0]!r} out of it" if lists else ""
    reason = f"the file is one object, and a list of objects is needed: [{{…}}, …]{hint}"
    return [Problem(path=path, rule="bad_type", reason=reason)]


def _elements(path: str, text: str, offset: int) -> Iterator[Example | Problem]:
    """Take the list apart; where its syntax breaks, the rest cannot be told."""
    number, lines = 0, _Lines(text)
    offset = _after_blanks(text, offset)
    while not text.startswith("]", offset):
        number += 1
        try:
            end = _DECODER.raw_decode(text, offset)[1]
        except (ValueError, RecursionError):
            yield _fault(path, number, lines, offset)
            return
        yield _record(path, number, lines, offset, end)
        offset = _after_blanks(text, end)
        if fault := _between(text, offset):
            yield _problem(path, number, "bad_json", fault, lines.at(offset))
            return
        offset = _after_blanks(text, offset + text.startswith(",", offset))
    if (rest := _after_blanks(text, offset + 1)) < len(text):
        yield _problem(path, number, "bad_json", "something follows the list", lines.at(rest))


def _between(text: str, offset: int) -> str:
    """Say what is wrong with what follows a record; empty where it is a comma or the list's end."""
    if not text.startswith((",", "]"), offset):
        return "expecting ',' or ']' after the record"
    is_last = text.startswith("]", _after_blanks(text, offset + 1))
    return "a comma before the end of the list" if text.startswith(",", offset) and is_last else ""


def _record(path: str, number: int, lines: "_Lines", offset: int, end: int) -> Example | Problem:
    try:
        value = strict_json.loads(lines.text[offset:end], unique_keys=True)
    except strict_json.JsonFault as fault:
        return _problem(path, number, "bad_json", fault.reason, lines.at(offset + fault.offset))
    if not isinstance(value, dict):
        reason = f"a record must be a JSON object, this is {JSON_NAMES[type(value)]}"
        return _problem(path, number, "bad_type", reason, lines.at(offset))
    return of_record(number, value, file_line=lines.line_at(offset))


def _fault(path: str, number: int, lines: "_Lines", offset: int) -> Problem:
    """Find why no record could be decoded at a offset."""
    try:
        strict_json.loads(lines.text[offset:], unique_keys=True)
    except strict_json.JsonFault as fault:
        return _problem(path, number, "bad_json", fault.reason, lines.at(offset + fault.offset))
    return _problem(path, number, "bad_json", "not decodable as JSON", lines.at(offset))


@dataclass(slots=True)
class _Lines:
    """Tells lines and columns of places in a text, each behind the one before."""

    text: str
    offset: int = 0
    line: int = 1
    begin: int = 0  # of the line

    def line_at(self, offset: int) -> int:
        self.line += self.text.count("\n", self.offset, offset)
        self.begin = max(self.begin, self.text.rfind("\n", self.offset, offset) + 1)
        self.offset = offset
        return self.line

    def at(self, offset: int) -> str:
        self.line_at(offset)
        return f"(line {self.line}, column {offset - self.begin + 1} of the file)"


def _problem(path: str, number: int, rule: str, reason: str, at: str) -> Problem:
    return Problem(path=path, rule=rule, line=number, column=1, reason=f"{reason} {at}")


def _after_blanks(text: str, offset: int) -> int:
    blank = _BLANK.match(text, offset)
    return blank.end() if blank else offset


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


def load_dataset(path: str | Path) -> list[JsonDict]:
    """Load a dataset as plain dictionaries; raises DataError naming every bad line.

    >>> from optimize_eval.base import shipped
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


def make_example(value: JsonMapping) -> Example:
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
    if isinstance(path, Rows):
        return _of_rows(path, most)
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


def rows_of(given: Iterable[Any], name: str = Rows.NAME) -> Rows:
    """Make examples of what a program has in hand, by the rules for a file; raises UsageError."""
    examples = []
    for number, row in enumerate(given, 1):
        value = row.value if isinstance(row, Example) else row
        if not isinstance(value, Mapping):
            raise UsageError(
                f"row {number} is not a mapping but {value!r:.80}", hint='write {"question": "…"}'
            )
        try:
            examples.append(replace(make_example(value), line=number))
        except (DataError, UsageError) as error:
            raise UsageError(f"row {number}: {error}", hint="give plain JSON values by their names") from None
    return Rows(examples, name)


def _of_rows(rows: Rows, most: int | None) -> ParsedFile:
    parsed = [*within(rows, rows.examples, most)]
    problems = [item for item in parsed if isinstance(item, Problem)]
    examples = tuple(item for item in parsed if isinstance(item, Example))
    if not parsed:
        problems = [Problem(path=rows, rule="empty", reason="the list holds no row")]
    return ParsedFile(path=rows, examples=examples, problems=tuple(problems))


def is_table(path: str | Path) -> bool:
    """Return True if the name of a file says that it is no JSONL."""
    return _suffix(path) in files.TABLES


def where_of(path: str | Path) -> str:
    """Say what the number of an example tells."""
    return "of this number" if is_table(path) else "on this line"


def _parse(name: str, data: bytes) -> list[Example | Problem]:
    return (_READERS[_suffix(name)] if is_table(name) else parse_jsonl)(name, data)


def _reader(parser: str, **settings: str) -> Callable[[str, bytes], list[Example | Problem]]:
    """Load a reader when there is a file for it: most datasets are JSONL."""

    def parse(name: str, data: bytes) -> list[Example | Problem]:
        parsed: list[Example | Problem] = getattr(import_module("optimize_eval.data.tables"), parser)(
            name, data, **settings
        )
        return parsed

    return parse


def _suffix(path: str | Path) -> str:
    return Path(path).suffix.lower()


_READERS: Mapping[str, Callable[[str, bytes], list[Example | Problem]]] = {
    ".csv": _reader("parse_delimited", delimiter=","),
    ".tsv": _reader("parse_delimited", delimiter="\t"),
    ".json": parse_json_list,
    ".parquet": _reader("parse_parquet"),
}


def copies_of(examples: Iterable[Example]) -> dict[int, int]:
    """Find the lines of records that are there already, byte for byte, each with the line of the first."""
    first: dict[bytes, int] = {}
    lines = {example.line: first.setdefault(example.raw, example.line) for example in examples}
    return {line: earlier for line, earlier in lines.items() if line != earlier}


def describe_copies(copies: Mapping[int, int], examples: Sequence[Example]) -> str:
    """Say how many records are copies of others, and which is the first."""
    pair = next(iter(copies.items()))
    copy, first = (next(_place(example) for example in examples if example.line == line) for line in pair)
    what = "is a copy of another" if len(copies) == 1 else "are copies of others"
    return f"{len(copies):,} of {len(examples):,} records {what}: {copy} equals {first}"


def _place(one: Example) -> str:
    return f"line {one.line}" if one.file_line is None else f"record {one.line}{one.in_file}"
