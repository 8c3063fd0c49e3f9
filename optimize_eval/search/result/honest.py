"""What may be claimed of a candidate that was chosen among all that val saw: corrected for that choice.

The test is that of a run's summary, its p times the number of candidates that val saw (Bonferroni, which
for the smallest p is Holm's correction); the gain beside it is cross-fitted over all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import fsum, nan
from typing import Any

from optimize_eval.findings.metrics import counts_as
from optimize_eval.findings.summary import compare
from optimize_eval.findings.summary.compare import Comparison
from optimize_eval.frozen import frozen
from optimize_eval.search.goal import Goal
from optimize_eval.statistics.paired import PairedDifference
from optimize_eval.statistics.selection import CrossFitted, cross_fitted
from optimize_eval.statistics.units import Clusters
from optimize_eval.store.layout import Layout
from optimize_eval.store.ledger import is_unranked
from optimize_eval.store.stored import StoredRun

Values = list[float]  # by example, NaN where there is no score


@frozen
class Measured:
    """What a candidate is worth on the examples of a split: with failures left out, as 0, and as 1."""

    values: Values
    lows: Values
    highs: Values
    failed: int

    @property
    def mean(self) -> float | None:
        numbers = [value for value in self.values if value == value]  # noqa: PLR0124  only NaN is not itself
        return fsum(numbers) / len(numbers) if numbers else None


@frozen
class Judged:
    """The best candidate against the seed, chosen among `among`."""

    comparison: Comparison
    crossfit: CrossFitted | None
    among: int
    is_better: bool
    holds_if_failures_count: bool

    @property
    def difference(self) -> PairedDifference:
        return self.comparison.difference


def measured(run: StoredRun, goal: Goal, split: str) -> dict[str, Measured]:
    """Read what every candidate of a run is worth on a split, by the goal."""
    layout = run.layout
    with run.reader(counts_as(run)) as reader:
        cells = {
            (cell.candidate, cell.evaluator): dict(reader.records(cell))
            for cell in layout.cells
            if cell.split == split
        }
    return {name: _measured(cells, name, goal, layout, split) for name in layout.candidates}


def judged(
    best: Measured,
    seed: Measured,
    *,
    among: int,
    gains: Mapping[str, Sequence[float]],
    chosen: str,
    goal: Goal,
    clusters: Clusters,
    random_seed: int,
) -> Judged:
    """Compare the best with the seed; `gains` are those of all candidates, as the search saw them."""
    one = _compared(seed.values, best.values, among, clusters, random_seed)
    holds = True
    if best.failed or seed.failed:
        worst = _compared(seed.highs, best.lows, among, clusters, random_seed)
        holds = goal.is_unit and worst.mark == compare.BETTER
    crossfit = None
    if among > 1 and chosen in gains and one.difference.se is not None:
        whole = clusters if clusters and len(clusters) == len(gains[chosen]) else None
        crossfit = cross_fitted(gains, whole, seed=random_seed, naive_se=one.difference.se)
    return Judged(
        comparison=one,
        crossfit=crossfit,
        among=among,
        is_better=one.mark == compare.BETTER and holds,
        holds_if_failures_count=holds,
    )


def _compared(a: Values, b: Values, among: int, clusters: Clusters, seed: int) -> Comparison:
    one = compare.compare(a, b, clusters, seed=seed, may_flip=True)
    p = one.difference.p
    return one if p is None else replace(one, p_holm=min(1.0, p * among), comparisons=among)


Records = Mapping[tuple[str, str], Mapping[int, Mapping[str, Any]]]  # of a split's cells, by place


def _measured(cells: Records, name: str, goal: Goal, layout: Layout, split: str) -> Measured:
    climbed = [(cells[name, goal.names[place]], goal.weights[place]) for place in goal.climbed]
    size, repeats = len(layout.split(split).lines), layout.repeats
    weighted = [[(cell.get(place), weight) for cell, weight in climbed] for place in range(size * repeats)]

    def by_example(failure: float | None) -> Values:
        worth = [_worth(one, failure) for one in weighted]
        return [_mean(worth[at * repeats : (at + 1) * repeats]) for at in range(size)]

    return Measured(
        values=by_example(None),
        lows=by_example(0.0),
        highs=by_example(1.0),
        failed=sum(any(_is_failed(record) for record, _ in one) for one in weighted),
    )


def _worth(weighted: Sequence[tuple[Mapping[str, Any] | None, float]], failure: float | None) -> float | None:
    """Put one repeat's scores together; a failure counts as so much, or leaves none."""
    if failure is None and any(_is_failed(record) for record, _ in weighted):
        return None
    scores = [
        (float(record.get("score", failure)), weight)
        for record, weight in weighted
        if record and record["outcome"] != "skipped" and not _is_label(record)
    ]
    if not scores:
        return None
    return fsum(score * weight for score, weight in scores) / fsum(weight for _, weight in scores)


def _is_label(record: Mapping[str, Any]) -> bool:
    return record["outcome"] == "scored" and is_unranked(record)


def _is_failed(record: Mapping[str, Any] | None) -> bool:
    return record is not None and record["outcome"] == "failed"


def _mean(worth: Sequence[float | None]) -> float:
    numbers = [value for value in worth if value is not None]
    return fsum(numbers) / len(numbers) if numbers else nan
