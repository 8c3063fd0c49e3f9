"""Means over examples with standard errors and intervals; the noise between repeats.

The unit of analysis is the example: repeats are averaged before anything here sees them. Clusters are
groups of examples that belong together (one document, say); they widen intervals. Miller 2024
(arXiv 2411.00640), Bowyer et al. 2025 (arXiv 2503.01747).
"""

import math
from collections.abc import Iterable, Sequence

from optimize_eval.base.frozen import frozen
from optimize_eval.statistics.intervals import Interval, around, wilson, wilson_effective
from optimize_eval.statistics.units import Clusters, centre, spread


@frozen
class Mean:
    """A mean over examples; what too few examples cannot tell is None, never 0."""

    mean: float | None
    se: float | None
    ci: Interval | None
    method: str | None
    n: int
    df: float | None = None  # of the standard error


def mean_of(values: Sequence[float], clusters: Clusters = None, *, is_unit: bool = False) -> Mean:
    """Estimate the mean of what the examples were drawn from; `is_unit` where scores are from 0 to 1."""
    n = len(values)
    mean = centre(values)
    if mean is None:
        return Mean(mean=None, se=None, ci=None, method=None, n=n)
    se_and_df = spread(values, mean, clusters)
    if se_and_df is None:
        return Mean(mean=mean, se=None, ci=None, method=None, n=n)
    se, df = se_and_df
    ci, method = _interval(values, mean, se, df, is_clustered=clusters is not None, is_unit=is_unit)
    return Mean(mean=mean, se=se, ci=ci, method=method, n=n, df=df)


def within_sd(repeats: Sequence[Sequence[float]]) -> float | None:
    """Estimate how much one example's score varies when it is called again: the noise floor."""
    freedom = sum(max(0, len(scores) - 1) for scores in repeats)
    try:
        sd = math.sqrt(math.fsum(map(_squares, repeats)) / freedom)
    except (ZeroDivisionError, OverflowError):
        return None
    return sd if math.isfinite(sd) else None


def spread_of(values: Sequence[float]) -> float | None:
    """Compute a standard deviation; None where there is none."""
    return within_sd([values])


def pooled_sd(spreads: Iterable[tuple[float, int]]) -> float:
    """Put standard deviations, each with how much it counts, together to one."""
    estimates = list(spreads)
    total = sum(weight for _, weight in estimates)
    return math.sqrt(math.fsum(weight * sd**2 for sd, weight in estimates) / total) if total else 0.0


def _interval(
    values: Sequence[float], mean: float, se: float, df: int, *, is_clustered: bool, is_unit: bool
) -> tuple[Interval | None, str | None]:
    n = len(values)
    is_share = all(value in {0, 1} for value in values)
    if is_share and not is_clustered:
        return wilson(mean, n), "wilson"
    if is_unit:
        most = float(n) if is_share else None
        return wilson_effective(mean, se, units=df + 1, df=df, most=most), "wilson_effective"
    if not se:
        return None, None  # nothing varies, and the range has no ends to reach for
    return around(mean, se, df), "cluster_t" if is_clustered else "t"


def _squares(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values) if values else 0.0
    return math.fsum((value - mean) ** 2 for value in values)
