"""CSV and TSV → examples: a header, then a record a row, whose cells have the types of their columns.

A row is known by the number of its record and a cell by the number of its column; the reason of a problem
says on which line of the file that is.
"""

import csv
import io
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from optimize_eval.base.errors import Problem
from optimize_eval.rows.columns import reader_of
from optimize_eval.rows.example import BOM, Example, line_of, of_record
from optimize_eval.rows.foreign import find_foreign, find_semicolons

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


def parse(path: str, data: bytes, delimiter: str) -> list[Example | Problem]:
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
            reason = f"the name {_shown(name)} is that of column {first}, too"
            yield _problem(path, row, column, "bad_header", reason)


def _examples(path: str, header: Sequence[str], rows: Sequence[_Row]) -> Iterator[Example | Problem]:
    wrong = {row.number: found for row in rows if (found := [*_in_row(path, header, row)])}
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
            yield _problem(path, row, column, "bad_utf8", f"{_shown(name)} is not UTF-8: {_byte_in(cell)}")


def _problem(path: str, row: _Row, column: int | None, rule: str, reason: str) -> Problem:
    return Problem(
        path=path, rule=rule, line=row.number, column=column, reason=f"{reason}{line_of(row.line)}"
    )


def _byte_in(text: str) -> str:
    escaped = _ESCAPED_BYTE.search(text)
    return f"byte 0x{ord(escaped[0]) - 0xDC00:02X}" if escaped else ""


def _shown(name: str) -> str:
    return repr(name if len(name) <= _SHOWN else name[: _SHOWN - 1] + "…")


def _count(many: int, what: str) -> str:
    return f"{many:,} {what}{'s' * (many != 1)}"
