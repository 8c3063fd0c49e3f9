"""run.json, typed: all that a run has, in the order in which it came, and what was named last.

`evaluators`, `candidates`, `task_models`, `models`, `splits` and `repeats` are the axes with all their
entries; `cells` says which of their products there are, with the counts at the end of the last session;
`selection` is what the last command named, in its order. A plan makes such a document, store.growth lets it
grow, and its JSON is the file: store.run_json.
"""

import dataclasses
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, TypeVar

from optimize_eval.base.documents import IF_ANY, IF_KNOWN, JsonMapping, from_dict
from optimize_eval.base.files import counted_unit
from optimize_eval.base.frozen import Remembers, frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.store.labels import PEOPLE, PeopleOfJudge
from optimize_eval.store.layout import CellName, Layout, LeakedRow, Split

RUN, BENCH = "run", "bench"  # kinds of runs
OVERLAPS = "overlaps"  # in settings: what splits have in common, by data.leaks
LEAKS, KEEP = "leaks", "keep"  # in settings, where examples that leaked are to count
CHOSEN_AFTER = "chosen_after"  # in settings: the run by whose results its examples were taken
ORIGIN = "origin"  # in settings, where another tool made the numbers
SEARCHED = "searched"  # in settings: what a verdict has to know of the search that a run ended
ENDED, NOTE, COMMAND = "ended_at", "note", "command"  # words of a run


@frozen
class StoredPaths:
    """Where the inputs were; in settings."""

    splits: Annotated[Mapping[str, str | None] | None, IF_ANY] = None
    candidate: Annotated[tuple[str, ...] | None, IF_ANY] = None
    candidates: Annotated[tuple[str, ...] | None, IF_ANY] = None  # lists of them
    prompts: Annotated[tuple[str, ...] | None, IF_ANY] = None
    system: Annotated[str | None, IF_ANY] = None


@frozen
class SeedAlone:
    """What is said where a search found nothing better than its seed."""

    state: Annotated[str | None, IF_ANY] = None
    text: Annotated[str, IF_ANY] = ""


@frozen
class SearchedRun:
    """What a verdict has to know of the search that a run ended; in settings."""

    steered_by: Annotated[str | None, IF_ANY] = None  # a split
    decides: Annotated[str | None, IF_ANY] = None  # a split
    alone: Annotated[SeedAlone | None, IF_ANY] = None


@frozen
class Origin:
    """Where another tool made the numbers: its files, and what to know of them; in settings."""

    tool: Annotated[str, IF_ANY] = ""
    shown_as: Annotated[str, IF_ANY] = ""
    says: Annotated[tuple[str, ...], IF_ANY] = ()
    files: Annotated[tuple[JsonMapping, ...], IF_ANY] = ()


@frozen
class SplitOverlap:
    """What a split has in common with those before it, and its lines with each other; in settings."""

    of: Annotated[str, IF_ANY] = ""
    leaks: Annotated[tuple[tuple[int, str, int, str, int | float], ...], IF_ANY] = ()
    copies: Annotated[tuple[tuple[int, int], ...], IF_ANY] = ()
    values: Annotated[tuple[tuple[int, str], ...], IF_ANY] = ()


SETTINGS: JsonMapping = {  # what is read of the options that a run kept: its types
    "gates": JsonMapping,
    "margins": JsonMapping,
    "format": str | None,
    "paths": StoredPaths | None,
    ORIGIN: Origin,
    OVERLAPS: Mapping[str, SplitOverlap],
    SEARCHED: SearchedRun,
    PEOPLE: Mapping[str, PeopleOfJudge],
}

_OF_A_CELL = ("evaluator", "candidate", "task_model", "split", "scored", "failed", "skipped", "owed")
_SHOWN = 8  # of a digest


@frozen
class StoredFile:
    """A file of a program."""

    name: str
    sha256: str


@frozen
class StoredProgram:
    """An evaluator or a model that is called; a superseded one keeps what it scored."""

    name: str
    text: str
    files: tuple[StoredFile, ...] | None  # None where they were edited
    sha256: str
    judge: Annotated[JsonMapping, IF_ANY] = dataclasses.field(default_factory=dict)  # what is judged, and how
    score_range: Annotated[ScoreRange | None, IF_ANY] = None  # of an evaluator
    splits: Annotated[tuple[str, ...] | None, IF_KNOWN] = None  # those that it is for, if not for all
    since: Annotated[int | None, IF_KNOWN] = None  # where its records begin in the journal
    sound_since: Annotated[int | None, IF_KNOWN] = None  # and where it can have changed
    superseded: Annotated[bool, IF_ANY] = False

    @property
    def digest(self) -> str:
        return self.sha256

    @property
    def name_in_cells(self) -> str:
        return shown_as(self.name, self.sha256) if self.superseded else self.name


@frozen
class StoredCandidate:
    """A candidate; `texts` digest one that is a field of examples, by split and in the order of its lines."""

    name: str
    field: Annotated[str | None, IF_KNOWN] = None
    sha256: Annotated[str, IF_ANY] = ""
    trimmed: Annotated[str | None, IF_KNOWN] = None  # the digest without the blanks at its end, if any
    bytes: Annotated[int | None, IF_KNOWN] = None
    text: Annotated[str | None, IF_KNOWN] = None  # of a small one
    texts: Annotated[Mapping[str, tuple[str, ...]], IF_ANY] = dataclasses.field(default_factory=dict)
    superseded: Annotated[bool, IF_ANY] = False

    @property
    def digest(self) -> str:
        """Digest what it is: its text, or which field has it."""
        return hashlib.sha256(f"field {self.field}".encode()).hexdigest() if self.field else self.sha256

    @property
    def name_in_cells(self) -> str:
        return shown_as(self.name, self.digest) if self.superseded else self.name


@frozen
class StoredSplit:
    """All examples that a run ever had of a split, by their lines; `superseded` are lines as they were."""

    name: str
    lines: tuple[int | None, ...]
    sha256: tuple[str, ...]
    superseded: Annotated[tuple[tuple[int | None, str], ...], IF_ANY] = ()

    @property
    def by_line(self) -> dict[int | None, str]:
        return dict(zip(self.lines, self.sha256, strict=True))


@frozen
class CountedCell:
    """A cell, with its units as they were at the end of the last session."""

    evaluator: str
    candidate: str
    task_model: str | None
    split: str
    scored: int
    failed: int
    skipped: int
    owed: int

    @property
    def name(self) -> CellName:
        return self.evaluator, self.candidate, self.task_model, self.split


def counted_cell(name: CellName, counts: Sequence[int]) -> CountedCell:
    """Make a cell of the numbers of its scored, failed, skipped and owed units."""
    values: Iterable[Any] = (*name, *counts)
    return CountedCell(**dict(zip(_OF_A_CELL, values, strict=True)))


Entry = TypeVar("Entry", bound=StoredProgram | StoredCandidate)  # may be superseded by another of its name


def current(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Give the entries of an axis that were not superseded, by name."""
    return {entry.name: entry for entry in entries if not entry.superseded}


def shown_as(name: str, of: str) -> str:
    """Name a version that was superseded by its digest."""
    return f"{name}@{of[:_SHOWN]}"


@frozen
class RunDocument(Remembers):
    """All that run.json says; `words` are when it ended, its note and its command, as they came."""

    id: str
    evaluators: tuple[StoredProgram, ...]
    candidates: tuple[StoredCandidate, ...]
    task_models: tuple[str | None, ...]
    splits: tuple[StoredSplit, ...]
    repeats: int
    selection: Layout
    cells: tuple[CountedCell, ...] = ()
    models: tuple[StoredProgram, ...] = ()  # of task models that are called; others are names alone
    added: tuple[str, ...] = ()  # evaluators of the selection that are no part of the run's plan
    kind: str = RUN
    version: str | None = None
    protocol: int | None = None
    created_at: str | None = None
    settings: JsonMapping = dataclasses.field(default_factory=dict)  # options that are no part of the plan
    words: Mapping[str, str | None] = dataclasses.field(default_factory=dict)

    @property
    def is_bench(self) -> bool:
        """Return True if its models are what is compared, and its splits are task files."""
        return self.kind == BENCH

    @property
    def is_open(self) -> bool:
        """Return True if a session began, and did not come to its end."""
        return self.words.get(ENDED, "") is None

    @cached_property
    def selected_evaluators(self) -> tuple[StoredProgram, ...]:
        """Give the evaluators that were named, then those that were added; units are counted so."""
        return _at(self.evaluators, self.selection.evaluators)

    @property
    def own_evaluators(self) -> list[str]:
        """Name the evaluators of the run's plan."""
        return [name for name in self.selection.evaluators if name not in self.added]

    @property
    def additions(self) -> tuple[StoredProgram, ...]:
        return tuple(entry for entry in self.selected_evaluators if entry.name in self.added)

    @property
    def selected_candidates(self) -> tuple[StoredCandidate, ...]:
        return _at(self.candidates, self.selection.candidates)

    @property
    def selected_models(self) -> tuple[StoredProgram, ...]:
        """Give the models among task models; a run whose task models are names alone has none."""
        return _at(self.models, [name for name in self.selection.task_models if name in current(self.models)])

    @property
    def every_task_model(self) -> tuple[str | None, ...]:
        former = (model.name_in_cells for model in self.models if model.superseded)
        return tuple(dict.fromkeys([*self.task_models, *former]))

    @property
    def origin(self) -> JsonMapping:
        """Give where the numbers of another tool came from; nothing for a run of ours."""
        known: JsonMapping = self.settings.get(ORIGIN, {})
        return known

    @property
    def overlaps(self) -> JsonMapping:
        """Give what splits have in common."""
        known: JsonMapping = self.settings.get(OVERLAPS, {})
        return known

    @property
    def hidden_fields(self) -> list[str]:
        """Name the fields that are no part of what rows say: those that are or were candidates."""
        return sorted({name for overlap in self.overlaps.values() for name in overlap.get("left_out", ())})

    @property
    def paths(self) -> StoredPaths:
        return from_dict(StoredPaths, self.settings.get("paths") or {})

    @property
    def searched(self) -> SearchedRun | None:
        """Give what is known of the search that the run ended."""
        return from_dict(SearchedRun, self.settings[SEARCHED]) if self.settings.get(SEARCHED) else None

    @property
    def chosen_after(self) -> str | None:
        """Name the run by whose results the examples were taken."""
        after: str | None = self.settings.get(CHOSEN_AFTER)
        return after

    def place_word(self, split: str) -> str:
        """Say what the numbers of a split's examples count: lines of JSONL, records of a table."""
        return counted_unit((self.paths.splits or {}).get(split) or "")

    def whole_split(self, split: StoredSplit) -> Split:
        """Give all examples that the run ever had of a split, as they were last."""
        return _with_overlap(Split(name=split.name, lines=split.lines, sha256=split.sha256), self.overlaps)

    def end_at(self, at: str | None) -> "RunDocument":
        """Say when its last session ended, or that one has begun."""
        return replace(self, words={**self.words, ENDED: at})

    def with_words(self, words: Mapping[str, str | None]) -> "RunDocument":
        """Say something of the run; an empty text says nothing any more."""
        others = {key: said for key, said in self.words.items() if key not in words}
        return replace(self, words=others | {key: said for key, said in words.items() if said != ""})

    def with_additions(self, additions: Sequence[StoredProgram]) -> "RunDocument":
        """Give a run of just what is selected, and of these evaluators in place of those that were added."""
        own = (entry for entry in self.selected_evaluators if entry.name not in self.added)
        evaluators = (*own, *additions)
        models = self.selected_models
        return replace(
            self,
            evaluators=evaluators,
            candidates=self.selected_candidates,
            models=models,
            task_models=self.selection.task_models,
            splits=tuple(
                StoredSplit(name=split.name, lines=split.lines, sha256=split.sha256)
                for split in self.selection.splits
            ),
            repeats=self.selection.repeats,
            selection=layout_of(evaluators, self.selection, has_models=bool(models)),
            added=tuple(entry.name for entry in additions),
        )

    def with_everything(self) -> "RunDocument":
        """Select all that the run has, superseded versions by names of their own."""
        evaluators = tuple(self._in_force(entry) for entry in self.evaluators)
        candidates = tuple(
            replace(entry, name=entry.name_in_cells, superseded=False) for entry in self.candidates
        )
        chosen = {split.name: split for split in self.selection.splits}
        layout = layout_of(
            evaluators,
            replace(
                self.selection,
                candidates=tuple(entry.name for entry in candidates),
                task_models=self.every_task_model,
                splits=tuple(
                    _whole(self.whole_split(split), chosen.get(split.name)) for split in self.splits
                ),
                repeats=self.repeats,
                cluster_by=None,
                group_by=(),
            ),
            has_models=bool(self.selected_models),
        )
        return replace(
            self,
            evaluators=evaluators,
            candidates=candidates,
            models=self.selected_models,
            selection=layout,
            added=(),
        )

    def _in_force(self, entry: StoredProgram) -> StoredProgram:
        """Name a version as its cells do, with the splits of all of them, which one command may not name."""
        name = entry.name_in_cells
        entry = replace(entry, name=name, superseded=False)
        if all(each.splits is None for each in self.evaluators):
            return entry
        there = {cell.split for cell in self.cells if cell.evaluator == name}
        return replace(entry, splits=tuple(split.name for split in self.splits if split.name in there))


def _at(entries: Iterable[Entry], names: Iterable[str]) -> tuple[Entry, ...]:
    there = current(entries)
    return tuple(there[name] for name in names)


def _whole(split: Split, chosen: Split | None) -> Split:
    """Let a split know its file and names, which are known of those examples only that were chosen last."""
    if chosen is None or chosen.lines != split.lines:
        return split
    return replace(split, file=chosen.file, names=chosen.names, inputs=chosen.inputs)


def layout_of(evaluators: Sequence[StoredProgram], layout: Layout, *, has_models: bool) -> Layout:
    """Give a layout other evaluators, and what follows from them."""
    splits_of = {entry.name: entry.splits for entry in evaluators if entry.splits is not None}
    return replace(
        layout,
        evaluators=tuple(entry.name for entry in evaluators),
        score_ranges=tuple(ScoreRange(entry.score_range or "") for entry in evaluators),
        splits_of=splits_of,
        compares_models=has_models and not splits_of,  # a board compares them itself
    )


def with_overlaps(splits: Sequence[Split], overlaps: JsonMapping) -> tuple[Split, ...]:
    """Let splits know what they have in common."""
    return tuple(_with_overlap(split, overlaps) for split in splits)


def _with_overlap(split: Split, overlaps: JsonMapping) -> Split:
    """Let a split know the leaks and the copies among its lines."""
    if split.name not in overlaps:
        return split
    there, own = {*split.lines}, overlaps[split.name]
    values = dict(own.get("values", ()))
    leaks = (LeakedRow(*row) for row in own["leaks"])
    return replace(
        split,
        leaks=tuple(row for row in leaks if row.line in there),
        copies={line: first for line, first in own["copies"] if line in there},
        values=tuple(values.get(line, "") for line in split.lines),
    )
