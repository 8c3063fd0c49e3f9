"""A run's records as rows for spreadsheets and programs: CSV and JSON lines, made while they are read.

Every number is written so that reading it gives the same float. What a spreadsheet or a terminal would obey
is made inert; in JSON by escapes, so that nothing is lost.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from types import NoneType
from typing import Any

from optimize_eval.base import strict_json
from optimize_eval.base.frozen import frozen
from optimize_eval.reports.inert import inert, inert_json
from optimize_eval.store.records import FIELDS, OF_SOME, SIDE_INFO, RunRecord

MOST_COLUMNS = 200  # of side information: a hostile run has a new key in each record
LONGEST_NAME = 200
_SIGNS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # noqa: RUF001  which Excel takes for the others
_FORMULA = (*_SIGNS, "\t", "\r", "\n")
_PIECE = 1 << 16


@frozen
class TableColumns:
    """The columns of a table; `has_rest` where a last one holds as JSON what has none of its own."""

    names: Sequence[str]
    has_rest: bool


def find_columns(records: Iterable[RunRecord]) -> TableColumns:
    """Find the columns of all records: the fields, then keys of side information, first come first."""
    names = dict.fromkeys(FIELDS)
    has_rest = False
    for record in records:
        if new := [name for name in record.flat() if name not in names]:
            fitting = [name for name in new if len(name) <= LONGEST_NAME]
            chosen = fitting[: len(FIELDS) + MOST_COLUMNS - len(names)]
            names.update(dict.fromkeys(chosen))
            has_rest = has_rest or len(chosen) < len(new)
    there = [name for name in OF_SOME if name in names]
    return TableColumns(names=tuple(dict.fromkeys((*FIELDS, *there, *names))), has_rest=has_rest)


def csv_pieces(records: Iterable[RunRecord], columns: TableColumns, *, ci: bool) -> Iterator[str]:
    """Write a table as RFC 4180 has it, some rows at a time; `ci` as for inert."""
    names = columns.names
    write = Cells(ci)
    header = [*names, SIDE_INFO] if columns.has_rest else names
    return gathered(chain([write.line(header)], (write.line(_row(one, columns)) for one in records)))


def jsonl_pieces(records: Iterable[RunRecord]) -> Iterator[str]:
    """Write one object per line, each record with its own keys, some lines at a time."""
    return gathered(f"{inert_json(record.flat())}\n" for record in records)


def gathered(lines: Iterable[str]) -> Iterator[str]:
    """Put lines together to pieces that are worth a write of their own."""
    piece: list[str] = []
    size = 0
    for line in lines:
        piece.append(line)
        size += len(line)
        if size >= _PIECE:
            yield "".join(piece)
            piece, size = [], 0
    yield "".join(piece)


def _row(record: RunRecord, columns: TableColumns) -> list[Any]:
    flat = record.flat()
    if not columns.has_rest:
        return [flat.get(name) for name in columns.names]
    row = [flat.pop(name, None) for name in columns.names]
    rest = {name.removeprefix(f"{SIDE_INFO}."): value for name, value in flat.items()}
    return [*row, rest or None]


class Cells:
    """Writes cells the way csv.writer would, which takes 13 ns for each character; a test compares them."""

    def __init__(self, ci: bool) -> None:  # noqa: FBT001  the one thing it knows
        self._ci = ci
        self._writers: dict[type, Callable[[Any], str]] = {
            NoneType: lambda _: "",
            bool: lambda value: "true" if value else "false",
            int: repr,
            float: repr,  # reads back as the same float
            str: self._text,
            tuple: lambda names: self._text(", ".join(names)),
        }

    def line(self, values: Iterable[Any]) -> str:
        writers, other = self._writers, self._json
        return ",".join([writers.get(type(value), other)(value) for value in values]) + "\r\n"

    def _text(self, text: str) -> str:
        """Write a text; one that a spreadsheet would compute is marked as a text by an apostrophe."""
        shown = inert(text, ci=self._ci)
        if text.startswith(_FORMULA) or text.lstrip().startswith(_SIGNS):
            shown = f"'{shown}"
        if "," in shown or '"' in shown or "\n" in shown:
            shown = shown.replace('"', '""')
            return f'"{shown}"'
        return shown

    def _json(self, value: Any) -> str:
        return self._text(strict_json.dumps(value).decode())
