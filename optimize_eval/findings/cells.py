"""The cells of a run, each read once, in the order of units, without examples that leaked.

Calls of examples that leaked are made and recorded like all others, so another decision needs no new call.
"""

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, filterfalse
from typing import Any, Protocol

from optimize_eval.base.frozen import Remembers, frozen
from optimize_eval.findings.comparison import CellFamily
from optimize_eval.findings.measures import MeasuredCells, Measures, of_cells
from optimize_eval.findings.rows import failure_groups, measured_in
from optimize_eval.findings.scores import CellReading, Scores, with_copies_joined
from optimize_eval.findings.shapes import LatencyEntry, SideInfoEntry
from optimize_eval.findings.side_info import SideInfo, latency_of
from optimize_eval.findings.summary_shape import (
    KEPT,
    LEAKED,
    PART,
    RECORDED,
    FailureGroup,
    Leakage,
    LeakedExample,
    Like,
)
from optimize_eval.store.command_units import JournalRecord
from optimize_eval.store.layout import Cell, CellName, Layout, LeakedRow, Split


class RecordsByCell(Protocol):
    """A cell's newest records by their places in it, all or those at some places."""

    def __call__(
        self, cell: Cell, places: Iterable[int] | None = None, /
    ) -> Iterable[tuple[int, JournalRecord]]: ...


Keep = Callable[[JournalRecord], Any]  # what is kept of each record besides, by example


@frozen
class ReadCell:
    """What the records of one cell come to."""

    scores: Scores
    measures: Measures
    side_info: SideInfoEntry
    kept: Sequence[Sequence[Any]] = ()


@frozen
class ReadCells(Remembers):
    """What the records of all cells come to; copies among a split's lines are joined to clusters."""

    layout: Layout
    splits: Mapping[str, Split]
    by_name: Mapping[CellName, ReadCell]

    @classmethod
    def read(cls, layout: Layout, records: RecordsByCell, keep: Keep | None = None) -> "ReadCells":
        splits = {split.name: with_copies_joined(split) for split in layout.splits}
        beside = sorted(layout.cells, key=lambda cell: (cell.split, cell.candidate, cell.task_model or ""))
        read = {cell[:4]: _read(layout, cell, records(cell), keep) for cell in beside}
        return cls(layout=layout, splits=splits, by_name={cell[:4]: read[cell[:4]] for cell in layout.cells})

    @property
    def side_info(self) -> tuple[SideInfoEntry, ...]:
        return tuple(read.side_info for read in self.by_name.values())

    @cached_property
    def scores(self) -> dict[tuple[CellFamily, str], Scores]:
        """Give the scores by what is compared, and by candidate."""
        return {
            (CellFamily(cell.evaluator, cell.task_model, cell.split), cell.candidate): read.scores
            for cell, read in zip(self.layout.cells, self.by_name.values(), strict=True)
        }

    def failures(self) -> Iterator[FailureGroup]:
        """Give what failed alike, cell by cell."""
        for (_, candidate), scores in self.scores.items():
            yield from failure_groups(candidate, scores)

    def latency(self) -> Iterator[LatencyEntry]:
        """Say how long calls took, by evaluator and split."""
        timed: dict[tuple[str, str], list[Scores]] = {}
        for scores in (read.scores for read in self.by_name.values()):
            if not all(map(math.isnan, scores.seconds)):
                timed.setdefault((scores.cell.evaluator, scores.cell.split), []).append(scores)
        for where, theirs in timed.items():
            every = chain.from_iterable(scores.seconds for scores in theirs)
            seconds = array("d", filterfalse(math.isnan, every))
            yield latency_of(*where, seconds, sum(scores.attempts for scores in theirs))

    def measured(self) -> MeasuredCells:
        """Give what there is of each measure."""
        return of_cells(
            [
                (measured_in(cell), read.measures, self.splits[cell.split].clusters)
                for cell, read in zip(self.layout.cells, self.by_name.values(), strict=True)
            ]
        )


def _read(
    layout: Layout, cell: Cell, records: Iterable[tuple[int, JournalRecord]], keep: Keep | None
) -> ReadCell:
    lines, repeats = layout.split(cell.split).lines, layout.repeats
    score_range = layout.score_range(cell.evaluator)
    reading = CellReading(cell, lines, repeats, score_range)
    side_info, measures = SideInfo(), Measures(len(lines), repeats, score_range)
    kept: list[list[Any]] = [[] for _ in lines] if keep else []
    for place, record in records:
        reading.take(place, record)
        if record["outcome"] == "scored":
            side_info.take(record, lines[place // repeats])
            measures.take(place // repeats, record)
        if keep:
            kept[place // repeats].append(keep(record))
    return ReadCell(
        scores=reading.done(), measures=measures, side_info=side_info.entry(measured_in(cell)), kept=kept
    )


MOST_LEAKED = 0.5  # of a split's examples, above which nothing is said about it
FEWEST_CLEAN = 10

Lines = frozenset[int | None]


def leakage_of(layout: Layout) -> dict[str, Leakage]:
    """Say of each split that has leaked examples which these are, and what becomes of it."""
    return leakages_of(_confirming(layout), keeps_leaks=layout.keeps_leaks)


def leakages_of(splits: Sequence[Split], *, keeps_leaks: bool) -> dict[str, Leakage]:
    """Say the same of splits that are no run's yet."""
    pairs = _rows_by_split(splits)
    return {split.name: _leakage(split, rows, keeps_leaks=keeps_leaks) for split, rows in pairs if rows}


def left_out_of(layout: Layout) -> dict[str, Lines]:
    """Give the lines that are in no number, by split."""
    lines = {}
    for split, rows in _rows_by_split(_confirming(layout)):
        state = _state(split, rows, keeps_leaks=layout.keeps_leaks)
        if state == LEAKED:
            lines[split.name] = frozenset(split.lines)
        elif state == PART:
            lines[split.name] = frozenset(row.line for row in rows)
    return lines


@frozen
class Counted:
    """A run as numbers are made of it: without what is left out, whose outcomes are counted apart."""

    whole: Layout
    layout: Layout
    kept: Mapping[str, tuple[int, ...]]  # by split that lacks some: the places of those that count
    apart: Counter[str]  # by outcome

    def reading(self, records: RecordsByCell) -> RecordsByCell:
        """Read records by the places that they have here."""
        if not self.kept:
            return records
        cells = {cell[:4]: cell for cell in self.whole.cells}

        def read(cell: Cell, places: Iterable[int] | None = None) -> Iterator[tuple[int, JournalRecord]]:
            whole, kept = cells[cell[:4]], self.kept.get(cell.split)
            if kept is None:
                yield from records(whole, places)
            elif places is None:
                yield from self._all(records(whole), kept)
            else:
                for place in places:
                    yield from (
                        (place, record) for _, record in records(whole, [self._in_whole(place, kept)])
                    )

        return read

    def _all(
        self, records: Iterable[tuple[int, JournalRecord]], kept: tuple[int, ...]
    ) -> Iterator[tuple[int, JournalRecord]]:
        numbers, repeats = {place: number for number, place in enumerate(kept)}, self.whole.repeats
        for place, record in records:
            example, repeat = divmod(place, repeats)
            if example in numbers:
                yield numbers[example] * repeats + repeat, record
            else:
                self.apart[record["outcome"]] += 1

    def _in_whole(self, place: int, kept: tuple[int, ...]) -> int:
        example, repeat = divmod(place, self.whole.repeats)
        return kept[example] * self.whole.repeats + repeat


def counted_in(layout: Layout) -> Counted:
    """Leave out what leaked."""
    lines = left_out_of(layout)
    kept = {
        split.name: tuple(n for n, line in enumerate(split.lines) if line not in lines[split.name])
        for split in layout.splits
        if split.name in lines
    }
    splits = tuple(split.at(kept[split.name]) if split.name in kept else split for split in layout.splits)
    return Counted(
        whole=layout, layout=replace(layout, splits=splits) if kept else layout, kept=kept, apart=Counter()
    )


def _confirming(layout: Layout) -> Sequence[Split]:
    """Give the splits that confirm what others show; tasks do not: several may be about one dataset."""
    return () if layout.splits_of else layout.splits


def _rows_by_split(splits: Sequence[Split]) -> Iterator[tuple[Split, tuple[LeakedRow, ...]]]:
    """Give what is known to have leaked; of a run that was never looked at, lines of equal bytes."""
    seen: dict[str, tuple[str, int | None]] = {}
    for split in splits:  # train, val, test
        digests = list(zip(split.lines, split.sha256, strict=True))
        equal = (LeakedRow(line, *seen[digest], "bytes", 1.0) for line, digest in digests if digest in seen)
        yield split, tuple(equal) if split.leaks is None else split.leaks
        for line, digest in digests:
            seen.setdefault(digest, (split.name, line))


def _leakage(split: Split, rows: tuple[LeakedRow, ...], *, keeps_leaks: bool) -> Leakage:
    state, many = _state(split, rows, keeps_leaks=keeps_leaks), len(split.lines)
    names = dict(zip(split.lines, split.names, strict=False))
    return Leakage(
        state=state,
        share=len(rows) / many,
        examples=many,
        left_out={LEAKED: many, PART: len(rows)}.get(state, 0),
        rows=tuple(
            LeakedExample(
                line=row.line,
                id=names.get(row.line) or None,
                like=Like(split=row.split, line=row.like),
                how=row.how,
                similarity=row.similarity,
            )
            for row in rows
        ),
    )


def _state(split: Split, rows: tuple[LeakedRow, ...], *, keeps_leaks: bool) -> str:
    if split.leaks is None or not rows:
        return RECORDED
    if keeps_leaks:
        return KEPT
    clean = len(split.lines) - len(rows)
    return LEAKED if len(rows) > MOST_LEAKED * len(split.lines) or clean < FEWEST_CLEAN else PART
