#!/usr/bin/env python3
r"""BLEU-4: how far the candidate's runs of one to four words stand in the best target, smoothed by one.

Words are `\w+` of the text in lower case. For n = 1 … 4: (clipped matches + 1) / (runs + 1), 1 where there
are no runs of that length; their geometric mean, times exp(1 - r / c) for a candidate shorter than the
target. Without words: 0. This smoothing is generous to short texts: "dog" for "cat" is 0.8409. @bleu is
sacrebleu's, which most papers mean.
"""

import re
from collections import Counter
from math import exp, log

from _metric import Answer, Asked, best, run

_WORD = re.compile(r"\w+")
_ORDERS = (1, 2, 3, 4)


def runs_of(words: list[str], length: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(length)), strict=False))


def precision(said: list[str], wanted: list[str], length: int) -> float:
    runs = runs_of(said, length)
    return ((runs & runs_of(wanted, length)).total() + 1) / (runs.total() + 1)


def bleu_4(candidate: str, target: str) -> Answer:
    said, wanted = (_WORD.findall(text.lower()) for text in (candidate, target))
    if not said:
        return {"score": 0.0, "reasoning": "the candidate has no words"}
    precisions = [precision(said, wanted, length) for length in _ORDERS]
    brevity = exp(min(0.0, 1 - len(wanted) / len(said)))
    mean = exp(sum(map(log, precisions)) / len(_ORDERS))
    return {
        "score": brevity * mean,
        "precisions": precisions,
        "brevity_penalty": brevity,
        "candidate_words": len(said),
        "target_words": len(wanted),
    }


def best_bleu_4(asked: Asked) -> Answer:
    return best(bleu_4, asked)


if __name__ == "__main__":
    run(best_bleu_4)
