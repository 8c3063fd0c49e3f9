"""No worse than, and no different by more than, a margin: two one-sided tests at 5 % (TOST).

Differences of scores of 0 and 1 have Tango's score interval (Tango 1998): Student's t is far too sure where
few pairs differ. Where all pairs differ by the same, what the examples that were not seen may do decides.
"""

import math
from dataclasses import replace

from optimize_eval.frozen import frozen
from optimize_eval.statistics import student
from optimize_eval.statistics.intervals import Interval
from optimize_eval.statistics.paired import PairedDifference

ONE_SIDED = 0.95

_MOST_UNITS = 1_000_000
_STEPS = 60  # of bisection: all digits of a float


@frozen
class WithinMargin:
    """What can be said of a difference and a margin: the ends of the 90 % interval decide."""

    margin: float
    low: float
    high: float

    @property
    def is_no_worse(self) -> bool:
        return self.low > -self.margin

    @property
    def is_equivalent(self) -> bool:
        return self.is_no_worse and self.high < self.margin


def within_margin(difference: PairedDifference, margin: float, *, is_unit: bool) -> WithinMargin | None:
    """Hold a difference against a margin; None where too little is known of it."""
    ends = _ends(difference, is_unit=is_unit)
    return ends and WithinMargin(margin=margin, low=ends[0], high=ends[1])


def units_needed(difference: PairedDifference, margin: float, *, is_unit: bool) -> int | None:
    """Count the units, all like those observed, that would show no loss of the margin; None where none do."""

    def is_shown(units: int) -> bool:
        ends = _ends(_scaled(difference, units), is_unit=is_unit)
        return ends is not None and ends[0] > -margin

    low, high = 1, 2
    while not is_shown(high):
        low, high = high, high * 2
        if high > _MOST_UNITS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_shown(middle) else (middle, high)
    return high


def _scaled(d: PairedDifference, units: int) -> PairedDifference:
    """Make the difference that so many units like the observed ones would give."""
    times = units / d.units
    return replace(
        d,
        units=units,
        df=units - 1,
        se=None if d.se is None else d.se / math.sqrt(times),
        n_pairs=round(d.n_pairs * times),
        wins=round(d.wins * times),
        losses=round(d.losses * times),
    )


def tango(wins: int, losses: int, n: int) -> Interval:
    """Give the 90 % interval of the difference of two shares on the same n examples."""
    return _tango_low(wins, losses, n), -_tango_low(losses, wins, n)


def _ends(d: PairedDifference, *, is_unit: bool) -> Interval | None:
    if d.diff is None or d.se is None or d.df is None:
        return None
    if d.is_share:
        return tango(d.wins, d.losses, d.n_pairs)
    if d.se:
        reach = student.quantile(ONE_SIDED, d.df) * d.se
        return d.diff - reach, d.diff + reach
    if not is_unit:
        return d.diff, d.diff  # what other examples could differ by has no bound
    unseen = 1 - (1 - ONE_SIDED) ** (1 / d.units)  # the share of examples that may be of another kind
    return d.diff - unseen * (1 + d.diff), d.diff + unseen * (1 - d.diff)


def _tango_low(wins: int, losses: int, n: int) -> float:
    """Find the lowest difference that a one-sided score test does not reject, by bisection."""
    z = student.quantile(ONE_SIDED, math.inf)
    low, high = -1.0, (wins - losses) / n
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _score(middle, wins, losses, n) >= z else (low, middle)
    return low


def _score(delta: float, wins: int, losses: int, n: int) -> float:
    """Compute the score statistic of the hypothesis that the shares differ by delta."""
    b = (2 * n - wins + losses) * delta - wins - losses
    c = -losses * delta * (1 - delta)
    lost = (math.sqrt(b * b - 8 * n * c) - b) / (4 * n)  # the share of losses that fits the hypothesis best
    variance = n * (2 * lost + delta * (1 - delta))
    distance = wins - losses - n * delta
    return distance / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, distance)
