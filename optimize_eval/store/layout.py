"""The shape of a run: its axes by name, the order of their product, and the key of each unit.

A unit's number is its place in the order (evaluator, candidate, task model, split, line, repeat); a cell is
the stretch of units that share the first four. An evaluator may be for some splits alone: then it has no
cells on the others. Plans, journals and summaries all count by this; what the axes hold (texts, programs,
examples) is the plan's.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import accumulate, product
from typing import Any, NamedTuple

import orjson

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.frozen import Remembers, frozen
from optimize_eval.base.protocol import ScoreRange

SINGLE = "single"  # the one split of a run without examples
NO_VALUE = "(none)"
MOST_UNITS = 10_000_000

Label = str
CellName = tuple[str, str, str | None, str]  # evaluator, candidate, task model, split


class LeakedRow(NamedTuple):
    """An example that an earlier split holds, too, and how that is known."""

    line: int | None
    split: str
    like: int | None  # the line there
    how: str  # bytes, normalised, near, contradiction
    similarity: float


@frozen
class Split:
    """The examples of one dataset, by their physical lines; a run without examples has one line: None.

    `names` and `inputs` are by what people know the examples, a short text each. `copies` are lines that say
    the same as an earlier one, with that; `values` digest what examples say, whatever their bytes.
    """

    name: str
    lines: tuple[int | None, ...]
    sha256: tuple[str, ...]
    clusters: tuple[Label, ...] | None = None
    groups: Mapping[str, tuple[Label, ...]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    leaks: tuple[LeakedRow, ...] | None = None  # of these lines
    copies: Mapping[int | None, int | None] = field(default_factory=dict)
    values: tuple[str, ...] = ()
    file: str | None = None  # its name, where it is known

    @property
    def contents(self) -> tuple[str, ...]:
        """Stand for what examples say: those that say the same have the digest of the first of them."""
        if not self.copies:
            return self.sha256
        first: dict[int | None, str] = {}
        return tuple(
            first.setdefault(self.copies.get(line, line), digest)
            for line, digest in zip(self.lines, self.sha256, strict=True)
        )

    def at(self, places: Sequence[int]) -> "Split":
        """Give the split of the examples at some places alone."""

        def of(values: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(values[index] for index in places) if values else ()

        lines = of(self.lines)
        there = {*lines}
        return replace(
            self,
            lines=lines,
            sha256=of(self.sha256),
            clusters=None if self.clusters is None else of(self.clusters),
            groups={path: of(labels) for path, labels in self.groups.items()},
            names=of(self.names),
            inputs=of(self.inputs),
            values=of(self.values),
            leaks=self.leaks and tuple(row for row in self.leaks if row.line in there),
            copies={line: first for line, first in self.copies.items() if line in there},
        )


class Cell(NamedTuple):
    """The units of one evaluator, candidate, task model and split."""

    evaluator: str
    candidate: str
    task_model: str | None
    split: str
    start: int
    size: int


class Place(NamedTuple):
    """Where a unit stands: its cell and, counted from 0, its example and its repeat."""

    cell: int
    example: int
    repeat: int


@frozen
class Layout(Remembers):
    """All axes by name."""

    evaluators: tuple[str, ...]
    score_ranges: tuple[ScoreRange, ...]  # of the evaluators
    candidates: tuple[str, ...]
    task_models: tuple[str | None, ...]
    splits: tuple[Split, ...]
    repeats: int
    baseline: str
    seed: int
    cluster_by: str | None = None
    group_by: tuple[str, ...] = ()
    margins: Mapping[str, float] = field(default_factory=dict)  # of evaluators: what is too little to matter
    compares_models: bool = False  # task models are called, and are compared with the first of them
    splits_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of evaluators for some alone
    keeps_leaks: bool = False  # examples that earlier splits hold, too, count like the others

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        axes = [
            axes
            for name in self.evaluators
            for axes in product((name,), self.candidates, self.task_models, self.splits_for(name))
        ]
        sizes = [len(split.lines) * self.repeats for *_, split in axes]
        starts = accumulate(sizes, initial=0)
        return tuple(
            Cell(evaluator, candidate, task_model, split.name, start, size)
            for (evaluator, candidate, task_model, split), start, size in zip(
                axes, starts, sizes, strict=False
            )
        )

    @cached_property
    def size(self) -> int:
        return self.cells[-1].start + self.cells[-1].size

    def units_of(self, evaluator: str) -> range:
        """Give the numbers of all units of an evaluator, which follow each other."""
        return self._units[evaluator]

    def splits_for(self, evaluator: str) -> tuple[Split, ...]:
        """Give the splits that an evaluator is for."""
        names = self.splits_of.get(evaluator)
        return self.splits if names is None else tuple(split for split in self.splits if split.name in names)

    def place(self, number: int) -> Place:
        """Find a unit by its number."""
        cell = bisect_right(self._cell_starts, number) - 1
        return Place(cell, *divmod(number - self._cell_starts[cell], self.repeats))

    def number(self, record: JsonMapping) -> int | None:
        """Find the number of the unit that a record is of; None where it is of none of ours."""
        try:
            start = self._starts[
                record["evaluator"], record["candidate"], record.get("task_model"), record["split"]
            ]
            example = self._examples[record["split"]][record.get("line")]
            repeat = record["repeat"]
        except (KeyError, TypeError):
            return None
        is_ours = isinstance(repeat, int) and 1 <= repeat <= self.repeats
        return start + example * self.repeats + repeat - 1 if is_ours else None

    def start(self, cell: Cell) -> int:
        """Find where a cell begins, which may be of a layout with fewer evaluators."""
        return self._starts[cell.evaluator, cell.candidate, cell.task_model, cell.split]

    def split(self, name: str) -> Split:
        return next(split for split in self.splits if split.name == name)

    def score_range(self, evaluator: str) -> ScoreRange:
        return self.score_ranges[self.evaluators.index(evaluator)]

    @cached_property
    def deciding(self) -> str:
        """Name the split that says whether something carries over: val, else what there is."""
        names = [split.name for split in self.splits]
        return "val" if "val" in names else names[0]

    def deciding_for(self, evaluator: str) -> str:
        """Name that split among those that an evaluator is for."""
        names = [split.name for split in self.splits_for(evaluator)]
        return self.deciding if self.deciding in names else names[0]

    @cached_property
    def _units(self) -> dict[str, range]:
        ends = {cell.evaluator: cell.start + cell.size for cell in self.cells}
        return {
            name: range(start, end)
            for (name, end), start in zip(ends.items(), (0, *ends.values()), strict=False)
        }

    @cached_property
    def _cell_starts(self) -> list[int]:
        return [cell.start for cell in self.cells]

    @cached_property
    def _starts(self) -> dict[tuple[str, str, str | None, str], int]:
        return {(c.evaluator, c.candidate, c.task_model, c.split): c.start for c in self.cells}

    @cached_property
    def _examples(self) -> dict[str, dict[int | None, int]]:
        return {split.name: {line: n for n, line in enumerate(split.lines)} for split in self.splits}


def key_of(
    evaluator: str,
    candidate: str,
    task_model: str | None,
    split: str,
    line: int | None,
    example: str,
    repeat: int | str,
) -> str:
    """Digest a unit; evaluator, candidate and example are the digests of what they are."""
    parts = evaluator, candidate, task_model, split, line, example, repeat
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()
