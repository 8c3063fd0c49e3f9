"""Does it generalise: the gap of a candidate's means, and the lost gain, both train minus val.

The splits differ in difficulty, so the headline is the lost gain: the gain over the baseline on train minus
that on val. It is called overfitting only where it is shown, and kept only where that is shown.
"""

from optimize_eval.base.frozen import frozen
from optimize_eval.statistics.estimates import Mean
from optimize_eval.statistics.paired import (
    CarryOver,
    Estimate,
    GapEstimate,
    PairedDifference,
    carry_over,
    gap_of,
)
from optimize_eval.statistics.power import ALPHA, can_decide

OVERFITS, PART_LOST, UNDECIDED, KEPT, NO_GAIN = "overfits", "part_lost", "undecided", "kept", "no_gain"
SHARE_KEPT = 0.5  # of the train gain, which at least has to carry over for a ✓


@frozen
class Lost:
    """The gain over the baseline on train and on val, and what became of it in between."""

    train: PairedDifference
    val: PairedDifference
    gap: GapEstimate | None
    p: float | None  # of the gap; where nothing varies, of the two tests
    carried: CarryOver | None

    @property
    def can_be_told(self) -> bool:
        return self.gap is not None and can_decide(self.train.units) and can_decide(self.val.units)


def gap_between(train: Mean, val: Mean) -> GapEstimate | None:
    """Compute how much lower the mean is on val; the splits may differ in difficulty."""
    a, b = _estimate(train.mean, train.se, train.df), _estimate(val.mean, val.se, val.df)
    return None if a is None or b is None else gap_of(a, b)


def lost_gain(train: PairedDifference, val: PairedDifference, comparisons: int = 1) -> Lost:
    """Compute how much of the gain over the baseline is lost from train to val.

    `comparisons` is the number of candidates whose carried shares have to hold together.
    """
    a, b = estimate_of(train), estimate_of(val)
    if a is None or b is None:
        return Lost(train=train, val=val, gap=None, p=None, carried=None)
    gap = gap_of(a, b)
    carried = carry_over(a, b, comparisons) if is_gain(train) else None
    return Lost(train=train, val=val, gap=gap, p=_p(gap, train), carried=carried)


def state_of(lost: Lost, p_holm: float | None) -> str | None:
    """Say what the lost gain may be called; None where there is too little to say anything."""
    if not lost.can_be_told or lost.gap is None:
        return None
    if not is_gain(lost.train):
        return NO_GAIN
    if _is_shown(lost, p_holm):
        return PART_LOST if is_gain(lost.val) else OVERFITS
    return KEPT if is_kept(lost.carried, lost.val) else UNDECIDED


def is_kept(carried: CarryOver | None, val: PairedDifference | None) -> bool:
    """Return True if enough of the gain is shown to carry over."""
    if carried is None:
        return False
    if carried.ci is None:
        return carried.share >= SHARE_KEPT and (val is None or is_gain(val))
    return carried.ci[0] >= SHARE_KEPT


def is_gain(d: PairedDifference) -> bool:
    """Return True if one comparison alone shows a gain: by its interval, else by its test."""
    if d.diff is None or d.diff <= 0:
        return False
    return d.ci[0] > 0 if d.ci else d.p is not None and d.p < ALPHA


def estimate_of(d: PairedDifference) -> Estimate | None:
    return _estimate(d.diff, d.se, d.df)


def _is_shown(lost: Lost, p_holm: float | None) -> bool:
    gap = lost.gap
    if gap is None or p_holm is None or p_holm >= ALPHA:
        return False
    return gap.value > 0 and (gap.ci is None or gap.ci[0] > 0)


def _p(gap: GapEstimate, train: PairedDifference) -> float | None:
    """Give the p of a lost gain; where neither split varies, it is as sure as the gain on train."""
    if gap.p is not None:
        return gap.p
    return train.p if gap.value > 0 else 1.0


def _estimate(value: float | None, se: float | None, df: float | None) -> Estimate | None:
    return None if value is None or se is None or df is None else (value, se, df)
