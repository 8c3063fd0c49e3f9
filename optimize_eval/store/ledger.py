"""Where each unit of a run stands: owed, or in the journal as scored, failed or skipped, and at which place.

A few bytes a unit, whatever its record holds, so that a run of 200,000 units fits into little memory.
"""

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from sys import float_info
from typing import Any

from optimize_eval.store import journal
from optimize_eval.store.layout import Cell, Layout

OWED, SCORED, FAILED, SKIPPED = range(4)

_NONE: dict[str, Any] = {}
_NUMBERS = frozenset({int, float})
_LARGEST = float_info.max
_STATES = {"scored": SCORED, "failed": FAILED, "skipped": SKIPPED}


class Ledger:
    """The newest record of each unit, by the unit's number."""

    def __init__(self, layout: Layout, plan: str, since: Mapping[str, int] | None = None) -> None:
        self.layout = layout
        self.plan = plan  # the digest that the journal's headers must have
        self._since = since or {}  # where records of an evaluator that took an unused place begin
        self._states = bytearray(layout.size)
        self._offsets = array("q", [0]) * layout.size
        self._lengths = array("I", [0]) * layout.size
        self.changed: set[str] = set()  # evaluators whose files changed while they were asked
        self._has_header = False
        self.end = 0  # where the last whole line of the journal ends

    @classmethod
    def read(cls, path: Path, layout: Layout, plan: str, since: Mapping[str, int] | None = None) -> "Ledger":
        """Read a journal; one that is not there is an empty one."""
        ledger = cls(layout, plan, since)
        try:
            for entry in journal.entries(path):
                ledger._enter_line(path, entry)
        except FileNotFoundError:
            pass
        return ledger

    def enter(self, number: int, outcome: str, offset: int, length: int) -> None:
        """Note where the newest record of a unit is."""
        self._states[number] = _STATES[outcome]
        self._offsets[number] = offset
        self._lengths[number] = length

    def count(self, state: int, units: range) -> int:
        return self._states.count(state, units.start, units.stop)

    def owed(self, units: range) -> "array[int]":
        """List the units that are still to be asked; failed ones are asked again."""
        states = self._states
        return array("I", (number for number in units if states[number] in {OWED, FAILED}))

    def scored(self, units: range) -> "array[int]":
        return array("I", (number for number in units if self._states[number] == SCORED))

    def part(self, layout: Layout) -> "Part":
        """Give the units of some of the run's evaluators, numbered by a layout that has only these."""
        return Part(self, layout)

    @contextmanager
    def reader(self, path: Path) -> Iterator["Reader"]:
        """Open the journal for reading records by cell, in the order of units."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise _changed(path) from None
        try:
            yield Reader(self, path, descriptor)
        finally:
            os.close(descriptor)

    def stretch(self, number: int) -> tuple[int, int] | None:
        """Tell where a unit's newest record is: its length and its offset."""
        return (self._lengths[number], self._offsets[number]) if self._states[number] != OWED else None

    def _enter_line(self, path: Path, entry: journal.Entry) -> None:
        try:
            record = journal.glance(entry.line)
        except ValueError:
            raise self._foreign(path, entry) from None
        self.end = entry.offset + entry.length
        if "outcome" not in record:
            journal.check_schema(record, journal.SCHEMA, f"{path}:{entry.number}")
            if record.get("plan", self.plan) != self.plan:
                raise self._foreign(path, entry)
            self._has_header = self._has_header or "plan" in record
            changed = record.get("changed", [])
            self.changed.update(
                name
                for name in (changed if isinstance(changed, list) else ())
                if isinstance(name, str) and entry.offset >= self._since.get(name, 0)
            )
            return
        number = self.layout.number(record)
        if number is None or not self._has_header or not _is_whole(record):
            raise self._foreign(path, entry)
        if entry.offset >= self._since.get(record["evaluator"], 0):
            self.enter(number, record["outcome"], entry.offset, entry.length)

    @staticmethod
    def _foreign(path: Path, entry: journal.Entry) -> journal.Damaged:
        return journal.Damaged(
            f"{path}:{entry.number}: the line is of another run",
            hint="put the run's own journal back, or start anew with --fresh",
        )


def _is_whole(record: Mapping[str, Any]) -> bool:
    """Tell whether a record has what its outcome needs."""
    match record:
        case {"outcome": "scored", "score": score, "side_info": dict(), "seconds": seconds}:
            is_whole = _is_number(score) and _is_number(seconds)
        case {"outcome": "failed", "kind": str(), "message": str(), "seconds": seconds}:
            is_whole = _is_number(seconds)
        case {"outcome": "skipped"}:
            is_whole = True
        case _:
            is_whole = False
    return is_whole and _is_as_written(record.get)


def _is_as_written(get: Callable[[str, Any], Any]) -> bool:
    """Return True if what any outcome may have is of its type; spelled out, as it is asked of each line."""
    return (
        type(get("attempts", 1)) is int
        and type(get("started_at", "")) is str
        and type(get("stderr", "")) is str
        and type(get("message", "")) is str
        and type(get("side_info", _NONE)) is dict
    )


def _is_number(value: Any) -> bool:
    return type(value) in _NUMBERS and abs(value) <= _LARGEST


class Part:
    """The units of a plan by its own numbers; its evaluators may be some of the run's only."""

    def __init__(self, ledger: Ledger, layout: Layout) -> None:
        self._ledger = ledger
        self._units = [layout.units_of(name) for name in layout.evaluators]
        starts = [ledger.layout.units_of(name).start for name in layout.evaluators]
        self._shifts = [start - units.start for start, units in zip(starts, self._units, strict=True)]
        self._share = len(self._units[0])

    @property
    def is_complete(self) -> bool:
        return not any(self.count(OWED, units) for units in self._units)

    def enter(self, number: int, outcome: str, offset: int, length: int) -> None:
        self._ledger.enter(number + self._shift(number), outcome, offset, length)

    def count(self, state: int, units: range) -> int:
        """Count the units of one evaluator that are in a state."""
        shift = self._shift(units.start)
        return self._ledger.count(state, range(units.start + shift, units.stop + shift))

    def owed(self, units: range) -> "array[int]":
        """List the units of one evaluator that are still to be asked."""
        return self._listed(units, self._ledger.owed)

    def scored(self, units: range) -> "array[int]":
        """List the units of one evaluator that have a score."""
        return self._listed(units, self._ledger.scored)

    def read(self, reader: "Reader", numbers: Iterable[int]) -> Iterator[Mapping[str, Any]]:
        """Read the newest records of units that have one."""
        for number in numbers:
            if stretch := self._ledger.stretch(number + self._shift(number)):
                yield reader.at(stretch)

    def _listed(self, units: range, of: Callable[[range], "array[int]"]) -> "array[int]":
        shift = self._shift(units.start)
        found = of(range(units.start + shift, units.stop + shift))
        return array("I", (number - shift for number in found)) if shift else found

    def _shift(self, number: int) -> int:
        return self._shifts[number // self._share]


class Reader:
    """Records of an open journal."""

    def __init__(self, ledger: Ledger, path: Path, descriptor: int) -> None:
        self._ledger = ledger
        self._path = path
        self._descriptor = descriptor

    def records(
        self, cell: Cell, places: Iterable[int] | None = None
    ) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Read the newest records of a cell's units, in their order, each with its place in the cell."""
        start = self._ledger.layout.start(cell)
        for place in range(cell.size) if places is None else places:
            if record := self.record(start + place):
                yield place, record

    def record(self, number: int) -> Mapping[str, Any] | None:
        """Read the newest record of one unit; None where it is owed."""
        stretch = self._ledger.stretch(number)
        return self.at(stretch) if stretch else None

    def at(self, stretch: tuple[int, int]) -> Mapping[str, Any]:
        """Read the record that has this length and offset; raises Damaged where it stands there no more."""
        line = os.pread(self._descriptor, *stretch)
        record = journal.decode(line) if journal.is_sound(line) else {}
        if "outcome" not in record:
            raise _changed(self._path)
        return record


def _changed(path: Path) -> journal.Damaged:
    return journal.Damaged(f"{path} was changed while it was read", hint="read it once more")
