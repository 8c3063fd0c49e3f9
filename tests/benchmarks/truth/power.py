"""Whether a difference of the stated size is found in 80 of 100 runs, and a large one as often as it was."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from optimize_eval.findings.comparison import BETTER, compare, corrected
from optimize_eval.statistics.differences import ScoreDifference
from optimize_eval.statistics.power import detectable, detectable_share
from tests.benchmarks.truth.scenes import Draw, Scene
from tests.findings.made import on_val

SD, DISCORDANCE = 0.2, 0.3
MOST = 1.0  # that two scores from 0 to 1 can differ
ROWS, GAIN = 60, 0.15

# as often as at 2a82e37 by the same draws, when nothing tried, leaked or skipped was held against a winner
FOUND = {("graded", 1): 0.801, ("graded", 5): 0.605, ("0/1", 1): 0.784, ("0/1", 5): 0.5575}

Stated = Callable[[], float | None]  # the difference that would be found in 80 of 100 runs
Draws = Callable[[Draw, float], tuple[list[float], list[float]]]  # baseline and candidate with a gain


def scenes() -> Iterator[Scene]:
    for comparisons in (1, 4, 20):
        for n in (10, 14, 30, 100):
            yield _scene(f"graded, n = {n}", n, comparisons, _graded(n, comparisons), graded(n))
            yield _scene(f"0/1, n = {n}", n, comparisons, _zero_one(n, comparisons), zero_one(n))
        for clusters in (10, 30):
            labels = [place // 5 for place in range(5 * clusters)]
            stated = _clustered(clusters, comparisons)
            cell = f"{clusters} clusters of 5"
            yield _scene(cell, clusters, comparisons, stated, clustered(clusters), labels)
    for (kind, k), low in FOUND.items():
        once = is_found(KINDS[kind], k)
        cell = f"{kind}, one of {k}, {ROWS} val examples"
        yield Scene(family=f"found: {GAIN:g} better", cell=cell, once=once, low=low, cost=2 if k == 1 else 5)


def _graded(n: int, comparisons: int) -> Stated:
    return lambda: detectable(se=SD / n**0.5, units=n, comparisons=comparisons)


def _zero_one(n: int, comparisons: int) -> Stated:
    return lambda: detectable_share(pairs=n, discordance=DISCORDANCE, comparisons=comparisons)


def _clustered(clusters: int, comparisons: int) -> Stated:
    se = (SD**2 * (0.3 + 0.7 / 5) / clusters) ** 0.5
    return lambda: detectable(se=se, units=clusters, comparisons=comparisons)


def _scene(
    cell: str,
    units: int,
    comparisons: int,
    stated: Stated,
    draws: Draws,
    labels: Sequence[int] | None = None,
) -> Scene:
    low, high = (0.75, 0.85) if units >= 30 else (0.70, 0.90)
    return Scene(
        family="found at the stated difference",
        cell=f"{cell}, {comparisons} comparisons",
        once=found(draws, stated, comparisons, labels),
        low=low,
        high=high,
        cost=4 * comparisons if comparisons <= 4 else 10,
    )


def found(
    draws: Draws, stated: Stated, comparisons: int, labels: Sequence[int] | None = None
) -> Callable[[Draw], float | None]:
    """Compare as a summary does, one candidate with the stated gain among others without any.

    None where the product says that nothing is ever found, or only a difference that no scores can have.
    """
    gain_of = cache(stated)

    def once(draw: Draw) -> float | None:
        gain = gain_of()
        if gain is None or gain >= MOST:
            return None
        gains = [gain] + [0.0] * (comparisons - 1)
        family = [_compare(*draws(draw, one), labels, may_flip=comparisons <= 4) for one in gains]
        return float(corrected(family)[0].mark == BETTER)

    return once


def _compare(
    a: Sequence[float], b: Sequence[float], labels: Sequence[int] | None, *, may_flip: bool
) -> ScoreDifference:
    return compare(array("d", a), array("d", b), labels, seed=0, may_flip=may_flip)


def graded(n: int) -> Draws:
    def draws(draw: Draw, gain: float) -> tuple[list[float], list[float]]:
        first = [draw.gauss(0.5, 0.2) for _ in range(n)]
        return first, [one + draw.gauss(gain, SD) for one in first]

    return draws


def zero_one(n: int) -> Draws:
    def draws(draw: Draw, gain: float) -> tuple[list[float], list[float]]:
        share = max(DISCORDANCE, gain)
        pairs = [_pair(draw, (share + gain) / 2, (share - gain) / 2) for _ in range(n)]
        return [a for a, _ in pairs], [b for _, b in pairs]

    return draws


def _pair(draw: Draw, wins: float, losses: float) -> tuple[float, float]:
    u = draw.random()
    if u < wins:
        return 0.0, 1.0
    if u < wins + losses:
        return 1.0, 0.0
    same = float(draw.random() < 0.5)
    return same, same


def clustered(clusters: int) -> Draws:
    def draws(draw: Draw, gain: float) -> tuple[list[float], list[float]]:
        first = [0.5] * (5 * clusters)
        own = [draw.gauss(gain, SD * 0.3**0.5) for _ in range(clusters)]
        return first, [0.5 + own[place // 5] + draw.gauss(0, SD * 0.7**0.5) for place in range(5 * clusters)]

    return draws


def _scattered(draw: Draw, base: float, gain: float) -> float:
    return base + draw.gauss(gain, 0.4)


def _mostly_won(draw: Draw, base: float, gain: float) -> float:
    """Differ in 17 % of all examples, whatever the gain."""
    flips = (0.17 + gain) if base == 0 else (0.17 - gain)
    return 1 - base if draw.random() < flips else base


Kind = Callable[
    [Draw, float, float], float
]  # a candidate's score of an example, by the baseline's and a gain

KINDS: dict[str, Kind] = {"graded": _scattered, "0/1": _mostly_won}


def is_found(kind: Kind, k: int) -> Callable[[Draw], float]:
    """Give whether the headline of a first look names the one candidate of k that is better."""

    def once(draw: Draw) -> float:
        base = [float(draw.random() < 0.5) for _ in range(ROWS)]
        others = {f"c{n}": [kind(draw, score, 0.0 if n else GAIN) for score in base] for n in range(k)}
        verdict = on_val(base=base, **others).summary()["verdict"]
        return float(verdict["state"] == "better" and verdict["winner"] == "c0")

    return once
