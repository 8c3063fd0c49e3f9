#!/usr/bin/env python3
"""BLEU of a sentence as sacrebleu computes it, divided by 100; all targets are its references.

Tokens of 13a, exponential smoothing, effective order; the answer has sacrebleu's signature. Needs sacrebleu.
"""

from functools import cache
from typing import Any

from _metric import TARGETS, Answer, Asked, library, run


@cache
def scorer() -> Any:
    return library("sacrebleu.metrics").BLEU(effective_order=True)


def bleu(asked: Asked) -> Answer:
    found = scorer().sentence_score(asked.candidate, asked.texts())
    score = min(1.0, found.score / 100)  # rounding can leave a hair more than 100
    return {
        "score": score,
        "bleu_score": score,
        "precisions": [one / 100 for one in found.precisions],
        "brevity_penalty": found.bp,
        "bleu_counts": [found.sys_len, found.ref_len, *found.counts, *found.totals],  # for BLEU of the corpus
        "signature": str(scorer().get_signature()),
    }


if __name__ == "__main__":
    run(bleu, fields=("ground_truth", *TARGETS))
