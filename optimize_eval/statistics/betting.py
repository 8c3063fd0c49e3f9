"""A lower bound of the mean of numbers from -1 to 1, at any n: betting (Waudby-Smith and Ramdas 2023).

Whoever starts with 1 and bets, number by number, that the mean is above m ends with 20 in at most 5 of 100
draws if it is not, whatever the numbers are like. Each bet is made of the numbers before it alone, so the
order of the numbers is one that the data did not choose. The final capitals of several orders may be
averaged (their highest ones on the way may not). The bound is the m at which this average is 20.
"""

import math
import random
from collections.abc import Callable, Sequence
from itertools import pairwise

ORDERS = 32
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
    stakes = [(_stake(n, t, 0.25 + (t - 1) * variance), times) for t, times in _sampled(n)]

    def excess(m: float) -> float:
        most = _MOST / max(m, _LEAST)
        capped = [(min(stake, most), times) for stake, times in stakes]
        logs = [math.log((1 + bet * (low - m)) * (1 + bet * (high - m))) * times for bet, times in capped]
        return math.fsum(logs) / 2 + math.log(LEVEL)

    return 2 * _root(excess) - 1


def _sampled(n: int) -> list[tuple[float, int]]:
    """Stand for the numbers from 1 to n by those where much changes, and how many each stands for."""
    edges = sorted({*range(1, min(n, _EACH) + 2), *(round(n ** (k / _EACH)) for k in range(_EACH)), n + 1})
    return [((start + end - 1) / 2, end - start) for start, end in pairwise(edges)]


def _bets(values: Sequence[float], seed: int) -> list[list[Bet]]:
    shares = [(1 + value) / 2 for value in values]
    draw = random.Random(seed)  # noqa: S311  an order, no secret
    bets = []
    for _ in range(ORDERS):
        draw.shuffle(shares)
        bets.append(_stakes(shares))
    return bets


def _stakes(shares: Sequence[float]) -> list[Bet]:
    """Choose each stake by how much the numbers before it varied: their predictable plug-in for n."""
    n = len(shares)
    total, squares = 0.5, 0.25
    bets = []
    for place, share in enumerate(shares, 1):
        bets.append((share, _stake(n, place, squares)))
        total += share
        squares += (share - total / (place + 1)) ** 2
    return bets


def _stake(n: int, place: float, squares: float) -> float:
    return math.sqrt(2 * math.log(1 / LEVEL) / n * place / squares)


def _excess(bets: Sequence[Sequence[Bet]], mean: float) -> float:
    """Compute the logarithm of the average final capital over 20; it falls as the mean rises."""
    logs = [_log_capital(order, mean) for order in bets]
    most = max(logs)
    return most + math.log(math.fsum([math.exp(one - most) for one in logs]) / len(logs) * LEVEL)


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
