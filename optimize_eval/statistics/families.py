"""Comparisons that were made together: Holm's correction (Holm 1979), and what it leaves of a level."""

from collections.abc import Sequence

ALPHA = 0.05  # how often a family of comparisons may hold any false claim


def holm(p_values: Sequence[float], others: int = 0) -> list[float]:
    """Correct for having made so many comparisons, step by step from the smallest p.

    `others` were made as well, and are taken for the largest p there is.
    """
    corrected = [0.0] * len(p_values)
    worst = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        worst = max(worst, min(1.0, (len(p_values) + others - rank) * p_values[place]))
        corrected[place] = worst
    return corrected


def fewest_units(comparisons: int = 1, alpha: float = ALPHA) -> int:
    """Count the units below which no result, however clear, is confirmed among so many comparisons.

    With n units the smallest p that sign flips and McNemar's test can give is 2/2ⁿ.

    >>> fewest_units(), fewest_units(4), fewest_units(20)
    (6, 8, 10)
    """
    units = 2
    while 2 ** (1 - units) * comparisons > alpha:
        units += 1
    return units


def can_decide(units: int, comparisons: int = 1, alpha: float = ALPHA) -> bool:
    """Return True if so many units could confirm the clearest result there is."""
    return units >= fewest_units(comparisons, alpha)
