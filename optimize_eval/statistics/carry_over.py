"""How much of a gain carries over from train to val: the ratio of two independent differences (Fieller)."""

import math

from optimize_eval.base.frozen import frozen
from optimize_eval.statistics import student
from optimize_eval.statistics.gaps import Estimate, satterthwaite
from optimize_eval.statistics.intervals import Interval

ALPHA = 0.05


@frozen
class CarryOver:
    """The share of the train gain that is there on val; no interval where nothing varies."""

    share: float
    ci: Interval | None


def carry_over(train: Estimate, val: Estimate, comparisons: int = 1) -> CarryOver | None:
    """Divide the val gain by the train gain; None where the train gain is not clearly above 0.

    With `comparisons` the intervals of as many candidates hold together.
    """
    (gain, se_t, df_t), (kept, se_v, df_v) = train, val
    if gain <= 0:
        return None
    share = kept / gain
    if not se_t and not se_v:
        return CarryOver(share=share, ci=None)
    df = satterthwaite(se_v**2, df_v, (share * se_t) ** 2, df_t)
    t = student.quantile(1 - ALPHA / comparisons / 2, df)
    a, c = gain**2 - (t * se_t) ** 2, kept**2 - (t * se_v) ** 2
    if a <= 0:
        return None  # a gain that may be 0 has no share
    reach = math.sqrt(max(0.0, (gain * kept) ** 2 - a * c))
    return CarryOver(share=share, ci=((gain * kept - reach) / a, (gain * kept + reach) / a))
