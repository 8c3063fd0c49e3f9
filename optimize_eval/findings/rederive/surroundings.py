"""What stands around the texts of many rows of a split, and is no part of them: a prompt, a greeting."""

from collections import Counter
from itertools import pairwise

Pair = tuple[str, str]

_MOST = 8  # of them in one split


def surroundings(rows: list[list[str]], others: list[list[str]]) -> list[set[Pair]]:
    """Find pairs of words that many rows have together, and the others hardly have."""
    own, foreign = [_pairs(texts) for texts in rows], _counted([_pairs(texts) for texts in others])
    many, fewest = _counted(own), max(5, 0.01 * len(rows))
    ratio = 0.1 * len(others) / max(1, len(rows))
    left = [
        {pair for pair in pairs if many[pair] >= fewest and foreign[pair] <= many[pair] * ratio}
        for pairs in own
    ]
    found: list[set[Pair]] = []
    for _ in range(_MOST):
        counts = _counted(left)
        if not counts or max(counts.values()) < fewest:
            break
        first = min(counts, key=lambda pair: (-counts[pair], pair))
        beside = _counted([pairs for pairs in left if first in pairs])
        together = {pair for pair in beside if beside[pair] >= 0.8 * counts[first]}
        found.append(together)
        left = [pairs - together for pairs in left]
    return [pairs for pairs in found if len(pairs) > 2]  # noqa: PLR2004


def without(text: str, around: list[set[Pair]]) -> str:
    """Give a text without what stands around it."""
    for pairs in around:
        words = ["", *text.split(), ""]
        gone = {place for place, pair in enumerate(pairwise(words)) if pair in pairs}
        if gone:
            kept = [word for place, word in enumerate(words) if not gone & {place - 1, place}]
            text = " ".join(filter(None, kept))
    return text


def _pairs(texts: list[str]) -> set[Pair]:
    return {pair for text in texts for pair in pairwise(["", *text.split(), ""])}


def _counted(rows: list[set[Pair]]) -> Counter[Pair]:
    return Counter(pair for pairs in rows for pair in pairs)
