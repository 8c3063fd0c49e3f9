"""What is counted over repeats or pooled: pass@k, pass^k, calibration, corpus BLEU.

For an example with n repeats of which c passed, pass@k and pass^k are the share of the ways to choose k of
the n: unbiased for every k up to n (Chen et al. 2021, arXiv 2107.03374; Yao et al. 2024, arXiv 2406.12045).

The Brier score is the mean squared difference of confidence and score; the expected calibration error (ECE)
is the mean distance between them over ten bins of equal width, weighted by how many answers each has.

Corpus BLEU equals sacrebleu's corpus_score at its defaults: one to four words, no effective order,
exponential smoothing of orders without a match. The counts of a sentence are ten numbers: length of the
output, length of the reference, matched n-grams of each order, n-grams of each order.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
    bins = [_bin(index, inside) for index, inside in enumerate(by_bin) if inside]
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


ORDERS = 4
LENGTH = 2 + 2 * ORDERS

Counts = Sequence[int]


def corpus_bleu(sentences: Iterable[Counts]) -> float | None:
    """Compute BLEU from 0 to 1; None where there is no sentence."""
    pooled = [sum(column) for column in zip(*sentences, strict=True)]
    if not pooled:
        return None
    output, reference, *counts = pooled
    precisions = _smooth(counts[:ORDERS], counts[ORDERS:])
    if output == 0 or not all(precisions):
        return 0.0
    brevity = 1.0 if output >= reference else math.exp(1 - reference / output)
    return min(1.0, brevity * math.exp(math.fsum(map(math.log, precisions)) / ORDERS))


def _smooth(matched: Counts, total: Counts) -> list[float]:
    """Give each order its precision; of those without a match the first counts as ½ match, the next as ¼."""
    precisions = []
    smoothing = 1.0
    for hits, all_there in zip(matched, total, strict=True):
        if not hits:
            smoothing *= 2
        precisions.append((hits or 1 / smoothing) / all_there if all_there else 0.0)
    return precisions if any(matched) else [0.0] * ORDERS


MOST_LISTED = 10  # up to so many repeats every k is listed, above only 1, 2, 4, 8 … and the last


@dataclass(frozen=True, slots=True)
class Repeats:
    """How many repeats of one example have a score, and how many of these passed."""

    scored: int
    passed: int


def any_of(k: int, repeats: Repeats) -> float:
    """Estimate the probability that at least one of k repeats passes."""
    return 1 - math.comb(repeats.scored - repeats.passed, k) / math.comb(repeats.scored, k)


def all_of(k: int, repeats: Repeats) -> float:
    """Estimate the probability that k repeats all pass."""
    return math.comb(repeats.passed, k) / math.comb(repeats.scored, k)


def list_k(most: int) -> list[int]:
    """Choose the k that are worth a line."""
    if most <= MOST_LISTED:
        return list(range(1, most + 1))
    doubled = [1 << power for power in range(most.bit_length()) if 1 << power < most]
    return [*doubled, most]


def with_enough(k: int, examples: Sequence[Repeats]) -> list[int]:
    """List the examples, by their place, that have at least k scored repeats."""
    return [index for index, repeats in enumerate(examples) if repeats.scored >= k]


def at_most(successes: int, tosses: int, share: float) -> float:
    """Give the probability of so few successes, each of which has that share: the exact binomial's."""
    if share >= 1:
        return float(successes >= tosses)
    if share <= 0:
        return 1.0
    logs = math.log(share), math.log1p(-share)
    return min(
        1.0,
        math.fsum(
            math.exp(_log_ways(tosses, n) + n * logs[0] + (tosses - n) * logs[1])
            for n in range(successes + 1)
        ),
    )


def _log_ways(tosses: int, successes: int) -> float:
    return math.lgamma(tosses + 1) - math.lgamma(successes + 1) - math.lgamma(tosses - successes + 1)
