"""pass@k and pass^k: how often at least one of k repeats passes, and how often all k do.

For an example with n repeats of which c passed, both are the share of the ways to choose k of the n: this is
unbiased for every k up to n (Chen et al. 2021, arXiv 2107.03374; Yao et al. 2024, arXiv 2406.12045).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

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


def listed(most: int) -> list[int]:
    """Choose the k that are worth a line."""
    if most <= MOST_LISTED:
        return list(range(1, most + 1))
    doubled = [1 << power for power in range(most.bit_length()) if 1 << power < most]
    return [*doubled, most]


def with_enough(k: int, examples: Sequence[Repeats]) -> list[int]:
    """List the examples, by their place, that have at least k scored repeats."""
    return [place for place, repeats in enumerate(examples) if repeats.scored >= k]
