"""What was recorded, by cell: the outcomes of each example, and what counts as one unit."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from optimize_eval.audit.axes import Axes, NewestRecords, Record, Records, newest_records, read_axes
from optimize_eval.audit.numerics import Labels, average, join_labels
from optimize_eval.audit.rows_left_out import contents_of, counting, leaked_in, overlaps_again, skip_excluded
from optimize_eval.audit.tried import JournaledTries, is_steered, read_tries

Values = list[float | None]  # by example
Series = tuple[str, str | None]  # evaluator, task model
Where = tuple[str, str | None, str]  # evaluator, task model, split
Key = tuple[str, str | None, str, str]  # and candidate

_MOST_FLIPPED = 50  # pairs of candidates


def by_axis(key: Sequence[Any]) -> Record:
    """Name the parts of a key."""
    return dict(zip(("evaluator", "task_model", "split", "candidate"), key, strict=False))


class ExampleRecords:
    """What became of the calls about one example in a cell."""

    def __init__(self, records: list[Record], *, has_failures: bool = True) -> None:
        skipped = [record for record in records if record["outcome"] == "skipped"]
        answers = [record["score"] for record in records if record["outcome"] == "scored"]
        ruled = [record for record in skipped if record.get("excluded_by")]
        self.records = records
        self.scores: list[float] = [score for score in answers if score is not None]
        self.unranked = answers.count(None)  # answers without a number
        self.failures: list[str] = [
            record["kind"] for record in records if has_failures and record["outcome"] == "failed"
        ]
        self.skips = [(record.get("message", ""), record.get("excluded_by", [])) for record in skipped]
        self.ruled = len(ruled)
        self.by_outcome = any(record["by_outcome"] for record in ruled)
        left_out = (record["score"] for record in ruled)
        self.whole = [*self.scores, *(score for score in left_out if score is not None)]

    @property
    def plainly_skipped(self) -> int:
        """Count the calls that were skipped otherwise than by rules."""
        return len(self.skips) - self.ruled

    def mean_with(self, score: float, times: int) -> float | None:
        """Average with another score, so many times."""
        return average([*self.scores, *[score] * times])


@dataclass
class CellRecords:
    """The outcomes of one cell, by example."""

    examples: list[ExampleRecords]
    is_unit: bool
    repeats: int = 1

    @property
    def means(self) -> Values:
        return [average(example.scores) for example in self.examples]

    @property
    def means_of_all_rows(self) -> Values:
        """Give means with the scores that rules left out."""
        return [average(example.whole) for example in self.examples]

    @property
    def failed(self) -> int:
        return self.kinds.total()

    @property
    def kinds(self) -> Counter[str]:
        return Counter(kind for example in self.examples for kind in example.failures)

    @property
    def unranked(self) -> int:
        return sum(example.unranked for example in self.examples)

    @property
    def scored(self) -> int:
        return sum(len(example.scores) for example in self.examples) + self.unranked

    @property
    def skipped(self) -> int:
        return sum(len(example.skips) for example in self.examples)

    @property
    def coverage(self) -> float | None:
        return self.scored / (self.scored + self.failed) if self.scored + self.failed else None

    @property
    def records(self) -> list[Record]:
        return [record for example in self.examples for record in example.records]

    def skipped_beside(self, other: "CellRecords") -> list[int]:
        """Count what was skipped more than for the other, by example; nothing where that is hardly ever."""
        pairs = [*zip(self.examples, other.examples, strict=True)]
        more = [mine.plainly_skipped - its.plainly_skipped for mine, its in pairs]
        both = sum(bool(mine.scores and its.scores) for mine, its in pairs)
        is_hardly_ever = sum(map(bool, more)) * 100 <= both
        return [0 if is_hardly_ever else max(many, 0) for many in more]

    def counted_as(self, score: float, other: "CellRecords") -> Values | None:
        """Count failures, and what was skipped for this side alone, as a score; None without ends."""
        return self._count_as(score, self.skipped_beside(other))

    def with_failures(self, score: float) -> Values | None:
        """Count each failure as a score; None where scores have no ends."""
        return self._count_as(score, [0] * len(self.examples))

    def _count_as(self, score: float, more: list[int]) -> Values | None:
        if not self.failed and not any(more):
            return self.means
        if not self.is_unit:
            return None
        rows = zip(self.examples, more, strict=True)
        return [example.mean_with(score, len(example.failures) + many) for example, many in rows]


def one_sided(a: CellRecords, b: CellRecords) -> int:
    """Count the examples that were skipped for one of the two alone, where they matter."""
    return sum(map(bool, a.skipped_beside(b))) + sum(map(bool, b.skipped_beside(a)))


def are_open(a: CellRecords, b: CellRecords) -> bool:
    """Return True if failures or skips of one side leave open what a difference is."""
    return bool(a.failed or b.failed or one_sided(a, b))


def are_ruled_apart(a: CellRecords, b: CellRecords) -> bool:
    """Return True if rules leave out other rows of one than of the other, or look at outcomes."""
    pairs = zip(a.examples, b.examples, strict=True)
    return any(mine.ruled != its.ruled or mine.by_outcome or its.by_outcome for mine, its in pairs)


@dataclass
class JournaledSplit:
    """The examples of one split."""

    name: str
    lines: list[int | None]
    contents: list[str]  # digests, of copies that of the first
    own_clusters: list[str] | None
    groups: dict[str, list[str]]
    labels: list[Any] = field(init=False)  # what counts as one unit
    is_clustered: bool = field(init=False)

    def __post_init__(self) -> None:
        has_copies = self.copies > len(self.lines) / 100
        self.is_clustered = has_copies or self.own_clusters is not None
        self.labels = [*range(len(self.lines))]
        for texts in (self.contents if has_copies else None, self.own_clusters):
            self.labels = join_labels(self.labels, texts) if texts else self.labels

    @property
    def copies(self) -> int:
        return len(self.contents) - len(set(self.contents))


@dataclass
class JournaledRun:
    """Everything that numbers are made of."""

    axes: Axes
    kept: list[Record]  # evaluators, without additions that are not complete
    splits: dict[str, JournaledSplit]
    left_out: list[Record]  # evaluators that were added later, and are not complete
    changed: list[str]
    changed_models: list[str]
    known: int
    size: int
    calls: list[Record]  # of models, each with the axes of its record
    end: Record  # where the last line of the journal ends that counts, and its checksum
    waits: bool  # for rules of tasks that were not applied yet
    leaks: dict[str, Record]  # by split
    overlaps_again: Record  # what splits have in common, of data files that are there
    tries: JournaledTries
    confirmations: Records  # fresh calls about single examples
    cells: dict[Key, CellRecords] = field(default_factory=dict)
    apart: Counter[str] = field(default_factory=Counter)  # the outcomes of rows that are in no number

    def __post_init__(self) -> None:
        self.evaluators: list[str] = [entry["name"] for entry in self.kept]
        self.ranges: dict[str, str] = {entry["name"]: entry["score_range"] for entry in self.kept}
        self.candidates: list[str] = [candidate["name"] for candidate in self.axes.candidates]
        self.own_splits: dict[str, list[str]] = {  # of evaluators that are for some splits alone
            entry["name"]: entry["splits"] for entry in self.axes.entries if "splits" in entry
        }

    @property
    def searched(self) -> Record:
        """Give what is known of a search that this run ended."""
        return self.axes.settings.get("searched") or {}

    def also_tried(self, wheres: list[Where]) -> tuple[int, bool]:
        """Count the other comparisons that a family is corrected for, and say whether it may confirm."""
        is_strict = not self.confirms_on_test
        others = sum(
            self.tries.others(where, self.decides, is_strict=is_strict) for where in dict.fromkeys(wheres)
        )
        return others, self.decides not in wheres or not self.is_steered

    @property
    def is_steered(self) -> bool:
        """Return True if too many versions of what decides came after results."""
        return self.tries.is_run and not self.confirms_on_test and is_steered(self.tries.count(self.decides))

    @property
    def compared(self) -> int:
        """Count the comparisons among which the best one was picked."""
        return len(self.candidates) - 1 + self.tries.others(self.decides, self.decides, is_strict=False)

    def count_tries(self, winner: str | None) -> Record | None:
        if not self.tries.is_run:
            return None
        if winner and self.confirms_on_test:
            return self.tries.count_on_test((*self.primary, "test"), winner)
        return self.tries.count(self.decides)

    @property
    def confirms_on_test(self) -> bool:
        return "test" in self.splits_for(self.primary[0]) and self.deciding != "test"

    def splits_for(self, evaluator: str) -> list[str]:
        own = self.own_splits.get(evaluator)
        return [name for name in self.splits if own is None or name in own]

    @property
    def wheres(self) -> list[Where]:
        """List the evaluators, task models and splits that go together."""
        return [
            (evaluator, model, split)
            for evaluator, model in product(self.evaluators, self.axes.task_models)
            for split in self.splits_for(evaluator)
        ]

    @property
    def cells_in_order(self) -> list[Key]:
        """List cells by evaluator, candidate, task model and split."""
        axes = product(self.evaluators, self.candidates, self.axes.task_models)
        return [
            (evaluator, model, split, candidate)
            for evaluator, candidate, model in axes
            for split in self.splits_for(evaluator)
        ]

    @property
    def deciding(self) -> str:
        return "val" if "val" in self.splits else next(iter(self.splits))

    @property
    def primary(self) -> Series:
        return self.evaluators[0], self.axes.task_models[0]

    @property
    def decides(self) -> Where:
        return (*self.primary, self.deciding)

    @property
    def may_flip(self) -> bool:
        many = len(self.candidates)
        return many * (many - 1) // 2 <= _MOST_FLIPPED

    def labels(self, split: str) -> Labels:
        return self.splits[split].labels

    def against_baseline(self, where: Where, candidate: str) -> tuple[CellRecords, CellRecords]:
        return self.cells[*where, self.axes.baseline], self.cells[*where, candidate]

    def is_open(self, series: Series, candidate: str) -> bool:
        """Return True if failures or skips leave open what a candidate gained on train or on val."""
        wheres: list[Where] = [(*series, "train"), (*series, "val")]
        return any(are_open(*self.against_baseline(where, candidate)) for where in wheres)


def read(folder: Path) -> JournaledRun:
    """Read a run; additions that are not complete, or that changed, are left out."""
    axes = read_axes(folder / "run.json")
    newest = newest_records(folder / "journal.jsonl", axes)
    tries = read_tries(folder, axes, newest)
    waits = skip_excluded(newest.records, axes, [note for _, note in newest.notes])
    again = overlaps_again(axes.settings)
    if again:
        axes = replace(axes, settings={**axes.settings, "overlaps": axes.settings["overlaps"] | again})
    leaks = leaked_in(axes)
    standing = _standing(axes, newest)
    kept = [*axes.evaluators, *(entry for entry in axes.additions if _is_whole(standing[entry["name"]]))]
    changed_models = newest.changed_models.intersection(axes.task_models)
    names = [entry["name"] for entry in kept]
    run = JournaledRun(
        axes=axes,
        kept=kept,
        splits={
            split["name"]: _split(split, leaks.get(split["name"]), axes.settings) for split in axes.splits
        },
        left_out=[count for name, count in standing.items() if name not in names],
        changed=sorted({*newest.changed.intersection(names), *changed_models}),
        changed_models=sorted(changed_models),
        known=sum(standing[name]["done"] for name in names),
        size=sum(standing[name]["calls"] for name in names),
        calls=newest.calls,
        end=newest.end,
        waits=waits and len(kept) == len(axes.entries),
        leaks=leaks,
        overlaps_again=again,
        tries=tries,
        confirmations=newest.confirmations,
    )
    _fill(run, newest.records)
    return run


def _standing(axes: Axes, newest: NewestRecords) -> dict[str, Record]:
    """Count by evaluator what the last command asks of it, and what is recorded of that."""
    lines = {(split["name"], line) for split in axes.splits for line in split["lines"]}
    candidates, models = {candidate["name"] for candidate in axes.candidates}, {*axes.task_models}
    known = [
        (name, record["outcome"])
        for (name, model, split, candidate, line, repeat), record in newest.records.items()
        if candidate in candidates and model in models and (split, line) in lines and repeat <= axes.repeats
    ]
    done, each = Counter(known), len(candidates) * len(models) * axes.repeats
    return {
        name: {
            "evaluator": name,
            "calls": each * sum(split in entry.get("splits", [split]) for split, _ in lines),
            "done": sum(done[name, outcome] for outcome in ("scored", "failed", "skipped")),
            "scored": done[name, "scored"],
            "changed": name in newest.changed,
        }
        for name, entry in ((entry["name"], entry) for entry in axes.entries)
    }


def _is_whole(count: Record) -> bool:
    return bool(0 < count["done"] == count["calls"] and not count["changed"])


def _split(entry: Record, leaked: Record | None, settings: Record) -> JournaledSplit:
    counts, contents, clusters = counting(entry, leaked), contents_of(entry, settings), entry["clusters"]
    return JournaledSplit(
        name=entry["name"],
        lines=[entry["lines"][index] for index in counts],
        contents=[contents[index] for index in counts],
        own_clusters=clusters and [clusters[index] for index in counts],
        groups={path: [labels[index] for index in counts] for path, labels in entry["groups"].items()},
    )


def _fill(run: JournaledRun, records: Records) -> None:
    repeats = range(1, run.axes.repeats + 1)
    every = {split["name"]: split["lines"] for split in run.axes.splits}
    for where, candidate in product(run.wheres, run.candidates):
        key, lines = (*where, candidate), run.splits[where[2]].lines
        made = {
            line: [record for repeat in repeats if (record := records.get((*key, line, repeat)))]
            for line in every[where[2]]
        }
        examples = [ExampleRecords(made[line]) for line in lines]
        run.cells[key] = CellRecords(examples, run.ranges[key[0]] == "unit", run.axes.repeats)
        apart = made.keys() - {*lines}
        run.apart.update(record["outcome"] for line in apart for record in made[line])
