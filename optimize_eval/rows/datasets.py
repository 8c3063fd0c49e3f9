"""JSONL files → examples, or every problem in them as `path:line:column: reason`.

Reads datasets and valsets by the protocol's rules. Knows no evaluator, no model and no network; what an
example means is the evaluator's business, so its bytes are kept as the line had them.
"""

import csv
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from optimize_eval.errors import DataError, Problem, UsageError
from optimize_eval.reading import files, strict_json

MAX_RECORDS = 10_000
NOT_JSONL = "not_jsonl"  # the rule that a file breaks which is something else as a whole

_BOM = b"\xef\xbb\xbf"
_FOREIGN = (  # first bytes, what the file is, how it becomes JSONL
    (b"\x1f\x8b", "gzip", "gunzip -c < FILE > OUT"),
    (b"\xff\xfe\0\0", "UTF-32", "iconv -f UTF-32 -t UTF-8 FILE > OUT"),
    (b"\xff\xfe", "UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > OUT"),
    (b"\xfe\xff", "UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > OUT"),
    (b"{\0", "UTF-16", "iconv -f UTF-16LE -t UTF-8 FILE > OUT"),
    (b"\0{", "UTF-16", "iconv -f UTF-16BE -t UTF-8 FILE > OUT"),
    (b"PK\x03\x04", "a zip archive", "unzip -p FILE > OUT"),
    (b"BZh", "bzip2", "bunzip2 -c < FILE > OUT"),
    (b"\xfd7zXZ\x00", "xz", "xz -dc < FILE > OUT"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd -dc < FILE > OUT"),
    (b"PAR1", "Parquet", "export it as JSON lines (pandas: read_parquet, then to_json with lines=True)"),
)
# json keeps integers of any size, which jq would round.
_ARRAY_TO_JSONL = (
    "python3 -c 'import json, sys; [print(json.dumps(row)) for row in json.load(sys.stdin)]' < FILE > OUT"
)
_CSV_TO_JSONL = (
    "python3 -c 'import csv, json; "
    'rows = csv.DictReader(open(0, encoding="utf-8-sig", newline=""), delimiter="DELIMITER"); '
    "[print(json.dumps(row)) for row in rows]'"
    " < FILE > OUT"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One record: its bytes as the file has them, its physical line, its decoded value."""

    raw: bytes
    line: int
    value: dict[str, Any] = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFile:
    """What one file holds: examples, and problems that forbid using it."""

    path: str
    examples: tuple[Example, ...]
    problems: tuple[Problem, ...]


def load_dataset(path: str | Path) -> list[dict[str, Any]]:
    """Load a JSONL dataset as plain dictionaries; raises DataError naming every bad line.

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
    """Load the one record on a physical line, even if others are malformed."""
    data = files.read(path, files.DATASET)
    if foreign := _foreign(str(path), data):
        raise DataError([foreign])
    lines = data.removeprefix(_BOM).split(b"\n")
    if not 1 <= line <= len(lines) or not lines[line - 1].strip():
        records = [number for number, text in enumerate(lines, 1) if text.strip()]
        nearest = min(records, key=lambda number: abs(number - line), default=None)
        raise UsageError(
            f"{path}:{line}: there is no record on this line",
            hint=f"the nearest record is {path}:{nearest}" if nearest else "the file holds no record at all",
        )
    example = _parse_line(str(path), line, lines[line - 1])
    if isinstance(example, Problem):
        raise DataError([example])
    return example


def parse_example(text: str, *, source: str) -> Example:
    """Read an example given as JSON text; line ends, which stand between its tokens, become blanks."""
    example = _parse_line(source, 1, text.encode("utf-8", "surrogateescape"))  # as arguments are decoded
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
        return parse_dataset(str(path), files.read(path, files.DATASET), most=most)
    except DataError as error:
        return ParsedFile(path=str(path), examples=(), problems=error.problems)


def parse_dataset(name: str, data: bytes, *, most: int | None = MAX_RECORDS) -> ParsedFile:
    """Read what a whole file holds; see read_dataset."""
    if foreign := _foreign(name, data):
        return ParsedFile(path=name, examples=(), problems=(foreign,))
    parsed = list(_parse_lines(name, data.removeprefix(_BOM), most))
    problems = [item for item in parsed if isinstance(item, Problem)]
    examples = tuple(item for item in parsed if isinstance(item, Example))
    if problems and (whole := _not_lines(name, data, has_records=bool(examples))):
        return ParsedFile(path=name, examples=(), problems=(whole,))
    if not parsed:
        problems = [Problem(path=name, rule="empty", reason="the file holds no record")]
    return ParsedFile(path=name, examples=examples, problems=tuple(problems))


def copies_of(examples: Iterable[Example]) -> dict[int, int]:
    """Find the lines of records that are there already, byte for byte, each with the line of the first."""
    first: dict[bytes, int] = {}
    lines = {example.line: first.setdefault(example.raw, example.line) for example in examples}
    return {line: earlier for line, earlier in lines.items() if line != earlier}


def describe_copies(copies: Mapping[int, int], records: int) -> str:
    """Say how many records are copies of others, and which is the first."""
    line, first = next(iter(copies.items()))
    what = "is a copy of another" if len(copies) == 1 else "are copies of others"
    return f"{len(copies):,} of {records:,} records {what}: line {line} equals line {first}"


def _parse_lines(path: str, data: bytes, most: int | None) -> Iterator[Example | Problem]:
    records = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        item = _parse_line(path, number, line)
        records += isinstance(item, Example)
        if most is None or records <= most or isinstance(item, Problem):
            yield item
        elif records == most + 1:
            reason = f"more than {most:,} records: `run --sample {most}` or --limit takes so many of them"
            yield Problem(path=path, rule="too_many", line=number, column=1, reason=reason)


def _parse_line(path: str, number: int, line: bytes) -> Example | Problem:
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
        reason = f"a record must be a JSON object, this is {_JSON_NAMES[type(value)]}"
        return Problem(path=path, rule="bad_type", line=number, column=indent + 1, reason=reason)
    # A bare carriage return can only stand between tokens; as a blank it cannot end a line anywhere.
    return Example(raw=body.replace(b"\r", b" "), line=number, value=value)


_JSON_NAMES = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


def _foreign(path: str, data: bytes) -> Problem | None:
    for magic, what, conversion in _FOREIGN:
        if data.startswith(magic):
            return _convert(path, f"the file is {what}, not UTF-8 JSONL", conversion)
    return None


def _not_lines(path: str, data: bytes, *, has_records: bool) -> Problem | None:
    """Recognise a file that is not one record a line at all, so that its thousand bad lines become one."""
    try:
        text = data.removeprefix(_BOM).decode().strip(" \t\r\n")
    except UnicodeDecodeError:
        return None
    if text.startswith("[") and _spans(text) == len(text):
        return _convert(path, "the file is one JSON array, not JSONL", _ARRAY_TO_JSONL)
    if text.startswith("{") and "\n" in text[: _spans(text)]:
        return _convert(
            path, "the file is pretty-printed JSON, a record must be one line", "jq -c . FILE > OUT"
        )
    if not has_records and text[:1] not in "{[" and (delimiter := _csv_delimiter(text)):
        conversion = _CSV_TO_JSONL.replace("DELIMITER", "\\t" if delimiter == "\t" else delimiter)
        return _convert(path, "the file looks like CSV, not JSONL", conversion)
    return None


def _spans(text: str) -> int:
    """Count the characters of the JSON value that a text starts with; 0 when it starts with none."""
    try:
        return json.JSONDecoder().raw_decode(text)[1]
    except (ValueError, RecursionError):
        return 0


def _csv_delimiter(text: str) -> str:
    """Find what separates the columns of the first rows; empty when they are no table."""
    for delimiter in ",\t;":
        try:
            widths = {len(row) for row in csv.reader(text.split("\n", 5)[:5], delimiter=delimiter) if row}
        except csv.Error:
            continue
        if len(widths) == 1 and widths.pop() > 1:
            return delimiter
    return ""


def _unused_beside(source: Path) -> Path:
    """Name the converted file: d.csv and d.jsonl.gz become d.jsonl, unless there is one."""
    stem = source.stem.removesuffix(".jsonl")
    out = source.with_name(f"{stem}.jsonl")
    return source.with_name(f"{stem}-lines.jsonl") if out == source or out.exists() else out


def _convert(path: str, reason: str, conversion: str) -> Problem:
    out = _unused_beside(Path(path))
    steps = conversion.replace("FILE", shlex.quote(path)).replace("OUT", shlex.quote(str(out)))
    return Problem(path=path, rule=NOT_JSONL, line=1, column=1, reason=f"{reason}; convert it: {steps}")
