"""Corpus BLEU from the counts of its sentences: n-grams are pooled, which a mean of sentences' BLEU is not.

Equal to sacrebleu's corpus_score at its defaults: one to four words, no effective order, exponential
smoothing of orders without a match. The counts of a sentence are ten numbers: length of the output, length
of the reference, matched n-grams of each order, n-grams of each order.
"""

import math
from collections.abc import Iterable, Sequence

ORDERS = 4
LENGTH = 2 + 2 * ORDERS

Counts = Sequence[int]


def corpus_bleu(sentences: Iterable[Counts]) -> float | None:
    """Compute BLEU from 0 to 1; None where there is no sentence."""
    pooled = [sum(column) for column in zip(*sentences, strict=True)]
    if not pooled:
        return None
    output, reference, *counts = pooled
    precisions = _smoothed(counts[:ORDERS], counts[ORDERS:])
    if output == 0 or not all(precisions):
        return 0.0
    brevity = 1.0 if output >= reference else math.exp(1 - reference / output)
    return min(1.0, brevity * math.exp(math.fsum(map(math.log, precisions)) / ORDERS))


def _smoothed(matched: Counts, total: Counts) -> list[float]:
    """Give each order its precision; of those without a match the first counts as ½ match, the next as ¼."""
    precisions = []
    smoothing = 1.0
    for hits, all_there in zip(matched, total, strict=True):
        if not hits:
            smoothing *= 2
        precisions.append((hits or 1 / smoothing) / all_there if all_there else 0.0)
    return precisions if any(matched) else [0.0] * ORDERS
