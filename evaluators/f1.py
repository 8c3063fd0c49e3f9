#!/usr/bin/env python3
r"""F1: how far candidate and target have the same words, from 0 to 1; the best target counts.

Words are `\w+` of the text in lower case, and repeats count: with o words in common, of c in the candidate
and t in the target, 2 o / (c + t). Both without words: 1; one of them: 0.
"""

from collections import Counter

from _metric import Answer, Asked, best, run

_SHOWN = 5


class _Letters(dict[int, str]):
    r"""Leaves what `\w` is to str.translate, and makes a blank of all else; `re` would be half of a start."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        self[code] = kept = letter if letter.isalnum() or letter == "_" else " "
        return kept


_LETTERS = _Letters()


def f1(candidate: str, target: str) -> Answer:
    said, wanted = (text.lower().translate(_LETTERS).split() for text in (candidate, target))
    in_said, in_wanted = Counter(said), Counter(wanted)
    overlap = (in_said & in_wanted).total()
    neither = not said and not wanted
    return {
        "score": 2 * overlap / (len(said) + len(wanted)) if not neither else 1.0,
        "precision": overlap / len(said) if said else float(neither),
        "recall": overlap / len(wanted) if wanted else float(neither),
        "overlap": overlap,
        "missing": list(in_wanted - in_said)[:_SHOWN],
        "extra": list(in_said - in_wanted)[:_SHOWN],
    }


def best_f1(asked: Asked) -> Answer:
    return best(f1, asked)


if __name__ == "__main__":
    run(best_f1)
