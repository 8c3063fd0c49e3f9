"""Intervals of 95 % around an estimate: Student's t, and Wilson's for scores between 0 and 1.

Wilson 1927. Where scores are no plain zeros and ones, or come in clusters, n is the number of zeros and ones
that would have the same standard error, so that no interval leaves the range.
"""

import math

from optimize_eval.statistics import student

LEVEL = 0.975  # of a two-sided 95 % interval
Z = 1.959963984540054

_MOST_WORTH = 1e15  # zeros and ones: beyond, an interval has no width that a float could hold

Interval = tuple[float, float]


def around(value: float, se: float, df: float) -> Interval:
    """Reach out from a value by Student's t."""
    reach = (Z if math.isinf(df) else student.quantile(LEVEL, df)) * se
    return value - reach, value + reach


def around_the_best(value: float, se: float, df: float, tried: int) -> Interval:
    """Reach out from the best of several; the lower end holds for all that were tried, whichever it is."""
    _, high = around(value, se, df)
    return value - student.quantile(1 - (1 - LEVEL) / tried, df) * se, high


def wilson(mean: float, n: float, z: float = Z) -> Interval:
    """Give the interval of a share of n examples; n is not a whole number where examples weigh unequally."""
    centre = (mean + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * math.sqrt(mean * (1 - mean) / n + z**2 / (4 * n**2))
    return max(0.0, centre - reach), min(1.0, centre + reach)


def wilson_effective(mean: float, se: float, *, units: int, df: float, most: float | None = None) -> Interval:
    """Give the interval of a mean of scores between 0 and 1 with any standard error.

    `units` are the examples or clusters that count where nothing varies; `most` is the number that zeros and
    ones may be worth.
    """
    mean = min(1.0, max(0.0, mean))
    variance = se**2
    worth = min(_MOST_WORTH, mean * (1 - mean) / variance) if variance else float(units)
    if most is not None:
        worth = min(worth, most)
    low, high = wilson(mean, worth or float(units), student.quantile(LEVEL, df))
    return min(low, mean), max(high, mean)  # the ends of the range are means, too
