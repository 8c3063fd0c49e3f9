"""Does it generalize: train against val, as a gap of means and as overfit, the gap of gains."""

from optimize_eval.aggregates.compare import FEWEST_PAIRS
from optimize_eval.aggregates.statistics import Difference, Gap, Mean, gap_of

OVERFITS, NO_GAP_SHOWN, UNDECIDED, NO_TRAIN_GAIN = "overfits", "no_gap_shown", "undecided", "no_train_gain"


def gap_between(train: Mean, val: Mean) -> Gap | None:
    """Compute how much lower the mean is on val; the splits may differ in difficulty."""
    if None in {train.mean, train.se, train.df, val.mean, val.se, val.df}:
        return None
    return gap_of(_estimate(train.mean, train.se, train.df), _estimate(val.mean, val.se, val.df))


def overfit_of(train: Difference, val: Difference) -> Gap | None:
    """Compute how much of the gain over the baseline does not carry over from train to val."""
    if None in {train.diff, train.se, train.df, val.diff, val.se, val.df}:
        return None
    return gap_of(_estimate(train.diff, train.se, train.df), _estimate(val.diff, val.se, val.df))


def may_flag(gap: Gap, fewest: int) -> bool:
    """Tell whether there is enough to say anything by an interval."""
    return gap.se > 0 and fewest >= FEWEST_PAIRS


def state_of(overfit: Gap | None, train: Difference, val: Difference) -> str | None:
    """Say what the overfit may be called; None where there is too little to say anything."""
    if overfit is None or train.diff is None or not may_flag(overfit, min(train.n_pairs, val.n_pairs)):
        return None
    if train.diff <= 0:
        return NO_TRAIN_GAIN
    if overfit.ci[0] > 0:
        carries_over = val.ci is not None and val.ci[0] > 0
        return UNDECIDED if carries_over else OVERFITS
    return NO_GAP_SHOWN if overfit.ci[1] < train.diff else UNDECIDED


def _estimate(value: float | None, se: float | None, df: float | None) -> tuple[float, float, float]:
    return value or 0.0, se or 0.0, df or 0.0
