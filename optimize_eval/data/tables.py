"""Tables → examples: CSV, TSV and Parquet, whose cells have the types of their columns.

In CSV and TSV a column has the type that all of its cells have: a number that begins with a zero that counts
for nothing, such as a postcode, is a text, and so is its column. An empty cell is null, in a column of texts
the empty text. Columns of Parquet whose type JSON has no value for are refused before any record is read.

A record is known by its number and a value by the number of its column; where the file has lines, the reason
of a problem says on which one that is.
"""

import csv
import io
import math
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from optimize_eval.base.errors import Problem
from optimize_eval.base.strict_json import MAX_DIGITS
from optimize_eval.data.example import BOM, Example, line_of, of_record
from optimize_eval.data.foreign_files import find_foreign, find_semicolons

Read = Callable[[str], Any]

_WHOLE = re.compile(rf"-?(0|[1-9][0-9]{{0,{MAX_DIGITS - 1}}})")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_TRUTH = {"true": True, "false": False}


def reader_of(cells: Iterable[str]) -> Read:
    """Find how all cells of a column are read.

    >>> read = reader_of(["7", "", "-12"])
    >>> read("7"), read("")
    (7, None)
    >>> reader_of(["7", "007"])("7")
    '7'
    """
    filled = {cell for cell in cells if cell}
    fitting = (read for fits, read in _KINDS if filled and all(map(fits, filled)))
    read = next(fitting, None)
    return str if read is None else lambda cell: read(cell) if cell else None


def _is_number(cell: str) -> bool:
    return _NUMBER.fullmatch(cell) is not None and math.isfinite(float(cell))


def _number(cell: str) -> float:
    """Read a number of a column with fractions; 12 stays 12."""
    return int(cell) if _WHOLE.fullmatch(cell) else float(cell)


def _truth(cell: str) -> bool:
    return _TRUTH[cell.lower()]


_KINDS: tuple[tuple[Callable[[str], object], Read], ...] = (
    (_WHOLE.fullmatch, int),
    (_is_number, _number),
    (lambda cell: cell.lower() in _TRUTH, _truth),
)


_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
_SHOWN = 40
_BROKEN = {  # what the csv module says → what it means
    "unexpected end of data": "a cell begins with a quote that has no end",
    "expected after": "a cell goes on behind its closing quote: a quote inside is written twice",
}


class _Row(NamedTuple):
    number: int  # of the record; 0 is the header
    line: int  # of the file, on which it begins
    cells: Sequence[str]


def parse_delimited(path: str, data: bytes, delimiter: str) -> list[Example | Problem]:
    """Read all records of a table, and all that is wrong with it."""
    if whole := find_foreign(path, data):
        return [whole]
    text = data.removeprefix(BOM).decode("utf-8", "surrogateescape")
    with _cells_of_any_size():
        read = list(_rows(path, text, delimiter))
    rows = [row for row in read if isinstance(row, _Row)]
    broken = [problem for problem in read if isinstance(problem, Problem)]
    if not rows:
        return [*broken]
    header = rows[0].cells
    if delimiter == "," and len(header) == 1 and (whole := find_semicolons(path, text)):
        return [whole]
    return [*_in_header(path, rows[0])] or [*_examples(path, header, rows[1:]), *broken]


@contextmanager
def _cells_of_any_size() -> Iterator[None]:
    """Lift the limit on cells, which the csv module has for the whole process."""
    limit = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _rows(path: str, text: str, delimiter: str) -> Iterator[_Row | Problem]:
    """Split a text into rows, blank lines left out; what follows on broken quotes cannot be told."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    number, line = 0, 1
    try:
        for cells in reader:
            if cells:
                yield _Row(number, line, cells)
                number += 1
            line = reader.line_num + 1
    except csv.Error as error:
        reason = next((words for start, words in _BROKEN.items() if start in str(error)), str(error))
        yield _problem(path, _Row(number, line, ()), None, "bad_csv", reason)


def _in_header(path: str, row: _Row) -> Iterator[Problem]:
    """Find names that no field can have."""
    for column, name in enumerate(row.cells, 1):
        if not name.strip():
            yield _problem(path, row, column, "bad_header", "the column has no name in the header")
        elif _ESCAPED_BYTE.search(name):
            yield _problem(path, row, column, "bad_utf8", f"the header is not UTF-8: {_byte_in(name)}")
        elif (first := row.cells.index(name) + 1) < column:
            reason = f"the name {_quote_name(name)} is that of column {first}, too"
            yield _problem(path, row, column, "bad_header", reason)


def _examples(path: str, header: Sequence[str], rows: Sequence[_Row]) -> Iterator[Example | Problem]:
    wrong = {row.number: faults for row in rows if (faults := [*_in_row(path, header, row)])}
    sound = (row.cells for row in rows if row.number not in wrong)
    reads = [reader_of(column) for column in zip(*sound, strict=True)]
    fields = [*zip(header, reads, strict=False)]  # without a sound row, none is read
    for row in rows:
        if row.number in wrong:
            yield from wrong[row.number]
        else:
            pairs = zip(fields, row.cells, strict=True)
            values = {name: read(cell) for (name, read), cell in pairs}
            yield of_record(row.number, values, file_line=row.line)


def _in_row(path: str, header: Sequence[str], row: _Row) -> Iterator[Problem]:
    cells, columns = len(row.cells), len(header)
    if cells != columns:
        reason = f"the row has {_count(cells, 'cell')}, and the header {_count(columns, 'column')}"
        yield _problem(path, row, min(cells, columns) + 1, "bad_row", reason)
    elif not any(row.cells):
        yield _problem(path, row, 1, "bad_row", "all cells of the row are empty: remove it")
    if "".join(row.cells).isascii():
        return
    for column, (name, cell) in enumerate(zip(header, row.cells, strict=False), 1):
        if _ESCAPED_BYTE.search(cell):
            yield _problem(
                path, row, column, "bad_utf8", f"{_quote_name(name)} is not UTF-8: {_byte_in(cell)}"
            )


def _problem(path: str, row: _Row, column: int | None, rule: str, reason: str) -> Problem:
    return Problem(
        path=path, rule=rule, line=row.number, column=column, reason=f"{reason}{line_of(row.line)}"
    )


def _byte_in(text: str) -> str:
    escaped = _ESCAPED_BYTE.search(text)
    return f"byte 0x{ord(escaped[0]) - 0xDC00:02X}" if escaped else ""


def _quote_name(name: str) -> str:
    return repr(name if len(name) <= _SHOWN else name[: _SHOWN - 1] + "…")


def _count(many: int, what: str) -> str:
    return f"{many:,} {what}{'s' * (many != 1)}"


INSTALL = f"{shlex.quote(sys.executable)} -m pip install 'pyarrow>=20'"
_ROWS = 1000  # that are made at a time
_PLAIN = (
    "is_null", "is_boolean", "is_integer", "is_floating", "is_decimal", "is_string", "is_large_string",
    "is_string_view", "is_date", "is_time", "is_timestamp",
)  # fmt: skip


def parse_parquet(path: str, data: bytes) -> list[Example | Problem]:
    """Read all records of a file, and all that is wrong with them."""
    if find_spec("pyarrow") is None:
        return [Problem(path=path, rule="no_reader", reason=f"Parquet is read by pyarrow: {INSTALL}")]
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    try:
        file = parquet.ParquetFile(arrow.BufferReader(data))
        fields = list(file.schema_arrow)
        return [*_in_columns(path, arrow.types, fields)] or [*_records(path, file, fields)]
    except (arrow.ArrowException, OSError, ValueError) as error:
        reason = f"the file cannot be read as Parquet: {str(error).splitlines()[0]}"
        return [Problem(path=path, rule="bad_parquet", reason=reason)]


def _in_columns(path: str, types: Any, fields: Sequence[Any]) -> Iterator[Problem]:
    names = [field.name for field in fields]
    for column, field in enumerate(fields, 1):
        reason = ""
        if odd := _odd_type(types, field.type):
            reason = f"{field.name!r} is of type {odd}, which JSON has not: omit it, or make it a text"
        elif (first := names.index(field.name) + 1) < column:
            reason = f"the name {field.name!r} is that of column {first}, too"
        if reason:
            yield Problem(path=path, rule="bad_column", line=0, column=column, reason=reason)


def _odd_type(types: Any, type_: Any) -> str:
    """Find what cannot become JSON in a type; empty where all of it can."""
    if any(getattr(types, name)(type_) for name in _PLAIN if hasattr(types, name)):
        return ""
    if types.is_dictionary(type_):
        return _odd_type(types, type_.value_type)
    if types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        return _odd_type(types, type_.value_type)
    if types.is_struct(type_):
        inner = (_odd_type(types, type_.field(index).type) for index in range(type_.num_fields))
        return next(filter(None, inner), "")
    if types.is_map(type_) and types.is_string(type_.key_type):
        return _odd_type(types, type_.item_type)
    return str(type_)


def _records(path: str, file: Any, fields: Sequence[Any]) -> Iterator[Example | Problem]:
    number = 0
    for batch in file.iter_batches(_ROWS):
        for row in batch.to_pylist(maps_as_pydicts="strict"):
            number += 1
            wrong = [
                _not_finite(path, number, column, field.name)
                for column, field in enumerate(fields, 1)
                if _has_no_number(row[field.name])
            ]
            if wrong:
                yield from wrong
            else:
                yield of_record(number, _as_json(row), file_line=0)


def _not_finite(path: str, number: int, column: int, name: str) -> Problem:
    reason = f"{name!r} holds NaN or an infinite number, which JSON has not"
    return Problem(path=path, rule="bad_number", line=number, column=column, reason=reason)


def _has_no_number(value: Any) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case Decimal():
            return not value.is_finite()
        case dict():
            return any(map(_has_no_number, value.values()))
        case list():
            return any(map(_has_no_number, value))
    return False


def _as_json(value: Any) -> Any:
    """Make plain values: dates and times as ISO has them, decimals as numbers."""
    match value:
        case dict():
            return {key: _as_json(item) for key, item in value.items()}
        case list():
            return [_as_json(item) for item in value]
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
    return value
