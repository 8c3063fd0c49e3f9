#!/usr/bin/env python3
"""BLEU of a sentence as sacrebleu computes it, divided by 100; all targets are its references.

Tokens of 13a, exponential smoothing, effective order; the answer has sacrebleu's signature. Needs sacrebleu.
"""

import sys
from functools import cache
from types import ModuleType
from typing import Any

from _metric import TARGETS, Answer, Asked, library, run

_FOR_DOWNLOADS = ("portalocker", "tabulate", "colorama", "lxml", "lxml.etree")


class _Unused(ModuleType):
    """Stands in for a module of which nothing is used."""

    def __getattr__(self, _: str) -> Any:
        return self


@cache
def scorer() -> Any:
    """Load sacrebleu's metric without what its downloads of test sets need, which is half of a start."""
    unused = {name: _Unused(name) for name in _FOR_DOWNLOADS if name not in sys.modules}
    sys.modules.update(unused)
    try:
        return library("sacrebleu.metrics").BLEU(effective_order=True)
    finally:
        for name in unused:
            del sys.modules[name]


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
