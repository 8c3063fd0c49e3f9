"""Power: which difference is found in 80 of 100 runs, and how many examples a difference takes.

"Found" means: called better by the two-sided test at `ALPHA`, after Holm's correction for `comparisons` that
are made together (the first step of Holm, so never too hopeful). Planning uses a guess of the standard
deviation, a verdict the standard error that was observed. Three tests, three ways of computing:

* `detectable`: paired scores of any kind. From 15 units on (examples, or clusters) by t quantiles; up to 14,
  where all sign flips are counted, by simulated flips of normal draws. None where nothing can ever be found.
* `detectable_share`: scores of 0 and 1, no clusters: exact McNemar by binomial sums.
* `examples_needed`, `examples_needed_for_shares`: the same the other way round.

`can_decide` and `fewest_units` say where the answer is "never", and what it takes. Simulations always use the
same draws; what most runs need stands in a table, since it takes a fifth of a second, and a test holds the
table to the simulation. All results are on the scale of the scores.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from optimize_eval.statistics import estimates

ALPHA = 0.05  # how often a family of comparisons may hold any false claim


def holm(p_values: Sequence[float], others: int = 0) -> list[float]:
    """Correct for having made so many comparisons, step by step from the smallest p.

    `others` were made as well, and are taken for the largest p there is.
    """
    corrected = [0.0] * len(p_values)
    worst = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        worst = max(worst, min(1.0, (len(p_values) + others - rank) * p_values[index]))
        corrected[index] = worst
    return corrected


def fewest_units(comparisons: int = 1, alpha: float = ALPHA) -> int:
    """Count the units below which no result, however clear, is confirmed among so many comparisons.

    With n units the smallest p that sign flips and McNemar's test can give is 2/2ⁿ.

    >>> fewest_units(), fewest_units(4), fewest_units(20)
    (6, 8, 10)
    """
    units = 2
    while 2 ** (1 - units) * comparisons > alpha:
        units += 1
    return units


def can_decide(units: int, comparisons: int = 1, alpha: float = ALPHA) -> bool:
    """Return True if so many units could confirm the clearest result there is."""
    return units >= fewest_units(comparisons, alpha)


POWER = 0.8  # the share of runs in which a difference is to be found
_DRAWS = 500
_STEPS = 12


def shift(units: int, comparisons: int) -> float:
    """Give the mean in standard deviations of a unit at which flips find it in 80 of 100 draws."""
    known = SIMULATED.get(units, ())
    return known[comparisons - 1] if 0 < comparisons <= len(known) else simulate(units, comparisons)


@lru_cache(maxsize=256)
def simulate(units: int, comparisons: int) -> float:
    """Simulate: the mean in standard deviations of a unit at which flips find it in 80 of 100 draws.

    For each draw the smallest such shift is enclosed ever more closely; those that are seen to be smaller or
    larger than the one that is 80 of 100 are left as they are.
    """
    from random import Random  # noqa: PLC0415  most plans have more units

    draw = Random(units)  # noqa: S311  a simulation, no secret
    draws = [[draw.gauss(0, 1) for _ in range(units)] for _ in range(_DRAWS)]
    enclosed = [(0.0, 2 + max(map(abs, noise)), noise) for noise in draws]
    rank = math.ceil(POWER * _DRAWS) - 1
    for _ in range(_STEPS):
        enclosed = [_closer(*bracket, comparisons) for bracket in enclosed]
        lowest = sorted(low for low, _, _ in enclosed)[rank]
        highest = sorted(high for _, high, _ in enclosed)[rank]
        rank -= sum(high < lowest for _, high, _ in enclosed)
        enclosed = [bracket for bracket in enclosed if bracket[1] >= lowest and bracket[0] <= highest]
    return sorted(high for _, high, _ in enclosed)[rank]


def _closer(
    low: float, high: float, noise: list[float], comparisons: int
) -> tuple[float, float, list[float]]:
    """Halve the range with the smallest shift of these draws that sign flips call better."""
    middle = (low + high) / 2
    is_found = _is_found_by_flips([value + middle for value in noise], comparisons)
    return (low, middle, noise) if is_found else (middle, high, noise)


def _is_found_by_flips(values: list[float], comparisons: int) -> bool:
    """Return True if few enough sign flips have a sum as large as that of the values.

    Flipping a set of values lowers no sum if the set sums to 0 or less: start from all negative ones, then
    each step away from them (one dropped, or a positive one added) raises the sum by its size.
    """
    most = math.floor(ALPHA / comparisons * (1 << len(values)) / 2)
    room = -math.fsum(value for value in values if value < 0)
    sizes = sorted(map(abs, values))
    return _count_up_to(sizes, room, most) <= most


def _count_up_to(sizes: list[float], room: float, most: int) -> int:
    """Count the sets of sizes whose sum fits into the room; stop where there are more than `most`."""
    count = 0
    waiting = [(0, 0.0)]
    while waiting and count <= most:
        start, total = waiting.pop()
        count += 1
        for index in range(start, len(sizes)):
            if total + sizes[index] > room:
                break
            waiting.append((index + 1, total + sizes[index]))
    return count


SIMULATED = {  # units → for one comparison, for two, …
    6: (1.7351937245922078,),
    7: (1.3596164369264927, 1.91351239204754, 1.91351239204754),
    8: (
        1.2069912515535466,
        1.4107349584012847,
        1.5390227935987604,
        1.9114459162081654,
        1.9114459162081654,
        1.9114459162081654,
    ),
    9: (
        1.0657839771377149,
        1.2332473178733738,
        1.3503010946471612,
        1.439576118734609,
        1.5811139969701737,
        1.5811139969701737,
        1.9758213254448282,
        1.9758213254448282,
        1.9758213254448282,
        1.9758213254448282,
    ),
    10: (
        1.0053368420182727,
        1.1919797052324783,
        1.2958441377750918,
        1.371829466615699,
        1.41958510721811,
        1.4652195248810194,
        1.5531755309729625,
        1.5531755309729625,
        1.6833599742914744,
        1.6833599742914744,
    ),
    11: (
        0.9443737144885058,
        1.0869182329876925,
        1.1660034430755948,
        1.2474084751275947,
        1.2789149685901342,
        1.3254475182494416,
        1.3571775837343152,
        1.3925827954431629,
        1.4411289620803958,
        1.4411289620803958,
    ),
    12: (
        0.8627150200092724,
        0.9898291458479674,
        1.0671262916938151,
        1.130908668594385,
        1.1675374197888184,
        1.1932235982456936,
        1.2484872452408935,
        1.2798471612571989,
        1.3037993184047987,
        1.3082310062427829,
    ),
    13: (
        0.8625020467266846,
        0.9882923307928493,
        1.054637640749294,
        1.1032819730237682,
        1.1369600196353895,
        1.1678209555453147,
        1.1991689578584737,
        1.2232660860392988,
        1.236764333149446,
        1.254472088840414,
    ),
    14: (
        0.7740149285945995,
        0.88277957703677,
        0.9531966020538565,
        0.987630791167574,
        1.0258203205832204,
        1.0512196480163503,
        1.076963342880086,
        1.097430644133431,
        1.1189053099982993,
        1.1369603113550413,
    ),
}


MOST_FLIPPED_EXACTLY = 14  # units up to which a test counts all sign flips

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
        return shift(units, comparisons) * math.sqrt(units) * se
    df = units - 1
    return (estimates.quantile(1 - ALPHA / comparisons / 2, df) + estimates.quantile(POWER, df)) * se


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
    tails = (estimates.quantile(share, math.inf) for share in (1 - ALPHA / comparisons / 2, POWER))
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
        return estimates.incomplete_beta(successes, tosses - successes + 1, share)
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
    z = estimates.quantile(1 - ALPHA / comparisons / 2, math.inf)
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
