"""Bounds: no worse than a margin, no different by more; by betting for any score, by Tango for 0 and 1.

Differences of scores of 0 and 1 have Tango's score interval (Tango 1998), all other scores from 0 to 1 the
betting bound, which holds for losses that are rare and large, too: Student's t is far too sure of those. It
is left to scores without a range, of which nothing holds at any n.

Whoever starts with 1 and bets, number by number, that the mean is above m ends with 20 in at most 5 of 100
draws if it is not, whatever the numbers are like. Each bet is made of the numbers before it alone, so the
order of the numbers is one that the data did not choose. The final capitals of several orders may be
averaged (their highest ones on the way may not). The bound is the m at which this average is 20.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from optimize_eval.base.frozen import frozen
from optimize_eval.statistics import estimates
from optimize_eval.statistics.differences import Margin, ScoreDifference
from optimize_eval.statistics.estimates import BETTING, STUDENT, TANGO, Clusters, Interval, unit_sums

_ORDERS, _FEWEST_ORDERS = 32, 4
_LOOKED_AT = 128_000  # numbers of all orders: of many numbers, one order says nearly what another does
LEVEL = 0.05

_MOST = 0.99  # of the capital, which is at stake where a number is the lowest there is
_CHUNK = 16  # products of so many factors stay within a float
_LEAST = 2.0**-50  # below it, a mean is taken for the lowest there is
_WIDTH = 1e-13
_EACH = 64  # numbers of which each is looked at

Bet = tuple[float, float]  # a number from 0 to 1, and the stake that was chosen before it was seen


def lower_bound(values: Sequence[float], seed: int, enough: float = 1.0) -> float:
    """Give what the mean is above, at 95 %; `enough` where it is above that."""
    bets = _bets(values, seed)
    if enough < 1 and _excess(bets, (1 + enough) / 2) >= 0:
        return enough
    return 2 * _root(lambda mean: _excess(bets, mean)) - 1


def typical_bound(mean: float, sd: float, n: int) -> float:
    """Say which bound n numbers would have, about, that lie by `sd` above or below their mean."""
    low, high = max(0.0, (1 + mean - sd) / 2), min(1.0, (1 + mean + sd) / 2)
    variance = (high - low) ** 2 / 4
    stakes = [(_stake(n, t, 0.25 + (t - 1) * variance), times) for t, times in _sample_sizes(n)]

    def excess(m: float) -> float:
        most = _MOST / max(m, _LEAST)
        capped = [(min(stake, most), times) for stake, times in stakes]
        logs = [math.log((1 + bet * (low - m)) * (1 + bet * (high - m))) * times for bet, times in capped]
        return math.fsum(logs) / 2 + math.log(LEVEL)

    return 2 * _root(excess) - 1


def _sample_sizes(n: int) -> list[tuple[float, int]]:
    """Stand for the numbers from 1 to n by those where much changes, and how many each stands for."""
    edges = sorted({*range(1, min(n, _EACH) + 2), *(round(n ** (k / _EACH)) for k in range(_EACH)), n + 1})
    return [((start + end - 1) / 2, end - start) for start, end in pairwise(edges)]


def _bets(values: Sequence[float], seed: int) -> list[list[Bet]]:
    shares = [(1 + value) / 2 for value in values]
    draw = random.Random(seed)  # noqa: S311  an order, no secret
    bets = []
    for _ in range(min(_ORDERS, max(_FEWEST_ORDERS, _LOOKED_AT // len(shares)))):
        draw.shuffle(shares)
        bets.append(_stakes(shares))
    return bets


def _stakes(shares: Sequence[float]) -> list[Bet]:
    """Choose each stake by how much the numbers before it varied: their predictable plug-in for n."""
    n = len(shares)
    total, squares = 0.5, 0.25
    bets = []
    for position, share in enumerate(shares, 1):
        bets.append((share, _stake(n, position, squares)))
        total += share
        squares += (share - total / (position + 1)) ** 2
    return bets


def _stake(n: int, place: float, squares: float) -> float:
    return math.sqrt(2 * math.log(1 / LEVEL) / n * place / squares)


def _excess(bets: Sequence[Sequence[Bet]], mean: float) -> float:
    """Compute the logarithm of the average final capital over 20; it falls as the mean rises."""
    logs = [_log_capital(order, mean) for order in bets]
    most = max(logs)
    return most + math.log(math.fsum([math.exp(log - most) for log in logs]) / len(logs) * LEVEL)


def _log_capital(order: Sequence[Bet], mean: float) -> float:
    most = _MOST / max(mean, _LEAST)
    factors = [1 + (min(most, stake)) * (share - mean) for share, stake in order]
    chunks = [math.prod(factors[start : start + _CHUNK]) for start in range(0, len(factors), _CHUNK)]
    return math.fsum(map(math.log, chunks))


def _root(excess: Callable[[float], float]) -> float:
    """Find where it falls below 0, between 0 and 1: by secants, of which no end is kept twice (Illinois)."""
    low, high = 0.0, 1.0
    at_low, at_high = excess(low), excess(high)
    side = 0
    while at_low > 0 and high - low > _WIDTH:
        middle = high - at_high * (high - low) / (at_high - at_low)
        at_middle = excess(middle)
        if at_middle >= 0:
            at_high /= 2 if side > 0 else 1
            low, at_low, side = middle, at_middle, 1
        else:
            at_low /= 2 if side < 0 else 1
            high, at_high, side = middle, at_middle, -1
    return low


ONE_SIDED = 0.95
MOST_UNITS = 1_000_000  # up to which it is told how many it would take

_STEPS = 60  # of bisection: all digits of a float
_POWER = 0.8  # of planned runs


@frozen
class Tolerance:
    """The loss that is too small to matter, of scores that are known to be from 0 to 1 or are not."""

    margin: float
    is_unit: bool

    def margin_of(
        self, difference: ScoreDifference, pairs: Sequence[float], clusters: Clusters, *, seed: int
    ) -> Margin | None:
        """Hold a difference and its pairs against the margin; None for a single unit."""
        if difference.diff is None or difference.se is None:
            return None
        if difference.is_share:
            method, ends = TANGO, tango(difference.wins, difference.losses, difference.n_pairs)
        elif self.is_unit:
            method, ends = BETTING, bet(pairs, clusters, seed=seed)
        else:
            reach = _reach_of_t(difference, difference.units)
            method, ends = STUDENT, (difference.diff - reach, difference.diff + reach)
        is_no_worse = ends[0] >= -self.margin
        return Margin(
            margin=self.margin,
            ci90=ends,
            method=method,
            no_worse=is_no_worse,
            equivalent=is_no_worse and ends[1] <= self.margin,
        )


def bet(pairs: Sequence[float], clusters: Clusters, *, seed: int) -> Interval:
    """Give the 90 % interval of the mean of differences from -1 to 1 by two bets.

    Of clusters it is the mean of their totals, in which an example counts as one, whatever its cluster.
    """
    return _lowest(pairs, clusters, seed), -_lowest([-pair for pair in pairs], clusters, seed)


def _lowest(pairs: Sequence[float], clusters: Clusters, seed: int, enough: float = math.inf) -> float:
    largest = 1 if clusters is None else max(Counter(clusters).values())
    units = [total / largest for total in unit_sums(pairs, clusters)]
    scale = largest * len(units) / len(pairs)
    return scale * lower_bound(units, seed, max(-1.0, enough / scale))


def highest(
    difference: ScoreDifference, pairs: Sequence[float], clusters: Clusters, *, seed: int, least: float
) -> float:
    """Give what the mean of differences is not above, one-sided at 5 %; `least` where that is less."""
    if difference.is_share:
        return max(least, tango(difference.wins, difference.losses, difference.n_pairs)[1])
    if max(map(abs, pairs)) > 1:
        return math.inf  # no scores from 0 to 1
    return max(least, -_lowest([-pair for pair in pairs], clusters, seed, -least))


def units_needed(difference: ScoreDifference, method: str, bound: float, margin: float) -> int | None:
    """Count the units like those observed, about, that would show no loss of the margin.

    None where no number would; `MOST_UNITS` stands for as many or more.
    """
    diff = difference.diff
    if diff is None or diff <= -margin:
        return None
    # what the model says of the units that there are is put right by their own bound
    modelled = _reach(difference, method, difference.units)
    share = (diff - bound) / modelled if modelled else 1.0
    return _fewest(lambda units: share * _reach(difference, method, units) <= diff + margin)


def units_planned(margin: float, sd: float, method: str) -> int:
    """Count the units, about, with which an equally good candidate is shown to be no worse in 80 of 100 runs.

    `sd` is how much differences vary.
    """
    z = estimates.quantile(_POWER, math.inf)

    def reach(units: int) -> float:
        if method == TANGO:
            differing = round(sd * sd * units / 2)
            return -_tango_low(differing, differing, units)
        if method == BETTING:
            return _reach_of_bets(0.0, sd, units)
        return estimates.quantile(ONE_SIDED, units - 1) * sd / math.sqrt(units)

    return _fewest(lambda units: reach(units) + z * sd / math.sqrt(units) <= margin)


def _fewest(is_enough: Callable[[int], bool]) -> int:
    """Find the smallest number that is enough, to one in a hundred."""
    low, high = 1, 2
    while not is_enough(high):
        low, high = high, high * 2
        if low >= MOST_UNITS:
            return MOST_UNITS
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _reach(d: ScoreDifference, method: str, units: int) -> float:
    """Say how far the lower end would lie below the difference of so many units like the observed ones."""
    if method == STUDENT:
        return _reach_of_t(d, units)
    if method == BETTING:
        return _reach_of_bets(d.diff or 0.0, (d.se or 0.0) * math.sqrt(d.units), units)
    wins, losses = (round(many * units / d.n_pairs) for many in (d.wins, d.losses))
    return (wins - losses) / units - _tango_low(wins, losses, units)


def _reach_of_t(d: ScoreDifference, units: int) -> float:
    return estimates.quantile(ONE_SIDED, units - 1) * (d.se or 0.0) * math.sqrt(d.units / units)


def _reach_of_bets(mean: float, sd: float, units: int) -> float:
    return mean - typical_bound(mean, sd, units)


def tango(wins: int, losses: int, n: int) -> Interval:
    """Give the 90 % interval of the difference of two shares on the same n examples."""
    return _tango_low(wins, losses, n), -_tango_low(losses, wins, n)


def _tango_low(wins: int, losses: int, n: int) -> float:
    """Find the lowest difference that a one-sided score test does not reject, by bisection."""
    z = estimates.quantile(ONE_SIDED, math.inf)
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
