"""How often intervals hold the truth: of means, paired differences, gaps, lost gains, boards."""

import math
from collections.abc import Callable, Iterator, Sequence

from optimize_eval.findings.comparison import gap_between, lost_gain
from optimize_eval.statistics.differences import ScoreDifference, difference_of
from optimize_eval.statistics.estimates import mean_of, mean_over, on_tasks_like_these, wilson
from tests.benchmarks.truth.scenes import Draw, Scene, covers
from tests.findings.made import on_val

Score = Callable[[Draw], float]

SIZES = (10, 30, 100, 300)
ICC = 0.3  # how alike the examples of a cluster are
LIKE, UNLIKE = math.sqrt(ICC), math.sqrt(1 - ICC)
_MEAN, _MEAN_FROM_100 = 0.90, 0.92


def _share(p: float) -> Score:
    return lambda draw: float(draw.random() < p)


def _levels(zero: float, half: float) -> Score:
    return lambda draw: 0.0 if (u := draw.random()) < zero else 0.5 if u < zero + half else 1.0


DISTRIBUTIONS: dict[str, tuple[float, Score]] = {
    "beta(2,2)": (0.5, lambda draw: draw.betavariate(2, 2)),
    **{f"0/1 at {p:g}": (p, _share(p)) for p in (0.5, 0.8, 0.95, 0.99)},
    "levels .1 .2 .7": (0.8, _levels(0.1, 0.2)),
    "levels .01 .04 .95": (0.97, _levels(0.01, 0.04)),
    "95 % ones": (0.975, lambda draw: 1.0 if draw.random() < 0.95 else draw.random()),
    "beta(9.5,.5)": (0.95, lambda draw: draw.betavariate(9.5, 0.5)),
}


def scenes() -> Iterator[Scene]:
    for name, (truth, score) in DISTRIBUTIONS.items():
        for n in SIZES:
            yield _of_a_mean(name, truth, score, n)
    for repeats in (3, 5):
        for n in SIZES:
            yield _of_repeats(repeats, n)
    for clusters in (5, 10, 20, 30, 100):
        yield _of_clusters("continuous", 0.5, clusters)
        yield _of_clusters("0/1 at .7", 0.7, clusters)
        yield _of_clusters("0/1 at .9", 0.9, clusters)
    for n in (10, 30, 100):
        yield Scene(family="paired difference", cell=f"n = {n}", once=_paired(n), low=0.94, high=0.97)
        yield Scene(family="gap", cell=f"train {n}, val {n}", once=_gap(n), low=0.94, high=0.97)
        yield Scene(family="lost gain", cell=f"train {n}, val {n}", once=_lost(n), low=0.94, high=0.97)
    for many in (5, 20):
        for n in (4, 8, 30):
            yield Scene(
                family="board, fixed tasks", cell=f"{many} tasks × {n}", once=_fixed(many, n), low=_MEAN
            )
    for many in (10, 30):
        yield Scene(
            family="board, tasks like these", cell=f"{many} tasks × 8", once=_elsewhere(many), low=_MEAN
        )


def _of_a_mean(name: str, truth: float, score: Score, n: int) -> Scene:
    def once(draw: Draw) -> float:
        return covers(mean_of([score(draw) for _ in range(n)], is_unit=True).ci, truth)

    def exact(draw: Draw) -> float:
        return covers(wilson(sum(score(draw) for _ in range(n)) / n, n), truth)

    is_exact = name.startswith("0/1")
    low = None if is_exact else _MEAN_FROM_100 if n >= 100 else _MEAN
    beside = {"exact Wilson": exact} if is_exact else {}
    return Scene(
        family="mean", cell=f"{name}, n = {n}", once=once, low=low, beside=beside, cost=max(1, n // 100)
    )


def _of_repeats(repeats: int, n: int) -> Scene:
    """Draw through a whole summary, which averages repeats first."""

    def once(draw: Draw) -> float:
        shares = [draw.betavariate(2, 1) for _ in range(n)]
        run = on_val(a=[tuple(float(draw.random() < p) for _ in range(repeats)) for p in shares])
        return covers(run.summary()["rows"][0]["splits"]["val"]["ci"], 2 / 3)

    low = _MEAN_FROM_100 if n >= 100 else _MEAN
    return Scene(family="mean", cell=f"0/1 × {repeats} repeats, n = {n}", once=once, low=low, cost=4)


def _of_clusters(name: str, mean: float, clusters: int) -> Scene:
    """Draw clusters of 1 to 10 examples with an intraclass correlation of .3."""

    def score(draw: Draw, own: float) -> float:
        return own + draw.gauss(0, 0.15) * UNLIKE if name == "continuous" else float(draw.random() < own)

    def own(draw: Draw) -> float:
        if name == "continuous":
            return mean + draw.gauss(0, 0.15) * LIKE
        scale = (1 - ICC) / ICC
        return draw.betavariate(mean * scale, (1 - mean) * scale)

    def once(draw: Draw) -> float:
        values, labels = [], []
        for cluster in range(clusters):
            centre = own(draw)
            size = draw.randint(1, 10)
            values += [score(draw, centre) for _ in range(size)]
            labels += [cluster] * size
        return covers(mean_of(values, labels, is_unit=True).ci, mean)

    low = _MEAN_FROM_100 if clusters >= 100 else _MEAN
    return Scene(family="mean of clusters", cell=f"{name}, {clusters} clusters", once=once, low=low, cost=2)


def _pairs(draw: Draw, n: int, gain: float) -> ScoreDifference:
    first = [draw.gauss(0.5, 0.2) for _ in range(n)]
    second = [one + draw.gauss(gain, 0.1) for one in first]
    return difference_of(first, second, may_flip=False)


def _paired(n: int) -> Callable[[Draw], float]:
    return lambda draw: covers(_pairs(draw, n, 0.03).ci, 0.03)


def _gap(n: int) -> Callable[[Draw], float]:
    def once(draw: Draw) -> float:
        train, val = ([draw.gauss(mean, 0.15) for _ in range(n)] for mean in (0.6, 0.5))
        gap = gap_between(mean_of(train), mean_of(val))
        return covers(gap.ci if gap else None, 0.1)

    return once


def _lost(n: int) -> Callable[[Draw], float]:
    def once(draw: Draw) -> float:
        lost = lost_gain(_pairs(draw, n, 0.1), _pairs(draw, n, 0.06))
        return covers(lost.gap.ci if lost.gap else None, 0.04)

    return once


def _task(draw: Draw, p: float, n: int) -> Sequence[float]:
    return [float(draw.random() < p) for _ in range(n)]


def _fixed(many: int, n: int) -> Callable[[Draw], float]:
    shares = [(place + 0.5) / many for place in range(many)]
    return lambda draw: covers(mean_over([_task(draw, p, n) for p in shares]).ci, 0.5)


def _elsewhere(many: int) -> Callable[[Draw], float]:
    def once(draw: Draw) -> float:
        found = on_tasks_like_these([_task(draw, draw.betavariate(2, 1), 8) for _ in range(many)])
        return covers(found.ci if found else None, 2 / 3)

    return once
