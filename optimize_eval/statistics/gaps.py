"""The difference of two independent estimates: Welch's interval with Satterthwaite's degrees of freedom."""

import math

from optimize_eval.base.frozen import frozen
from optimize_eval.statistics import student
from optimize_eval.statistics.intervals import LEVEL, Interval

Estimate = tuple[float, float, float]  # value, standard error, degrees of freedom


@frozen
class GapEstimate:
    """The difference of two independent estimates; where neither varies there is no interval and no p."""

    value: float
    se: float
    ci: Interval | None
    df: float
    p: float | None

    @property
    def excludes_zero(self) -> bool:
        return self.ci is not None and (self.ci[0] > 0 or self.ci[1] < 0)


def gap_of(first: Estimate, second: Estimate, comparisons: int = 1) -> GapEstimate:
    """Subtract two independent estimates (value, se, df), second from first.

    With `comparisons` the intervals of as many candidates hold together.
    """
    (a, se_a, df_a), (b, se_b, df_b) = first, second
    se = math.hypot(se_a, se_b)
    df = satterthwaite(se_a**2, df_a, se_b**2, df_b)
    if not se:
        return GapEstimate(value=a - b, se=0.0, ci=None, df=df, p=None)
    p = student.two_sided_p((a - b) / se, df)
    reach = student.quantile(1 - (1 - LEVEL) / comparisons, df) * se
    return GapEstimate(value=a - b, se=se, ci=(a - b - reach, a - b + reach), df=df, p=p)


def satterthwaite(variance_a: float, df_a: float, variance_b: float, df_b: float) -> float:
    """Give the degrees of freedom of the sum of two variances."""
    total = variance_a + variance_b
    parts = (variance_a / total) ** 2 / df_a + (variance_b / total) ** 2 / df_b if total else 0.0
    return 1 / parts if parts else math.inf
