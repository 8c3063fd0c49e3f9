"""The winner, the interval of what it was picked for, and how much of it carries over.

The best of several owes part of its lead to luck, so its plain gain is optimistic. The lower end of its
interval is not: it holds for all that were tried at once, whichever of them was picked.
"""

import math
from collections.abc import Sequence

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.claims.failures import are_held_against, counted_as
from optimize_eval.findings.rows import marked, survives_failures
from optimize_eval.findings.scores import Scores, Values
from optimize_eval.findings.shapes.row import Row
from optimize_eval.findings.shapes.summary import LostInShort, WinnersCarryOver, WinnersSelection
from optimize_eval.findings.summary import compare, gap
from optimize_eval.statistics.estimates import Clusters, around_the_best
from optimize_eval.statistics.paired import CarryOver, GapEstimate, PairedDifference, carry_over, gap_of


@frozen
class Half:
    """The baseline's and the winner's scores on one split."""

    baseline: Scores
    winner: Scores
    clusters: Clusters
    is_unit: bool

    @property
    def has_failures(self) -> bool:
        return are_held_against(self.baseline, self.winner)

    @property
    def gain(self) -> PairedDifference | None:
        return self._between(self.baseline.means, self.winner.means)

    @property
    def least_gain(self) -> PairedDifference | None:
        """Count the winner's failures, and what was skipped for it alone, as 0 and the baseline's as 1."""
        return self._at_ends(1.0, 0.0)

    @property
    def most_gain(self) -> PairedDifference | None:
        return self._at_ends(0.0, 1.0)

    def _at_ends(self, baseline: float, winner: float) -> PairedDifference | None:
        return self._between(
            counted_as(baseline, self.baseline, self.winner, is_unit=self.is_unit),
            counted_as(winner, self.winner, self.baseline, is_unit=self.is_unit),
        )

    def _between(self, before: Values | None, after: Values | None) -> PairedDifference | None:
        """Estimate a mean gain; its p is not drawn."""
        if before is None or after is None:
            return None
        return compare.compare(before, after, self.clusters, seed=0, may_flip=False).difference


def winner_of(rows: Sequence[Row], split: str, tried: int) -> Row | None:
    """Find the best candidate that is better, also as the best of so many and if failures count."""
    better = [
        row
        for row in marked(rows, split, compare.BETTER)
        if survives_failures(row, split) and _is_above_0(row, split, tried)
    ]
    if len({row.splits[split].coverage for row in better}) > 1:
        return max(better, key=lambda row: _lower_bound(row, split))
    return better[0] if better else None


def _is_above_0(row: Row, split: str, tried: int) -> bool:
    """Return True if the interval of the best of so many lies above 0, or there is none."""
    ci = selection_of(row, split, tried, tried).ci
    return ci is None or ci[0] > 0


def _lower_bound(row: Row, split: str) -> float:
    """Give the mean with failures as 0, which scores of a candidate that survives failures have."""
    low, _ = row.splits[split].bounds or (None, None)
    return -math.inf if low is None else low


def selection_of(row: Row, split: str, k: int, tried: int) -> WinnersSelection:
    """Give the gain of a candidate as the best of `k`, by an interval that holds for as many as `tried`."""
    d = row.difference(split)
    ci = None
    if d.diff is not None and d.se and d.ci is not None:
        ci = around_the_best(d.diff, d.se, d.units - 1, tried)
    return WinnersSelection(k=k, candidate=row.candidate, diff=d.diff, se=d.se, ci=ci)


@frozen
class Kept:
    """How much of a winner's train gain is there on val; the intervals hold for all that were tried."""

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


def kept_of(train: Half, val: Half, *, tried: int) -> Kept | None:
    """Say how much of the train gain carries over; with failures it has to hold at their ends, too."""
    kept = _kept(train.gain, val.gain, tried)
    if kept is None or not (train.has_failures or val.has_failures):
        return kept
    worst = _kept(train.most_gain, val.least_gain, tried)
    is_kept = kept.is_kept and worst is not None and worst.is_kept
    return Kept(lost=kept.lost, carried=kept.carried, is_kept=is_kept)


def _kept(train: PairedDifference | None, val: PairedDifference | None, tried: int) -> Kept | None:
    if train is None or val is None or not gap.is_gain(train):
        return None
    before, here = gap.estimate_of(train), gap.estimate_of(val)
    if before is None or here is None:
        return None
    lost, carried = gap_of(before, here, tried), carry_over(before, here, tried)
    return Kept(lost=lost, carried=carried, is_kept=gap.is_kept(carried, None))
