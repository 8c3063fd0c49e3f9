"""What independent units a list of values is made of: examples, or clusters of them."""

import math
import operator
from collections.abc import Hashable, Sequence
from itertools import groupby

ROUNDING = 1e-12

Clusters = Sequence[Hashable] | None


def centre(values: Sequence[float]) -> float | None:
    """Average; None where there is nothing, or numbers near the end of what a float holds."""
    try:
        mean = math.fsum(values) / len(values)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    return mean if math.isfinite(mean) else None


def spread(values: Sequence[float], mean: float, clusters: Clusters) -> tuple[float, int] | None:
    """Compute the standard error of a mean and its degrees of freedom, by clusters where there are some."""
    n = len(values)
    try:
        sums = unit_sums([value - mean for value in values], clusters)
        squares = math.fsum([total**2 for total in sums])
    except (OverflowError, ValueError):
        return None
    units = len(sums)
    if units < 2:  # noqa: PLR2004  one value tells nothing of how values vary
        return None
    se = math.sqrt(units / (units - 1) * squares) / n
    if not math.isfinite(se):
        return None
    is_noise = se <= ROUNDING * max(map(abs, values))  # of summing the same number again and again
    return 0.0 if is_noise else se, units - 1


def unit_sums(values: Sequence[float], clusters: Clusters) -> list[float]:
    """Sum by cluster; without clusters each value is a unit of its own."""
    if clusters is None:
        return list(values)
    order = {cluster: place for place, cluster in enumerate(dict.fromkeys(clusters))}
    rows = sorted(
        zip((order[cluster] for cluster in clusters), values, strict=True), key=operator.itemgetter(0)
    )
    return [math.fsum(value for _, value in rows) for _, rows in groupby(rows, key=operator.itemgetter(0))]


def unit_count(n: int, clusters: Clusters) -> int:
    """Count the independent units among n values."""
    return n if clusters is None else len(set(clusters))
