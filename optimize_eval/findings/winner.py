"""The winner, the interval of what it was picked for, and how much of it carries over.

The best of several owes part of its lead to luck, so its plain gain is optimistic. The lower end of its
interval is not: it holds for all that were tried at once, whichever of them was picked.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings import comparison
from optimize_eval.findings.against import Against
from optimize_eval.findings.cells import CellFamily, Scores, Values
from optimize_eval.findings.comparison import are_held_against, counted_as
from optimize_eval.findings.difference_words import is_primary, marked, survives_failures
from optimize_eval.findings.summary_parts import Row
from optimize_eval.findings.summary_shape import LostInShort, WinnersCarryOver, WinnersSelection
from optimize_eval.statistics.differences import CarriedShare, ScoreDifference, ScoreGap, carry_over, gap_of
from optimize_eval.statistics.estimates import Clusters, around_the_best
from optimize_eval.store.layout import SINGLE, Layout


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
    def gain(self) -> ScoreDifference | None:
        return self._between(self.baseline.means, self.winner.means)

    @property
    def least_gain(self) -> ScoreDifference | None:
        """Count the winner's failures, and what was skipped for it alone, as 0 and the baseline's as 1."""
        return self._at_ends(1.0, 0.0)

    @property
    def most_gain(self) -> ScoreDifference | None:
        return self._at_ends(0.0, 1.0)

    def _at_ends(self, baseline: float, winner: float) -> ScoreDifference | None:
        return self._between(
            counted_as(baseline, self.baseline, self.winner, is_unit=self.is_unit),
            counted_as(winner, self.winner, self.baseline, is_unit=self.is_unit),
        )

    def _between(self, before: Values | None, after: Values | None) -> ScoreDifference | None:
        """Estimate a mean gain; its p is not drawn."""
        if before is None or after is None:
            return None
        return comparison.compare(before, after, self.clusters, seed=0, may_flip=False)


def winner_of(rows: Sequence[Row], split: str, tried: int) -> Row | None:
    """Find the best candidate that is better, also as the best of so many and if failures count."""
    better = [
        row
        for row in marked(rows, split, comparison.BETTER)
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

    lost: ScoreGap
    carried: CarriedShare | None
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


def _kept(train: ScoreDifference | None, val: ScoreDifference | None, tried: int) -> Kept | None:
    if train is None or val is None or not comparison.is_gain(train):
        return None
    before, here = comparison.estimate_of(train), comparison.estimate_of(val)
    if before is None or here is None:
        return None
    lost, carried = gap_of(before, here, tried), carry_over(before, here, tried)
    return Kept(lost=lost, carried=carried, is_kept=comparison.is_kept(carried, None))


MOST_BOUNDED = 20_000  # pairs of scores in all, about a second; above it no bound is told


@frozen
class Claims:
    """What a verdict says, before it has words; among `rows` the winner's knows what is shown."""

    rows: tuple[Row, ...]
    winner: str | None
    selection: WinnersSelection | None
    not_told_apart: tuple[str, ...]
    carry_over: WinnersCarryOver | None
    largest_gain: float | None


def claims_of(rows: Sequence[Row], against: Against, layout: Layout) -> Claims:
    """Compute them; a winner's own row learns what is shown of its lost gain."""
    primary = [row for row in rows if is_primary(row, layout)]
    tried = against.tried_among
    winner = winner_of(primary, layout.deciding, tried)
    kept = None
    if winner and {"train", "val"} <= winner.splits.keys():
        kept = _share_kept(winner.candidate, tried, against, layout)
        is_kept = kept is not None and kept.is_kept
        rows = [_settled(row, is_kept=is_kept) if row is winner else row for row in rows]
    return Claims(
        rows=tuple(rows),
        winner=winner.candidate if winner else None,
        selection=_selection(primary, winner, against, layout),
        not_told_apart=tuple(_not_told_apart(primary, winner, against, layout)) if winner else (),
        carry_over=kept.carry_over() if kept else None,
        largest_gain=_largest_gain(primary, against, layout),
    )


def _primary(layout: Layout) -> CellFamily:
    return CellFamily(layout.evaluators[0], layout.task_models[0], layout.deciding)


def _largest_gain(primary: Sequence[Row], against: Against, layout: Layout) -> float | None:
    """Give what no candidate's true gain exceeds, where none is better and nothing hides or chose scores.

    Whose gain is the largest is no matter of chance, so its own bound is enough: nothing to correct.
    """
    differences = [d for row in primary if (d := row.against_baseline(layout.deciding))]
    is_bounded = layout.score_range(layout.evaluators[0]) is ScoreRange.UNIT
    is_open = against.is_held_out and against.tried.can_confirm and against.tried.is_first_verdict
    if not (differences and is_bounded and is_open) or layout.deciding == SINGLE:
        return None
    if sum(d.n_pairs for d in differences) > MOST_BOUNDED or not all(map(_may_be_bounded, differences)):
        return None
    ends = {
        row.candidate: d.ci or (0.0, 0.0) for row in primary if (d := row.against_baseline(layout.deciding))
    }
    highest = against.highest(_primary(layout), sorted(ends, key=lambda name: -ends[name][1]))
    return highest if highest <= 1 else None


def _may_be_bounded(d: ScoreDifference) -> bool:
    is_whole = d.despite_failures is None and d.over_all_rows is None
    return is_whole and d.se is not None and d.mark != comparison.BETTER


def _share_kept(candidate: str, tried: int, against: Against, layout: Layout) -> Kept | None:
    """Say how much of the winner's train gain is there on val."""
    train, val = (
        _half(_primary(layout)._replace(split=split), candidate, against) for split in ("train", "val")
    )
    return kept_of(train, val, tried=tried)


def _half(where: CellFamily, candidate: str, against: Against) -> Half:
    return Half(
        baseline=against.scores[where, against.layout.baseline],
        winner=against.scores[where, candidate],
        clusters=against.splits[where.split].clusters,
        is_unit=against.layout.score_range(where.evaluator) is ScoreRange.UNIT,
    )


def _settled(winner: Row, *, is_kept: bool) -> Row:
    """Call a winner's gain kept only by the numbers that its choice did not flatter."""
    overfit = winner.overfit
    if overfit is None or overfit.state not in {comparison.KEPT, comparison.UNDECIDED}:
        return winner
    return replace(
        winner, overfit=replace(overfit, state=comparison.KEPT if is_kept else comparison.UNDECIDED)
    )


def _selection(
    primary: Sequence[Row], winner: Row | None, against: Against, layout: Layout
) -> WinnersSelection | None:
    """Name the best one's gain; where nothing was chosen, nothing."""
    split = layout.deciding
    gains = [(d.diff, row) for row in primary if (d := row.against_baseline(split)) and d.diff is not None]
    if against.compared <= 1 or not gains:
        return None
    best = winner or max(gains, key=lambda gain: gain[0])[1]
    return selection_of(best, split, against.compared, against.tried_among)


def _not_told_apart(primary: Sequence[Row], winner: Row, against: Against, layout: Layout) -> Iterator[str]:
    """Name the candidates that no corrected test tells from the winner, the best first."""
    name, split = winner.candidate, layout.deciding
    where = _primary(layout)
    pairs = against.pairs[where]
    if pairs:
        marks = {frozenset((a, b)): one.mark for a, b, one in pairs}
        apart = {other: marks[frozenset((name, other))] for other in layout.candidates if other != name}
    else:
        apart = against.apart_from(where, name)
    rows = sorted(primary, key=lambda row: -(row.splits[split].mean or 0.0))
    for row in rows:
        other = row.candidate
        if other not in {name, layout.baseline} and apart[other] not in {comparison.BETTER, comparison.WORSE}:
            yield other
