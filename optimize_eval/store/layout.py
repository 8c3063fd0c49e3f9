"""The shape of a run: its axes by name, the order of their product, and the key of each unit.

A unit's number is its place in the order (evaluator, candidate, task model, split, line, repeat); a cell is
the stretch of units that share the first four. An evaluator may be for some splits alone: then it has no
cells on the others. Plans, journals and summaries all count by this; what the axes hold (texts, programs,
examples) is the plan's.

A version is needed only where something of a run has been replaced by other bytes of the same name: then a
record counts for the version whose key it has, and for none where its example has other bytes by now.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import accumulate, product
from typing import Any, NamedTuple

import orjson

from optimize_eval.base.frozen import Remembers, frozen
from optimize_eval.base.protocol import ScoreRange

SINGLE = "single"  # the one split of a run without examples
NO_VALUE = "(none)"
MOST_UNITS = 10_000_000

Label = str


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

    `names` and `inputs` are by what people know the examples, a short text each; older runs have none, nor
    do they know `leaks`. `copies` are lines that say the same as an earlier one, with that; `values` digest
    what examples say, whatever their bytes.
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

    @property
    def has_sound_texts(self) -> bool:
        """Return True if names and inputs are texts, one for each example or none at all."""
        return all(
            len(texts) in {0, len(self.lines)} and all(isinstance(text, str) for text in texts)
            for texts in (self.names, self.inputs)
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

    def number(self, record: Mapping[str, Any]) -> int | None:
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


CellName = tuple[str, str, str | None, str]  # evaluator, candidate, task model, split

TRIMMED = "trimmed"  # of a candidate with blanks at its end: the digest without them

_SHOWN = 8  # of a digest


class Version(NamedTuple):
    """An evaluator or a candidate of certain bytes, and the name that its cells have."""

    shown: str
    sha256: str  # of a candidate that is a field of examples: empty
    texts: Mapping[str, Mapping[int | None, str]] = {}  # by split and line: the digests of such a candidate


def key_of(
    evaluator: str,
    candidate: str,
    task_model: str | None,
    split: str,
    line: int | None,
    example: str,
    repeat: int,
) -> str:
    """Digest a unit; evaluator, candidate and example are the digests of what they are."""
    parts = evaluator, candidate, task_model, split, line, example, repeat
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()


def shown_as(name: str, digest: str) -> str:
    """Name a version that was superseded."""
    return f"{name}@{digest[:_SHOWN]}"


def name_in_cells(entry: Mapping[str, Any]) -> str:
    """Name an evaluator or candidate of run.json as cells do: a superseded one has a name of its own."""
    name = str(entry["name"])
    return shown_as(name, digest_of(entry)) if entry.get("superseded") else name


def digest_of(entry: Mapping[str, Any]) -> str:
    """Digest what an evaluator or candidate of run.json is: its program, its text, or which field has it."""
    if entry.get("field"):
        return hashlib.sha256(f"field {entry['field']}".encode()).hexdigest()
    return str(entry.get("sha256", ""))


@frozen
class Versions:
    """All versions of what has several, by name, the current one first; and the examples of now."""

    evaluators: Mapping[str, Sequence[Version]]
    candidates: Mapping[str, Sequence[Version]]
    models: Mapping[str, Sequence[Version]]  # of task models that are called; others are names alone
    examples: Mapping[str, Mapping[int | None, str]]  # by split and line: digests
    replaced: frozenset[
        str
    ]  # evaluators, candidates and models with more than one version, and splits with changed lines

    def concern(self, record: Mapping[str, Any]) -> bool:
        """Return True if a record may be of what was replaced."""
        replaced = self.replaced
        return (
            record["evaluator"] in replaced
            or record["candidate"] in replaced
            or record["split"] in replaced
            or record.get("task_model") in replaced
        )

    def find(self, record: Mapping[str, Any]) -> CellName | None:
        """Name the cell that a record is of; None where its example, or all of it, is of former bytes."""
        key = record.get("key")
        split, line = record["split"], record.get("line")
        example = self.examples.get(split, {}).get(line, "")
        for evaluator, candidate, model in product(
            self.evaluators.get(record["evaluator"], ()),
            self.candidates.get(record["candidate"], ()),
            self._models_of(record),
        ):
            text = candidate.texts.get(split, {}).get(line, candidate.sha256)
            digest = model and model.sha256
            if key == key_of(evaluator.sha256, text, digest, split, line, example, record["repeat"]):
                return evaluator.shown, candidate.shown, model and model.shown, split
        return None

    def _models_of(self, record: Mapping[str, Any]) -> Sequence[Version | None]:
        name = record.get("task_model")
        return (None,) if name is None else self.models.get(name, (Version(name, name),))


def versions_of(document: Mapping[str, Any]) -> Versions | None:
    """Read the versions off a run's document; None where nothing was ever replaced."""
    axes = [*document["evaluators"], *document["candidates"], *document.get("models", ())]
    replaced = {str(axis["name"]) for axis in axes if axis.get("superseded") or "sound_since" in axis}
    replaced |= {str(split["name"]) for split in document["splits"] if split.get("superseded")}
    if not replaced:
        return None
    examples = {
        split["name"]: dict(zip(split["lines"], split["sha256"], strict=True)) for split in document["splits"]
    }
    lines = {split["name"]: split["lines"] for split in document["splits"]}
    return Versions(
        evaluators=_by_name(document["evaluators"], {}),
        candidates=_by_name(document["candidates"], lines),
        models=_by_name(document.get("models", ()), {}),
        examples=examples,
        replaced=frozenset(replaced),
    )


def _by_name(entries: Sequence[Mapping[str, Any]], lines: Mapping[str, Any]) -> dict[str, Any]:
    versions: dict[str, list[Version]] = {}
    for entry in sorted(entries, key=lambda one: bool(one.get("superseded"))):  # current ones first
        texts = dict(_texts(entry, lines))
        sha256 = "" if texts else str(entry.get("sha256", ""))
        versions.setdefault(str(entry["name"]), []).append(Version(name_in_cells(entry), sha256, texts))
    return versions


def _texts(entry: Mapping[str, Any], lines: Mapping[str, Any]) -> Iterator[tuple[str, dict[int | None, str]]]:
    for split, digests in (entry.get("texts") or {}).items():
        yield split, dict(zip(lines.get(split, ()), digests, strict=False))
