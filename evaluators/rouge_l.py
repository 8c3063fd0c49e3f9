#!/usr/bin/env python3
r"""ROUGE-L: F1 of the longest common subsequence of words, from 0 to 1; the best target counts.

Words are `\w+` of the text in lower case, and two texts without words are alike (1). `--variant ascii` takes
`[a-z0-9]+` as words, and texts without words score 0, as the package rouge-score does without its stemmer.
"""

import re

from _metric import Answer, Asked, best, run

_WORDS = {"unicode": re.compile(r"\w+"), "ascii": re.compile(r"[a-z0-9]+")}


def common(one: list[str], other: list[str]) -> int:
    """Measure the longest common subsequence, by bits (Hyyrö 2004): bit n of a row is word n of `other`."""
    places: dict[str, int] = {}
    for place, word in enumerate(other):
        places[word] = places.get(word, 0) | 1 << place
    row = 0
    for word in one:
        reached = row | places.get(word, 0)
        row = reached & ~(reached - (row << 1 | 1))
    return row.bit_count()


def rouge_l(candidate: str, target: str, variant: str) -> Answer:
    said, wanted = (_WORDS[variant].findall(text.lower()) for text in (candidate, target))
    length = common(said, wanted)
    nothing = float(variant == "unicode" and not said and not wanted)
    return {
        "score": 2 * length / (len(said) + len(wanted)) if said and wanted else nothing,
        "precision": length / len(said) if said else nothing,
        "recall": length / len(wanted) if wanted else nothing,
        "common": length,
        "candidate_words": len(said),
        "target_words": len(wanted),
    }


def best_rouge_l(asked: Asked) -> Answer:
    return best(lambda candidate, target: rouge_l(candidate, target, asked.options["variant"]), asked)


if __name__ == "__main__":
    run(best_rouge_l, variants=("unicode", "ascii"))
