"""Power: which difference would be found in 80 of 100 runs, and how many examples a difference takes.

Planning uses a guess of the standard deviation, a verdict with the standard error that was observed.
"Found" means: called better by the two-sided test at `ALPHA`, after Holm's correction for `comparisons` that
are made together (the first step of Holm, so never too hopeful). Three tests, three ways of computing:

* `detectable`: paired scores of any kind. From 15 units on (examples, or clusters) by t quantiles; up to 14,
  where all sign flips are counted, by simulated flips of normal draws. None where nothing can ever be found.
* `detectable_share`: scores of 0 and 1, no clusters: exact McNemar by binomial sums.
* `examples_needed`, `examples_needed_for_shares`: the same the other way round.

`families.can_decide` and `families.fewest_units` say where the answer is "never", and what it takes.
All results are on the scale of the scores, for the mean difference of two candidates on the same examples.
"""

import math
from collections.abc import Callable
from functools import lru_cache

from optimize_eval.statistics import flips, student
from optimize_eval.statistics.families import ALPHA, can_decide, fewest_units
from optimize_eval.statistics.flips import POWER

MOST_FLIPPED_EXACTLY = 14  # units up to which a test counts all sign flips

_STEPS = 12
_MOST_SUMMED = (
    150  # differing pairs up to which binomial sums are made; beyond, the normal distribution serves
)
_TAIL = 8.0  # standard deviations of a binomial that are summed
_TINY = 1e-250  # from where a float has few digits left to lose
_MOST_EXAMPLES = 1_000_000_000
_MANY_EXAMPLES = 1_000_000


def detectable(*, se: float, units: int, comparisons: int = 1) -> float | None:
    """Compute the difference that would be found in 80 of 100 runs with this standard error.

    `se` is the standard error of the mean difference (sd/√n for independent examples), `units` the number of
    examples or, where examples are clustered, of clusters.

    >>> round(detectable(se=0.04, units=60), 3)
    0.114
    >>> detectable(se=0.04, units=5) is None
    True
    """
    if not can_decide(units, comparisons):
        return None
    if units <= MOST_FLIPPED_EXACTLY:
        return flips.shift(units, comparisons) * math.sqrt(units) * se
    df = units - 1
    return (student.quantile(1 - ALPHA / comparisons / 2, df) + student.quantile(POWER, df)) * se


@lru_cache(maxsize=4096)
def detectable_share(*, pairs: int, discordance: float, comparisons: int = 1) -> float | None:
    """Compute the same for scores of 0 and 1; `discordance` is the share of pairs that differ at all.

    A difference of δ needs at least that share of differing pairs, so more are assumed where it is larger.
    """
    if not can_decide(pairs, comparisons):
        return None
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        is_found = mcnemar_power(pairs, middle, max(discordance, middle), comparisons) >= POWER
        low, high = (low, middle) if is_found else (middle, high)
    return high


def examples_needed(difference: float, *, sd: float, comparisons: int = 1) -> int:
    """Count the independent examples with which a difference would be found in 80 of 100 runs.

    `sd` is the standard deviation of the paired differences of single examples.
    """

    def is_found(n: int) -> bool:
        reach = detectable(se=sd / math.sqrt(n), units=n, comparisons=comparisons)
        return reach is not None and reach <= difference

    least = fewest_units(comparisons)
    beyond = max(least, MOST_FLIPPED_EXACTLY + 1)  # where no simulation is needed
    if is_found(beyond):
        return _fewest(is_found, least)
    tails = (student.quantile(share, math.inf) for share in (1 - ALPHA / comparisons / 2, POWER))
    too_few = math.floor((sum(tails) * sd / difference) ** 2) - 1  # a normal distribution's tails are thinner
    if beyond < too_few < _MANY_EXAMPLES:
        return _fewest(is_found, too_few, step=1)
    return _fewest(is_found, beyond)


@lru_cache(maxsize=1024)
def examples_needed_for_shares(difference: float, *, discordance: float, comparisons: int = 1) -> int:
    """Count them for scores of 0 and 1, of which this share of pairs differs."""
    share = max(discordance, difference)
    return _fewest(
        lambda n: mcnemar_power(n, difference, share, comparisons) >= POWER, fewest_units(comparisons)
    )


def mcnemar_power(pairs: int, difference: float, discordance: float, comparisons: int = 1) -> float:
    """Compute how often exact McNemar finds that b beats a by so much, where so many pairs differ."""
    if discordance <= 0:
        return 0.0
    wins = min(1.0, (discordance + difference) / (2 * discordance))  # among the pairs that differ
    if pairs * discordance > _MOST_SUMMED:
        return _normal_power(pairs, difference, discordance, comparisons)
    middle, sd = pairs * discordance, math.sqrt(pairs * discordance * (1 - discordance))
    most = min(pairs, math.ceil(middle + _TAIL * sd))
    least = max(1, math.floor(middle - _TAIL * sd))
    return math.fsum(
        _binomial(count, pairs, discordance) * at_least(critical_wins(count, comparisons), count, wins)
        for count in range(least, most + 1)
    )


def at_least(successes: int, tosses: int, share: float) -> float:
    """Compute the chance of so many successes or more: a sum where its first term is not tiny."""
    if successes <= 0 or successes > tosses:
        return float(successes <= 0)
    total, term = 0.0, share**tosses
    if term < _TINY:
        return student.incomplete_beta(successes, tosses - successes + 1, share)
    odds = (1 - share) / share
    for count in range(tosses, successes - 1, -1):
        total += term
        term *= odds * count / (tosses - count + 1)
    return total


@lru_cache(maxsize=65536)
def critical_wins(discordant: int, comparisons: int) -> int:
    """Find the fewest wins among the pairs that differ at which McNemar's p is small enough."""
    wins, tail, term = discordant + 1, 0.0, 0.5**discordant
    while 2 * (tail + term) * comparisons <= ALPHA:
        wins, tail = wins - 1, tail + term
        term *= wins / (discordant - wins + 1)
    return wins


def _binomial(successes: int, tosses: int, share: float) -> float:
    if share >= 1:
        return float(successes == tosses)
    ways = math.lgamma(tosses + 1) - math.lgamma(successes + 1) - math.lgamma(tosses - successes + 1)
    return math.exp(ways + successes * math.log(share) + (tosses - successes) * math.log1p(-share))


def _normal_power(pairs: int, difference: float, discordance: float, comparisons: int) -> float:
    z = student.quantile(1 - ALPHA / comparisons / 2, math.inf)
    needed = (
        z * math.sqrt(discordance / pairs) + 1 / pairs
    )  # whole wins: the exact test is that much stricter
    sd = math.sqrt(max(0.0, discordance - difference**2) / pairs)
    return 0.5 * math.erfc((needed - difference) / sd / math.sqrt(2)) if sd else float(difference > needed)


def _fewest(is_found_with: Callable[[int], bool], start: int, step: int = 0) -> int:
    """Find the smallest number of examples that is enough, from a start on by doubling and halving."""
    low, high, step = start - 1, start, step or start
    while not is_found_with(high) and high < _MOST_EXAMPLES:
        low, high, step = high, high + step, step * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_found_with(middle) else (middle, high)
    return high
