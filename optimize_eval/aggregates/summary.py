"""The summary of a run: everything that reports are made from, computed from the journal's records alone.

Reads each cell once, in the order of units, and puts the numbers of the other modules into the shape that
others rely on. What the numbers are called in words is verdict's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any, Protocol

from optimize_eval.aggregates.additions import LeftOut, left_out_of, points_about, without
from optimize_eval.aggregates.compare import (
    MOST_FLIPPED_PAIRS,
    MOST_PAIRS,
    Comparison,
    compare,
    corrected,
    holds_at_the_lower_bound,
)
from optimize_eval.aggregates.gap import gap_between
from optimize_eval.aggregates.latency import Latency
from optimize_eval.aggregates.reasons import reason_of_lowest
from optimize_eval.aggregates.scores import Reading, Scores, known, worst_places
from optimize_eval.aggregates.shapes import d_of, failures_of, g_of, overfit_of, s_of, where
from optimize_eval.aggregates.sideinfo import SideInfo
from optimize_eval.aggregates.statistics import Mean, mean_of
from optimize_eval.aggregates.verdict import judge
from optimize_eval.run.layout import Cell, Layout, Split
from optimize_eval.run.stored import StoredRun

SCHEMA = "optimize-eval.summary.v1"

Family = tuple[str, str | None, str]  # evaluator, task model, split


class Records(Protocol):
    """A cell's newest records by their places in it, all or those at some places."""

    def __call__(
        self, cell: Cell, places: Iterable[int] | None = None, /
    ) -> Iterable[tuple[int, Mapping[str, Any]]]: ...


def summarise(
    layout: Layout, records: Records, changed: Iterable[str] = (), left_out: Sequence[LeftOut] = ()
) -> dict[str, Any]:
    """Compute the summary; `records` gives a cell's newest records by their places in it.

    `changed` are evaluators that were not the same program from the first call to the last; `left_out` are
    additions that the layout does not have.
    """
    return _Summary(layout, records).to_dict(sorted(changed), left_out)


def summarise_stored(run: StoredRun) -> dict[str, Any]:
    """Compute the summary of a run on disk."""
    left_out = left_out_of(run)
    layout = without(run.layout, left_out)
    changed = run.ledger.changed.intersection(layout.evaluators)
    with run.reader() as reader:
        return summarise(layout, reader.records, changed, left_out)


class _Summary:
    """The cells of one run, read, and what is made of them."""

    def __init__(self, layout: Layout, records: Records) -> None:
        self._layout = layout
        self._records = records
        self._splits = {split.name: split for split in layout.splits}
        self._latency = Latency()
        self._side_info: dict[tuple[Family, str], dict[str, Any]] = {}
        self._scores: dict[tuple[Family, str], Scores] = {}
        for cell in layout.cells:
            self._read(cell, records(cell))
        count = len(layout.candidates)
        self._pairs = count * (count - 1) // 2
        families = dict.fromkeys(family for family, _ in self._scores)
        self._against_baseline = {family: self._compare_with_baseline(family) for family in families}

    def to_dict(self, changed: Sequence[str], left_out: Sequence[LeftOut]) -> dict[str, Any]:
        layout = self._layout
        summary: dict[str, Any] = {
            "schema": SCHEMA,
            "verdict": None,
            "baseline": layout.baseline,
            "decided_on": layout.deciding,
            "units": self._units(),
            "rows": [
                self._row(evaluator, candidate, task_model)
                for evaluator in layout.evaluators
                for task_model in layout.task_models
                for candidate in layout.candidates
            ],
            "pairs": [pair for family in self._against_baseline for pair in self._all_pairs(family)],
            "pairs_left_out": self._pairs if self._pairs > MOST_PAIRS else 0,
            "leakage": _leakage(layout.splits),
            "changed": changed,
            "additions_left_out": left_out,
            "failures": [
                entry
                for (_, candidate), scores in self._scores.items()
                for entry in failures_of(candidate, scores)
            ],
            "side_info": list(self._side_info.values()),
            "latency": self._latency.to_list(),
        }
        summary["verdict"] = judge(summary, layout)
        summary["verdict"]["points"] += points_about(left_out)
        return summary

    def _read(self, cell: Cell, records: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
        lines = self._splits[cell.split].lines
        repeats = self._layout.repeats
        reading = Reading(cell, lines, repeats, self._layout.score_range(cell.evaluator))
        side_info = SideInfo()
        for place, record in records:
            reading.take(place, record)
            self._latency.take(cell, record)
            if record["outcome"] == "scored":
                side_info.take(record, lines[place // repeats])
        family = cell.evaluator, cell.task_model, cell.split
        self._scores[family, cell.candidate] = reading.done()
        self._side_info[family, cell.candidate] = {**where(cell), **side_info.to_dict()}

    def _units(self) -> dict[str, int]:
        counts = {
            outcome: sum(getattr(scores, outcome) for scores in self._scores.values())
            for outcome in ("scored", "failed", "skipped")
        }
        return {"total": self._layout.size, **counts, "owed": self._layout.size - sum(counts.values())}

    def _row(self, evaluator: str, candidate: str, task_model: str | None) -> dict[str, Any]:
        families = {name: (evaluator, task_model, name) for name in self._splits}
        scores = {name: self._scores[family, candidate] for name, family in families.items()}
        means = {name: self._mean(one) for name, one in scores.items()}
        row: dict[str, Any] = {
            "candidate": candidate,
            "evaluator": evaluator,
            "task_model": task_model,
            "splits": {name: s_of(one, means[name], self._layout) for name, one in scores.items()},
            "vs_baseline": None,
            "gap": None,
            "overfit": None,
            "groups": self._groups(families, candidate),
            "worst": self._worst(scores[self._layout.deciding].cell),
        }
        if {"train", "val"} <= means.keys():
            gap = gap_between(means["train"], means["val"])
            row["gap"] = gap and g_of(gap, min(means["train"].n, means["val"].n))
        if candidate != self._layout.baseline:
            against = {name: self._against_baseline[family][candidate] for name, family in families.items()}
            row["vs_baseline"] = {
                name: d_of(one) | self._at_the_lower_bound(families[name], candidate)
                for name, one in against.items()
            }
            if {"train", "val"} <= against.keys():
                row["overfit"] = overfit_of(against["train"], against["val"])
        return row

    def _mean(self, scores: Scores, places: Sequence[int] | None = None) -> Mean:
        at = known(scores.means, places)
        clusters = self._splits[scores.cell.split].clusters
        return mean_of([scores.means[place] for place in at], clusters and [clusters[place] for place in at])

    def _compare_with_baseline(self, family: Family) -> dict[str, Comparison]:
        others = [name for name in self._layout.candidates if name != self._layout.baseline]
        compared = [self._compare(family, self._layout.baseline, name) for name in others]
        return dict(zip(others, corrected(compared), strict=True))

    def _compare(self, family: Family, a: str, b: str, places: Sequence[int] | None = None) -> Comparison:
        return compare(
            self._scores[family, a].means,
            self._scores[family, b].means,
            self._splits[family[2]].clusters,
            seed=self._layout.seed,
            may_flip=self._pairs <= MOST_FLIPPED_PAIRS,
            places=places,
        )

    def _all_pairs(self, family: Family) -> list[dict[str, Any]]:
        if self._pairs > MOST_PAIRS:
            return []
        names = list(combinations(self._layout.candidates, 2))
        baseline = self._layout.baseline
        known_already = self._against_baseline[family]
        compared = [known_already[b] if a == baseline else self._compare(family, a, b) for a, b in names]
        evaluator, task_model, split = family
        return [
            {"a": a, "b": b, "evaluator": evaluator, "task_model": task_model, "split": split, **d_of(one)}
            for (a, b), one in zip(names, corrected(compared), strict=True)
        ]

    def _at_the_lower_bound(self, family: Family, candidate: str) -> dict[str, Any]:
        """Say, where coverage is unequal, whether the candidate is ahead with failures as 0 as well."""
        pair = [self._scores[family, name] for name in (self._layout.baseline, candidate)]
        if pair[0].coverage == pair[1].coverage:
            return {}
        clusters = self._splits[family[2]].clusters
        return {"ahead_at_lower_bound": holds_at_the_lower_bound(pair[0], pair[1], clusters)}

    def _groups(self, families: Mapping[str, Family], candidate: str) -> dict[str, Any]:
        groups: dict[str, Any] = {}
        for path in self._layout.group_by:
            labels = {label for split in self._splits.values() for label in split.groups[path]}
            for label in sorted(labels):
                groups[f"{path}={label}"] = self._group(families, candidate, path, label)
        return groups

    def _group(self, families: Mapping[str, Family], candidate: str, path: str, label: str) -> dict[str, Any]:
        found: dict[str, Any] = {"splits": {}, "vs_baseline": {}}
        for name, family in families.items():
            places = [n for n, one in enumerate(self._splits[name].groups[path]) if one == label]
            mean = self._mean(self._scores[family, candidate], places)
            found["splits"][name] = {key: value for key, value in asdict(mean).items() if key != "df"}
            if candidate != self._layout.baseline:
                compared = self._compare(family, self._layout.baseline, candidate, places)
                found["vs_baseline"][name] = d_of(compared)
        return found

    def _worst(self, cell: Cell) -> list[dict[str, Any]]:
        """List the examples that got worse than the baseline, and why; of the baseline its lowest scores."""
        family = cell.evaluator, cell.task_model, cell.split
        means = self._scores[family, cell.candidate].means
        before = self._scores[family, self._layout.baseline].means
        split = self._splits[cell.split]
        return [
            {
                "split": split.name,
                "line": split.lines[place],
                "name": split.names[place] if split.names else "",
                "input": split.inputs[place] if split.inputs else "",
                "score": means[place],
                "baseline": _or_none(before[place]),
                "text": self._reason(cell, place),
            }
            for place in worst_places(means, None if cell.candidate == self._layout.baseline else before)
        ]

    def _reason(self, cell: Cell, example: int) -> str | None:
        start = example * self._layout.repeats
        units = range(start, start + self._layout.repeats)
        return reason_of_lowest([record for _, record in self._records(cell, units)])


def _leakage(splits: Sequence[Split]) -> int:
    """Count examples that are there to confirm, and were seen in a split that choices were made on."""
    seen: set[str] = set()
    leaked = 0
    for split in splits:  # train, val, test
        leaked += sum(digest in seen for digest in split.sha256)
        seen.update(split.sha256)
    return leaked


def _or_none(value: float) -> float | None:
    return value if value == value else None  # noqa: PLR0124  only NaN is not itself
