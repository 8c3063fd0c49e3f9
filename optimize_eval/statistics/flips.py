"""Which difference sign flips find in 80 of 100 runs of so few units that all flips are counted.

It is simulated, always by the same draws. What most runs need was simulated beforehand, since that
takes up to a fifth of a second; a test holds the table to the simulation.
"""

import math
from functools import lru_cache

from optimize_eval.statistics.families import ALPHA

POWER = 0.8  # the share of runs in which a difference is to be found
_DRAWS = 500
_STEPS = 12


def shift(units: int, comparisons: int) -> float:
    """Give the mean in standard deviations of a unit at which flips find it in 80 of 100 draws."""
    known = SIMULATED.get(units, ())
    return known[comparisons - 1] if 0 < comparisons <= len(known) else simulated(units, comparisons)


@lru_cache(maxsize=256)
def simulated(units: int, comparisons: int) -> float:
    """Simulate: the mean in standard deviations of a unit at which flips find it in 80 of 100 draws.

    For each draw the smallest such shift is enclosed ever more closely; those that are seen to be smaller or
    larger than the one that is 80 of 100 are left as they are.
    """
    from random import Random  # noqa: PLC0415  most plans have more units

    draw = Random(units)  # noqa: S311  a simulation, no secret
    draws = [[draw.gauss(0, 1) for _ in range(units)] for _ in range(_DRAWS)]
    enclosed = [(0.0, 2 + max(map(abs, noise)), noise) for noise in draws]
    place = math.ceil(POWER * _DRAWS) - 1
    for _ in range(_STEPS):
        enclosed = [_closer(*one, comparisons) for one in enclosed]
        lowest = sorted(low for low, _, _ in enclosed)[place]
        highest = sorted(high for _, high, _ in enclosed)[place]
        place -= sum(high < lowest for _, high, _ in enclosed)
        enclosed = [one for one in enclosed if one[1] >= lowest and one[0] <= highest]
    return sorted(high for _, high, _ in enclosed)[place]


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
        for place in range(start, len(sizes)):
            if total + sizes[place] > room:
                break
            waiting.append((place + 1, total + sizes[place]))
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
