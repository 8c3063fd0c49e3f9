"""The units of a run that one command is about, by that command's own numbers.

A ledger counts all units of a run in the order in which they came; a view counts those of a layout in the
layout's, so that nobody who calls or sums up has to know what else the run holds. What fields a record has
that is read is said here.
"""

import os
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, Self, TypedDict, cast

from optimize_eval.base.documents import JsonDict
from optimize_eval.store import journal
from optimize_eval.store.layout import Cell, Layout
from optimize_eval.store.ledger import FAILED, OWED, SCORED, Ledger


class JournalRecord(TypedDict, total=False):
    """What became of one unit. For the checker alone: at run time it is the mapping that a line was."""

    key: str
    evaluator: str
    candidate: str
    task_model: str | None
    split: str
    line: int | None  # of the split's file, from 1
    repeat: int  # from 1
    outcome: Literal["scored", "failed", "skipped"]
    score: float
    side_info: JsonDict  # foreign JSON
    kind: str
    stage: str  # "model" where there was no reply to score
    message: str
    excluded_by: Sequence[str]  # rules, of a row that counts as skipped; in no journal
    by_outcome: bool  # whether one of these looks at scores or replies; in no journal
    stderr: str
    output: str  # the key of the model's reply that was scored
    seconds: float
    attempts: int
    started_at: str
    usage: list[JsonDict]  # of models, each call
    waited: float
    crc: str


CountsAs = Callable[[JournalRecord], JournalRecord]


class View:
    """The newest records of a layout's units; `enter` passes on to the ledger behind it."""

    again = re.compile(b"[%c%c]+" % (OWED, FAILED))  # what is called

    def __init__(self, ledger: Ledger, layout: Layout) -> None:
        self.ledger = ledger
        self.layout = layout
        self._numbers = _numbers(ledger, layout)

    def of(self, layout: Layout) -> Self:
        """Give the units of another layout over the same run."""
        return type(self)(self.ledger, layout)

    @property
    def changed(self) -> set[str]:
        """Name the evaluators, and the models, that were not one program throughout."""
        return self.ledger.changed.intersection(self.layout.evaluators) | self.changed_models

    @property
    def changed_models(self) -> set[str]:
        return self.ledger.changed_models.intersection(filter(None, self.layout.task_models))

    @property
    def is_complete(self) -> bool:
        return not self.count(OWED, range(self.layout.size))

    def enter(self, number: int, outcome: str, offset: int) -> None:
        self.ledger.enter(self._numbers[number], outcome, offset)

    def count(self, state: int, units: range) -> int:
        """Count the units that are in a state."""
        if isinstance(self._numbers, range):
            first = self._numbers.start
            return self.ledger.states.count(state, units.start + first, units.stop + first)
        return bytes(self._states(units)).count(state)

    def owed(self, *units: range, but: Collection[int] = ()) -> "Stretches":
        """List the units that are still to be called; failed ones are called again."""
        return self._list_units(self.again, units, but)

    def never_called(self, *units: range) -> "Stretches":
        """List the units that have no record."""
        return self._list_units(_NEVER_CALLED, units, ())

    def _list_units(
        self, states: re.Pattern[bytes], units: Iterable[range], but: Collection[int]
    ) -> "Stretches":
        listed, others = Stretches(), sorted(but)
        for some in units:
            for match in states.finditer(self._states(some)):
                start, end = (some.start + at for at in match.span())
                for other in others[bisect_left(others, start) : bisect_left(others, end)]:
                    listed.append(start, other - start)
                    start = other + 1
                listed.append(start, end - start)
        return listed

    def scored(self, units: range) -> "array[int]":
        """List the units that have a score."""
        states = self._states(units)
        return array("I", (number for number, state in zip(units, states, strict=True) if state == SCORED))

    def offset(self, number: int) -> int | None:
        """Tell where a unit's newest record begins."""
        return self.ledger.offset(self._numbers[number])

    def offsets(self, cell: Cell, places: Iterable[int] | None) -> Iterator[tuple[int, int]]:
        """Tell where the newest records of a cell begin, all of them or those at these places."""
        start = self.layout.start(cell)
        if places is None:
            return self.ledger.offsets(self._numbers[start : start + cell.size])
        offsets = ((index, self.offset(start + index)) for index in places)
        return ((index, offset) for index, offset in offsets if offset is not None)

    @contextmanager
    def reader(self, path: Path, counts_as: "CountsAs | None" = None) -> Iterator["Reader"]:
        """Open the journal for reading records by cell, in the order of units, or what these count as."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise _say_changed(path) from None
        try:
            yield Reader(self, path, descriptor, counts_as)
        finally:
            os.close(descriptor)

    def _states(self, units: range) -> bytes | memoryview:
        numbers = self._numbers[units.start : units.stop]
        states = self.ledger.states
        if isinstance(numbers, range):
            return memoryview(states)[numbers.start : numbers.stop]
        if len(numbers) == 1:
            return bytes((states[numbers[0]],))
        return bytes(itemgetter(*numbers)(states)) if numbers else b""


_SHOWN_EXACTLY = frozenset({"error", "clamped_from"})  # of what stands beside a score
_TOGETHER = 64  # lines that are read at once
_NEAR = 1 << 17  # bytes that they stand in, at most

_AHEAD = 1 << 12  # bytes that are read for a line whose end is not known
_NEVER_CALLED = re.compile(b"%c+" % OWED)


class Stretches(Sequence[int]):
    """Ascending numbers that mostly follow each other: each stretch of them takes eight bytes."""

    def __init__(self) -> None:
        self._starts, self._ends = array("I"), array("I")  # an end counts the numbers up to it

    def append(self, start: int, size: int) -> None:
        if size:
            self._starts.append(start)
            self._ends.append(len(self) + size)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[int]:
        before = 0
        for start, end in zip(self._starts, self._ends, strict=True):
            yield from range(start, start + end - before)
            before = end

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int):
            return False
        index = bisect_right(self._starts, number) - 1
        return index >= 0 and number < self._starts[index] + self._size(index)

    def __getitem__(self, part: Any) -> Any:
        if not isinstance(part, slice):
            return self[part : part + 1][0]
        begin, stop, _ = part.indices(len(self))
        numbers, index = array("I"), bisect_right(self._ends, begin)
        while begin < stop:
            end = min(stop, self._ends[index])
            start = self._starts[index] + self._size(index) - self._ends[index]
            numbers.extend(range(start + begin, start + end))
            begin, index = end, index + 1
        return numbers

    def _size(self, index: int) -> int:
        return self._ends[index] - (self._ends[index - 1] if index else 0)


def _numbers(ledger: Ledger, layout: Layout) -> Sequence[int]:
    """Map a layout's numbers to the ledger's; to a range where they are the same stretch."""
    places = {split.name: ledger.places(split.name, split.lines, layout.repeats) for split in layout.splits}
    starts = [(ledger.start(cell[:4]), places[cell.split]) for cell in layout.cells]
    first = starts[0][0]
    if all(
        isinstance(there, range) and start - first == cell.start
        for (start, there), cell in zip(starts, layout.cells, strict=True)
    ):
        return range(first, first + layout.size)
    numbers = array("I")
    for start, there in starts:
        numbers.extend(map(start.__add__, there))
    return numbers


class Reader:
    """Records of an open journal."""

    def __init__(self, view: View, path: Path, descriptor: int, counts_as: "CountsAs | None" = None) -> None:
        self._view = view
        self._path = path
        self._descriptor = descriptor
        self._counts_as = counts_as
        # The ledger has checked each line of this file a moment ago, unless the file is another by now.
        self._is_checked = view.ledger.checked == journal.state_of(os.fstat(descriptor))

    def records(self, cell: Cell, places: Iterable[int] | None = None) -> Iterator[tuple[int, JournalRecord]]:
        """Read the newest records of a cell's units, in their order, each with its place in the cell."""
        counts_as = self._counts_as
        for index, line in self.lines(cell, places):
            record = self._read(line, journal.decode)
            yield index, counts_as(record) if counts_as else record

    def for_numbers(
        self, cell: Cell, places: Iterable[int] | None = None
    ) -> Iterator[tuple[int, JournalRecord]]:
        """Read the same in less time: of what numbers alone are made of, integers may come as floats."""
        if places is not None:
            yield from self.records(cell, places)
            return
        counts_as, read, glance = self._counts_as, self._read, journal.glance
        for index, line in self._lines(self._view.offsets(cell, None), is_checked=self._is_checked):
            record = read(line, glance)
            if record["outcome"] != "scored" or not _SHOWN_EXACTLY.isdisjoint(record["side_info"]):
                record = read(line, journal.decode)
            yield index, counts_as(record) if counts_as else record

    def lines(self, cell: Cell, places: Iterable[int] | None = None) -> Iterator[tuple[int, bytes]]:
        """Read the lines of these records as they stand in the journal."""
        return self._lines(self._view.offsets(cell, places), is_checked=False)

    def record(self, number: int) -> JournalRecord | None:
        """Read the newest record of one unit; None where it is owed."""
        offset = self._view.offset(number)
        return None if offset is None else self._read(self._check(self._line_at(offset)), journal.decode)

    def _lines(self, offsets: Iterator[tuple[int, int]], *, is_checked: bool) -> Iterator[tuple[int, bytes]]:
        while together := list(islice(offsets, _TOGETHER)):
            lines = self._lines_of(together)
            yield from lines if is_checked else ((index, self._check(line)) for index, line in lines)

    def _lines_of(self, offsets: Sequence[tuple[int, int]]) -> Iterator[tuple[int, bytes]]:
        """Read some lines, at once where they stand near each other, as they do in most runs."""
        every = [offset for _, offset in offsets]
        start, last = min(every), max(every)
        lines = os.pread(self._descriptor, last - start + _AHEAD, start) if last - start <= _NEAR else b""
        for index, offset in offsets:
            begin = offset - start
            end = lines.find(b"\n", begin) + 1
            yield index, lines[begin:end] if end else self._line_at(offset)

    def _line_at(self, offset: int) -> bytes:
        """Read a line to its end, which lines have but where somebody has cut the file."""
        size = _AHEAD
        while not (end := (data := os.pread(self._descriptor, size, offset)).find(b"\n") + 1):
            if len(data) < size:
                return data
            size *= 8
        return data[:end]

    def _check(self, line: bytes) -> bytes:
        """Return a line that stands where the ledger says; raises Damaged where it is another."""
        if not journal.is_sound(line):
            raise _say_changed(self._path)
        return line

    def _read(self, line: bytes, decode: Callable[[bytes], JsonDict]) -> JournalRecord:
        """Read a line's record; raises Damaged where it has none any more."""
        try:
            record = decode(line)
        except ValueError:
            raise _say_changed(self._path) from None
        if "outcome" not in record:
            raise _say_changed(self._path)
        return cast("JournalRecord", record)


def _say_changed(path: Path) -> journal.Damaged:
    return journal.Damaged(f"{path} was changed while it was read", hint="read it again")
