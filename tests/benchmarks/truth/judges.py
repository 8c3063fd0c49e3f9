"""How often a mean that is corrected by a few labels is right, and how few labels a decision takes."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from optimize_eval.findings.people import looks_counted
from optimize_eval.statistics.agreement import CorrectedMean, LabelledError, corrected_mean
from optimize_eval.statistics.chosen_labels import (
    chances_after,
    doubts_of,
    in_order,
    labels_to_settle,
    sizes_of,
)
from optimize_eval.statistics.estimates import Interval, mean_of, spread_of
from tests.benchmarks.truth.scenes import Draw, Once, Scene, covers

_EXAMPLES = 1000
_COST = 4
_FIRST, _MOST = 25, 0.3  # labelled examples of the first file, and in all

Judged = tuple[float, float]  # what people would say, and what the judge says


def scenes() -> Iterator[Scene]:
    for name, (judged, truth, step) in JUDGES.items():
        for labels in (30, 100):
            yield Scene(
                family="judges: corrected mean covers",
                cell=f"{name}, {labels} of {_EXAMPLES:,} labelled",
                once=_mean_covers(judged, truth, step, labels),
                low=0.93,
                cost=_COST // 2,
            )
        once = _raw_covers(judged, truth)
        yield Scene(family="judges: raw mean covers", cell=name, once=once, high=0.1, cost=_COST // 2)
    for name, pair in PAIRS.items():
        low = 0.95 if name != _NO_DIFFERENCE else None
        beside = {"share labelled": _share(pair), "judge alone decides so": _raw_decides(pair)}
        yield Scene(
            family="judges: as all labels decide",
            cell=f"{name}, {_EXAMPLES:,} examples",
            once=_decides(pair),
            low=low,
            cost=_COST,
            beside=beside,
        )
        covered = _pair_covers(pair)
        yield Scene(family="judges: chosen labels cover", cell=name, once=covered, low=0.93, cost=_COST)


def _strict(draw: Draw) -> Judged:
    """Let a quarter of the bad ones pass."""
    truth = float(draw.random() < 0.6)
    return truth, truth or float(draw.random() < 0.25)


def _both_ways(draw: Draw) -> Judged:
    truth = float(draw.random() < 0.6)
    return truth, float(draw.random() < (0.9 if truth else 0.4))


def _graded(draw: Draw) -> Judged:
    truth = 0.1 + 0.6 * draw.random()
    return truth, min(1.0, max(0.0, truth + 0.1 + draw.gauss(0, 0.1)))


JUDGES: dict[str, tuple[Callable[[Draw], Judged], float, float]] = {
    "0 and 1, too kind by .1": (_strict, 0.6, 1.0),
    "0 and 1, wrong both ways, by .1": (_both_ways, 0.6, 1.0),
    "graded, too kind by .1": (_graded, 0.4, 0.0),
}


def _mean_covers(judged: Callable[[Draw], Judged], truth: float, step: float, labels: int) -> Once:
    def once(draw: Draw) -> float:
        rows = [judged(draw) for _ in range(_EXAMPLES)]
        chosen = draw.sample(range(_EXAMPLES), labels)
        errors = [LabelledError(index, rows[index][0] - rows[index][1]) for index in chosen]
        corrected = corrected_mean([score for _, score in rows], [(1.0, errors)], step=step)
        return covers(corrected.ci if corrected else None, truth)

    return once


def _raw_covers(judged: Callable[[Draw], Judged], truth: float) -> Once:
    return lambda draw: covers(mean_of([judged(draw)[1] for _ in range(_EXAMPLES)], is_unit=True).ci, truth)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two candidates: how good each is, and how often the judge lets each pass that is bad."""

    good: tuple[float, float]
    passes: tuple[float, float]
    is_sure: bool = False  # but for a third of the examples, which it scores by guess

    def row(self, draw: Draw) -> tuple[Judged, Judged]:
        ease = 0.5 * draw.random()
        first, second = (self._judged(draw, ease, index) for index in (0, 1))
        return first, second

    def _judged(self, draw: Draw, ease: float, index: int) -> Judged:
        truth = float(ease + 0.5 * draw.random() < self.good[index])
        if self.is_sure and draw.random() < 0.3:
            return truth, min(1.0, max(0.0, 0.5 + self.passes[index] + draw.gauss(0, 0.1)))
        passed = truth if self.is_sure else float(draw.random() < (0.9 if truth else self.passes[index]))
        return truth, min(1.0, max(0.0, (0.9 if passed else 0.15) + draw.gauss(0, 0.05)))


_NO_DIFFERENCE = "people see none, the judge does"
PAIRS = {
    "the judge has it the wrong way": Pair((0.6, 0.5), (0.1, 0.5)),
    "the judge is right, and exaggerates": Pair((0.45, 0.6), (0.1, 0.3)),
    "the judge errs where it is unsure": Pair((0.5, 0.6), (0.2, -0.3), is_sure=True),
    _NO_DIFFERENCE: Pair((0.5, 0.5), (0.1, 0.4)),
}


@cache
def _truth(pair: Pair) -> float:
    draw = Draw(9)
    rows = [pair.row(draw) for _ in range(100_000)]
    return sum(second[0] - first[0] for first, second in rows) / len(rows)


@dataclass(frozen=True, slots=True)
class Labelled:
    """How a person went on with files of labels until it was settled, or three tenths were labelled."""

    by_all: Interval
    by_judge: Interval
    by_some: Interval
    share: float


def _label(pair: Pair, draw: Draw) -> Labelled:
    rows = [pair.row(draw) for _ in range(_EXAMPLES)]
    gains = [second[1] - first[1] for first, second in rows]
    numbers = [1 - draw.random() for _ in rows]
    labelled: list[int] = []
    chances: dict[int, float] = {}
    looks, more = 0, _FIRST
    while True:
        sizes = _sizes(rows, labelled)
        order = [index for index in in_order(numbers, sizes) if index not in {*labelled}]
        new = order[: min(more, round(_MOST * _EXAMPLES) - len(labelled))]
        labelled += new
        chances = chances_after(chances, numbers, sizes, new)
        looks += 1
        some = _corrected(rows, gains, labelled, chances, looks_counted(looks))
        if some.ci[0] > 0 or some.ci[1] < 0 or len(labelled) >= round(_MOST * _EXAMPLES):
            break
        guess = labels_to_settle(some.mean, some.se, len(labelled), _EXAMPLES, sd=spread_of(gains) or 0.0)
        more = _EXAMPLES if guess is None else max(_FIRST, round(1.5 * guess))
    by_all = mean_of([second[0] - first[0] for first, second in rows]).ci
    by_judge = mean_of(gains).ci
    assert by_all
    assert by_judge
    return Labelled(by_all, by_judge, some.ci, len(labelled) / _EXAMPLES)


def _sizes(rows: Sequence[tuple[Judged, Judged]], labelled: Sequence[int]) -> list[float]:
    doubt = doubts_of([(score, truth - score) for index in labelled for truth, score in rows[index]])
    return sizes_of([math.hypot(doubt(first[1]), doubt(second[1])) for first, second in rows])


def _corrected(
    rows: Sequence[tuple[Judged, Judged]],
    gains: Sequence[float],
    labelled: Sequence[int],
    chances: dict[int, float],
    times: int,
) -> CorrectedMean:
    def errors(side: int) -> list[LabelledError]:
        judged = ((index, rows[index][side]) for index in labelled)
        return [LabelledError(index, truth - score, 1 / chances[index]) for index, (truth, score) in judged]

    corrected = corrected_mean(gains, [(-1.0, errors(0)), (1.0, errors(1))], step=1.0, times=times)
    assert corrected
    return corrected


def _decision(ci: Interval) -> int:
    return (ci[0] > 0) - (ci[1] < 0)


def _decides(pair: Pair) -> Once:
    def once(draw: Draw) -> float:
        made = _label(pair, draw)
        return float(_decision(made.by_some) == _decision(made.by_all))

    return once


def _raw_decides(pair: Pair) -> Once:
    def once(draw: Draw) -> float:
        made = _label(pair, draw)
        return float(_decision(made.by_judge) == _decision(made.by_all))

    return once


def _share(pair: Pair) -> Once:
    return lambda draw: _label(pair, draw).share


def _pair_covers(pair: Pair) -> Once:
    return lambda draw: covers(_label(pair, draw).by_some, _truth(pair))
