"""The summary of a run: everything that reports are made from, computed from the journal's records alone.

Reads each cell once, in the order of units, and puts the numbers of the other modules into the shape that
others rely on. What the numbers are called in words is verdict's.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any, Protocol

from optimize_eval.findings.additions import LeftOut, left_out_of, points_about, without
from optimize_eval.findings.claims.against import Against
from optimize_eval.findings.claims.choice import Half
from optimize_eval.findings.claims.duplicates import copies_in, with_copies_joined
from optimize_eval.findings.claims.families import Where
from optimize_eval.findings.claims.winner import claims_of
from optimize_eval.findings.latency import Latency
from optimize_eval.findings.measures import Measures, of_cells
from optimize_eval.findings.reasons import reason_of_lowest
from optimize_eval.findings.replies import judges_of
from optimize_eval.findings.scores import Reading, Scores, known, worst_places
from optimize_eval.findings.shapes import (
    d_of,
    despite_failures,
    failures_of,
    g_of,
    lost_of,
    m_of,
    s_of,
    where,
)
from optimize_eval.findings.sideinfo import SideInfo
from optimize_eval.findings.summary.compare import MOST_PAIRS
from optimize_eval.findings.summary.gap import gap_between
from optimize_eval.findings.summary.more_repeats import points_about_repeats
from optimize_eval.findings.summary.verdict import judge
from optimize_eval.protocol import ScoreRange
from optimize_eval.statistics.means import Mean, mean_of
from optimize_eval.statistics.units import Clusters
from optimize_eval.store.layout import Cell, Layout, Split
from optimize_eval.store.stored import StoredRun

SCHEMA = "optimize-eval.summary.v2"


class Records(Protocol):
    """A cell's newest records by their places in it, all or those at some places."""

    def __call__(
        self, cell: Cell, places: Iterable[int] | None = None, /
    ) -> Iterable[tuple[int, Mapping[str, Any]]]: ...


def summarise(
    layout: Layout,
    records: Records,
    changed: Iterable[str] = (),
    left_out: Sequence[LeftOut] = (),
    judges: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Compute the summary; `records` gives a cell's newest records by their places in it.

    `changed` are evaluators that were not the same program from the first call to the last; `left_out` are
    additions that the layout does not have; `judges` are the models of evaluators that are some.
    """
    told = {name: judges[name] for name in layout.evaluators if name in judges}
    return _Summary(layout, records).to_dict(sorted(changed), left_out, told)


def summarise_stored(run: StoredRun) -> dict[str, Any]:
    """Compute the summary of a run on disk."""
    left_out = left_out_of(run)
    layout = without(run.layout, left_out)
    changed = run.ledger.changed.intersection(layout.evaluators)
    with run.reader() as reader:
        summary = summarise(layout, reader.records, changed, left_out, judges_of(run.manifest))
    return {**summary, "spent": run.ledger.ledger.spending.to_dict()}


class _Summary:
    """The cells of one run, read, and what is made of them."""

    def __init__(self, layout: Layout, records: Records) -> None:
        self._layout = layout
        self._records = records
        self._splits = {split.name: with_copies_joined(split) for split in layout.splits}
        self._latency = Latency()
        self._side_info: dict[tuple[Where, str], dict[str, Any]] = {}
        self._scores: dict[tuple[Where, str], Scores] = {}
        self._measured: list[tuple[Cell, Measures]] = []
        for cell in layout.cells:
            self._read(cell, records(cell))
        self._against = Against(layout=layout, splits=self._splits, scores=self._scores)

    def to_dict(
        self, changed: Sequence[str], left_out: Sequence[LeftOut], judges: Mapping[str, str]
    ) -> dict[str, Any]:
        layout = self._layout
        rows = [
            self._row(evaluator, candidate, task_model)
            for evaluator in layout.evaluators
            for task_model in layout.task_models
            for candidate in layout.candidates
        ]
        summary: dict[str, Any] = {
            "schema": SCHEMA,
            "verdict": None,
            "baseline": layout.baseline,
            "decided_on": layout.deciding,
            "score_ranges": dict(zip(layout.evaluators, map(str, layout.score_ranges), strict=True)),
            "margins": dict(layout.margins),
            "judges": judges,
            "units": self._units(),
            "rows": rows,
            **claims_of(rows, self._halves(), self._against, layout),
            "pairs": [pair for where in self._families() for pair in self._all_pairs(where)],
            "pairs_left_out": self._against.pairs_in_all if self._against.pairs_in_all > MOST_PAIRS else 0,
            "leakage": _leakage(layout.splits),
            "duplicates": {split.name: many for split in layout.splits if (many := copies_in(split.sha256))},
            "clusters": {
                split.name: len(set(split.clusters)) for split in self._splits.values() if split.clusters
            },
            "changed": changed,
            "additions_left_out": left_out,
            "failures": [
                entry
                for (_, candidate), scores in self._scores.items()
                for entry in failures_of(candidate, scores)
            ],
            "side_info": list(self._side_info.values()),
            "latency": self._latency.to_list(),
            **of_cells((where(cell), one, self._splits[cell.split].clusters) for cell, one in self._measured),
        }
        summary["verdict"] = judge(summary, layout)
        summary["verdict"]["points"] += points_about(left_out)
        del summary["winner"]  # the verdict's, which a test split may take back
        summary["verdict"]["points"] += points_about_repeats(summary, layout)
        return summary

    def _families(self) -> Iterable[Where]:
        return dict.fromkeys(where for where, _ in self._scores)

    def _halves(self) -> dict[str, Half]:
        """Give the scores that the winner is chosen by, split by split."""
        layout = self._layout
        lead = layout.evaluators[0], layout.task_models[0]
        return {name: self._half(Where(*lead, name), split.clusters) for name, split in self._splits.items()}

    def _half(self, place: Where, clusters: Clusters) -> Half:
        scores = {name: self._scores[place, name] for name in self._layout.candidates}
        return Half(baseline=scores.pop(self._layout.baseline), others=scores, clusters=clusters)

    def _read(self, cell: Cell, records: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
        lines = self._splits[cell.split].lines
        repeats = self._layout.repeats
        reading = Reading(cell, lines, repeats, self._layout.score_range(cell.evaluator))
        side_info = SideInfo()
        measures = Measures(len(lines), repeats, self._layout.score_range(cell.evaluator))
        for place, record in records:
            reading.take(place, record)
            self._latency.take(cell, record)
            if record["outcome"] == "scored":
                side_info.take(record, lines[place // repeats])
                measures.take(place // repeats, record)
        self._measured.append((cell, measures))
        family = Where(cell.evaluator, cell.task_model, cell.split)
        self._scores[family, cell.candidate] = reading.done()
        self._side_info[family, cell.candidate] = {**where(cell), **side_info.to_dict()}

    def _units(self) -> dict[str, int]:
        counts = {
            outcome: sum(getattr(scores, outcome) for scores in self._scores.values())
            for outcome in ("scored", "failed", "skipped")
        }
        return {"total": self._layout.size, **counts, "owed": self._layout.size - sum(counts.values())}

    def _row(self, evaluator: str, candidate: str, task_model: str | None) -> dict[str, Any]:
        families = {name: Where(evaluator, task_model, name) for name in self._splits}
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
            row["vs_baseline"] = {name: self._d(family, candidate) for name, family in families.items()}
            if "val" in families and (lost := self._against.lost.get((families["val"], candidate))):
                row["overfit"] = lost_of(*lost)
        return row

    def _d(self, family: Where, candidate: str) -> dict[str, Any]:
        """Shape a comparison with the baseline: its power, its failures, its margin."""
        one = self._against.baseline[family, candidate]
        failing = self._against.failing.get((family, candidate))
        margin = m_of(
            one.difference,
            self._layout.margins.get(family.evaluator),
            self._layout.score_range(family.evaluator),
        )
        return {
            **d_of(one, with_power=family.split == self._layout.deciding),
            **(despite_failures(failing) if failing else {}),
            **({"margin": margin} if margin else {}),
        }

    def _mean(self, scores: Scores, places: Sequence[int] | None = None) -> Mean:
        at = known(scores.means, places)
        clusters = self._splits[scores.cell.split].clusters
        return mean_of(
            [scores.means[place] for place in at],
            clusters and [clusters[place] for place in at],
            is_unit=self._layout.score_range(scores.cell.evaluator) is ScoreRange.UNIT,
        )

    def _all_pairs(self, family: Where) -> list[dict[str, Any]]:
        return [
            {"a": a, "b": b, **family._asdict(), **d_of(one)} for a, b, one in self._against.pairs[family]
        ]

    def _groups(self, families: Mapping[str, Where], candidate: str) -> dict[str, Any]:
        groups: dict[str, Any] = {}
        for name, family in families.items():
            for path, label, places in self._against.group_places(name):
                found = groups.setdefault(f"{path}={label}", {"splits": {}, "vs_baseline": {}})
                mean = self._mean(self._scores[family, candidate], places)
                found["splits"][name] = {key: value for key, value in asdict(mean).items() if key != "df"}
                if candidate != self._layout.baseline:
                    compared = self._against.groups[family, candidate, path, label]
                    found["vs_baseline"][name] = d_of(compared)
        return groups

    def _worst(self, cell: Cell) -> list[dict[str, Any]]:
        """List the examples that got worse than the baseline, and why; of the baseline its lowest scores."""
        family = Where(cell.evaluator, cell.task_model, cell.split)
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
