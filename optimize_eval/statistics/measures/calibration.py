"""Calibration: whether a stated confidence is as high as the score that comes with it.

Of all answers that are stated with a confidence of .8, four of five should be right. The Brier score is the
mean squared difference of confidence and score; the expected calibration error (ECE) is the mean distance
between them over ten bins of equal width, weighted by how many answers each has. Both are 0 at best.
"""

import math
from collections.abc import Iterable, Sequence

from optimize_eval.base.frozen import frozen

BINS = 10

Answer = tuple[float, float]  # confidence, score


@frozen
class Bin:
    """The answers whose confidence lies from `low` up to `high`; a row of the reliability table."""

    low: float
    high: float
    n: int
    confidence: float  # on average
    score: float


@frozen
class Calibration:
    """How well confidence and score agree; `bins` are those that have answers."""

    n: int
    confidence: float
    score: float
    brier: float
    ece: float
    bins: tuple[Bin, ...]


def calibration_of(answers: Sequence[Answer]) -> Calibration | None:
    """Compare confidences with scores, both from 0 to 1; None where there are no answers."""
    if not answers:
        return None
    by_bin: list[list[Answer]] = [[] for _ in range(BINS)]
    for answer in answers:
        by_bin[min(BINS - 1, int(answer[0] * BINS))].append(answer)  # 1.0 belongs to the last
    bins = [_bin(place, inside) for place, inside in enumerate(by_bin) if inside]
    n = len(answers)
    return Calibration(
        n=n,
        confidence=_mean(confidence for confidence, _ in answers),
        score=_mean(score for _, score in answers),
        brier=_mean((confidence - score) ** 2 for confidence, score in answers),
        ece=math.fsum(bucket.n * abs(bucket.confidence - bucket.score) for bucket in bins) / n,
        bins=tuple(bins),
    )


def _bin(place: int, answers: Sequence[Answer]) -> Bin:
    return Bin(
        low=place / BINS,
        high=(place + 1) / BINS,
        n=len(answers),
        confidence=_mean(confidence for confidence, _ in answers),
        score=_mean(score for _, score in answers),
    )


def _mean(values: Iterable[float]) -> float:
    there = list(values)
    return math.fsum(there) / len(there)
