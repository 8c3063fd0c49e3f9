"""The winner, what its gain is once the flattery of the choice is taken out, and how much of it carries over.

Beating the baseline is decided by the corrected test; the choice among several candidates makes the number
beside it too high, so the number is cross-fitted.
"""

import math
from array import array
from collections.abc import Mapping, Sequence

from optimize_eval.findings.claims.failures import lower_bounds, upper_bounds
from optimize_eval.findings.rows import marked, survives_failures
from optimize_eval.findings.scores import Scores, Values
from optimize_eval.findings.shapes.row import Row
from optimize_eval.findings.shapes.summary import (
    CrossFittedGain,
    LostInShort,
    NaiveGain,
    WinnersCarryOver,
    WinnersSelection,
)
from optimize_eval.findings.summary import compare, gap
from optimize_eval.frozen import frozen
from optimize_eval.statistics.carry_over import CarryOver, carry_over
from optimize_eval.statistics.gaps import Estimate, GapEstimate, gap_of
from optimize_eval.statistics.paired import PairedDifference, difference_of
from optimize_eval.statistics.selection import CrossFitted, cross_fitted, mixture
from optimize_eval.statistics.units import Clusters

Gains = Mapping[str, Sequence[float]]  # over the baseline, by candidate and example, NaN where there is none


@frozen
class Half:
    """All candidates' scores on one split, the baseline apart; what was skipped for all takes no part."""

    baseline: Scores
    others: Mapping[str, Scores]
    clusters: Clusters  # of all examples

    @property
    def applying(self) -> Sequence[int]:
        """List the examples that have a call which was not skipped."""
        every = (self.baseline, *self.others.values())
        places = range(len(self.baseline.means))
        if not all(scores.skipped for scores in every):
            return places
        return [place for place in places if not all(one.has_only_skips(place) for one in every)]

    @property
    def units(self) -> Clusters:
        """Give the clusters of these examples."""
        return self.clusters and [self.clusters[place] for place in self.applying]

    @property
    def has_failures(self) -> bool:
        return any(scores.failed for scores in (self.baseline, *self.others.values()))

    def gains(self) -> Gains:
        return self._over(self.baseline.means, {name: one.means for name, one in self.others.items()})

    def least_gains(self) -> Gains | None:
        """Count a candidate's failures as 0 and the baseline's as 1."""
        top = upper_bounds(self.baseline)
        ends = {name: lower_bounds(one) for name, one in self.others.items()}
        if top is None or None in ends.values():
            return None
        return self._over(top, {name: one for name, one in ends.items() if one is not None})

    def most_gains(self) -> Gains | None:
        low = lower_bounds(self.baseline)
        ends = {name: upper_bounds(one) for name, one in self.others.items()}
        if low is None or None in ends.values():
            return None
        return self._over(low, {name: one for name, one in ends.items() if one is not None})

    def _over(self, before: Values, others: Mapping[str, Values]) -> Gains:
        places = self.applying
        return {name: array("d", (after[at] - before[at] for at in places)) for name, after in others.items()}


def winner_of(rows: Sequence[Row], split: str) -> Row | None:
    """Find the best candidate that may be called better, also with its failures held against it."""
    better = [row for row in marked(rows, split, compare.BETTER) if survives_failures(row, split)]
    if len({row.splits[split].coverage for row in better}) > 1:
        return max(better, key=lambda row: _lower_bound(row, split))
    return better[0] if better else None


def _lower_bound(row: Row, split: str) -> float:
    """Give the mean with failures as 0, which scores of a candidate that survives failures have."""
    low, _ = row.splits[split].bounds or (None, None)
    return -math.inf if low is None else low


def cross_fit(half: Half, candidate: str, seed: int) -> CrossFitted | None:
    """Measure what the choice among the candidates gains; `candidate` is the one that was chosen."""
    return _cross_fit(half.gains(), candidate, half.units, seed)


def selection_of(k: int, row: Row, split: str, found: CrossFitted | None) -> WinnersSelection:
    """Shape what summary.json says of the choice."""
    naive = row.difference(split)
    return WinnersSelection(
        k=k,
        candidate=row.candidate,
        naive=NaiveGain(diff=naive.diff, se=naive.se, ci=naive.ci),
        crossfit=_cross_fitted_gain(found) if found else None,
    )


def _cross_fitted_gain(found: CrossFitted) -> CrossFittedGain:
    return CrossFittedGain(
        diff=found.diff,
        se=found.se,
        ci=found.ci,
        df=found.df,
        n_pairs=found.n_pairs,
        chosen=found.chosen,
    )


@frozen
class Kept:
    """How much of a winner's train gain is there on val, cross-fitted where val chose it."""

    lost: GapEstimate
    carried: CarryOver | None
    is_kept: bool

    def carry_over(self) -> WinnersCarryOver:
        return WinnersCarryOver(
            share=self.carried.share if self.carried else None,
            ci=self.carried.ci if self.carried else None,
            lost=LostInShort(value=self.lost.value, ci=self.lost.ci),
            kept=self.is_kept,
        )


def kept_of(train: Half, val: Half, candidate: str, *, margin: float | None, seed: int) -> Kept | None:
    """Say how much of the train gain carries over; with failures it has to hold at their ends, too."""
    found = _kept(train.gains(), val.gains(), (train.units, val.units), candidate, margin, seed)
    if found is None or not (train.has_failures or val.has_failures):
        return found
    ends = train.most_gains(), val.least_gains()
    if ends[0] is None or ends[1] is None:
        return Kept(lost=found.lost, carried=found.carried, is_kept=False)
    worst = _kept(ends[0], ends[1], (train.units, val.units), candidate, margin, seed)
    is_kept = found.is_kept and worst is not None and worst.is_kept
    return Kept(lost=found.lost, carried=found.carried, is_kept=is_kept)


def _kept(
    train: Gains,
    val: Gains,
    clusters: tuple[Clusters, Clusters],
    candidate: str,
    margin: float | None,
    seed: int,
) -> Kept | None:
    fitted = _cross_fit(val, candidate, clusters[1], seed) if len(val) > 1 else None
    if fitted:
        here: Estimate | None = (fitted.diff, fitted.se, fitted.df)
        there = _plain(mixture(train, fitted.chosen), clusters[0])
    else:
        here, there = (
            gap.estimate_of(_plain(val[candidate], clusters[1])),
            _plain(train[candidate], clusters[0]),
        )
    before = gap.estimate_of(there)
    if here is None or before is None or not gap.is_gain(there):
        return None
    lost, carried = gap_of(before, here), carry_over(before, here)
    return Kept(lost=lost, carried=carried, is_kept=gap.is_kept(lost, carried, None, margin))


def _cross_fit(gains: Gains, candidate: str, clusters: Clusters, seed: int) -> CrossFitted | None:
    se = _plain(gains[candidate], clusters).se
    return None if se is None else cross_fitted(gains, clusters, seed=seed, naive_se=se)


def _plain(gains: Sequence[float], clusters: Clusters) -> PairedDifference:
    """Estimate a mean gain; its p is not drawn."""
    at = [place for place, gain in enumerate(gains) if gain == gain]  # noqa: PLR0124  only NaN is not itself
    nothing = [0.0] * len(at)
    known = [gains[place] for place in at]
    return difference_of(nothing, known, clusters and [clusters[place] for place in at], may_flip=False)
