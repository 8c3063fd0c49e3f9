"""Which examples people should label: more likely those where a judge may be wrong by much.

Each example has a number of its own, drawn once, and a size: how far the judge may be off there. They are
labelled in the order of number over size (sequential Poisson sampling: Ohlsson 1998), so that whoever stops
early, too, has a sample with known chances; a tenth of the sizes is the same for all, so that none is 0.
"""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence

from optimize_eval.statistics.estimates import quantile

_SAME_FOR_ALL = 0.1
_NEAR = 0.15  # scores so near to each other are taken to be wrong by as much
_WORTH = 4  # labels that what is thought before counts as
_LEAST_DOUBT = 0.02
_DIGITS = 9

Labelled = tuple[float, float]  # a judge's score, and its error there


def number_of(seed: int, split: str, line: int | None) -> float:
    """Draw an example's own number between 0 and 1, always the same."""
    digest = hashlib.sha256(f"{seed} label {split} {line}".encode()).digest()
    return (int.from_bytes(digest[:8], "big") + 1) / 2**64


def doubts_of(labelled: Sequence[Labelled]) -> Callable[[float], float]:
    """Say how far off a judge is thought to be at a score: as on labelled scores near it."""
    known: dict[float, float] = {}

    def doubt(score: float) -> float:
        rounded = round(score, 2)
        if rounded not in known:
            near = [error * error for other, error in labelled if abs(other - rounded) < _NEAR]
            before = max(_LEAST_DOUBT, rounded * (1 - rounded))
            known[rounded] = math.sqrt((_WORTH * before + math.fsum(near)) / (_WORTH + len(near)))
        return known[rounded]

    return doubt


def sizes_of(doubts: Sequence[float]) -> list[float]:
    """Make of doubts how likely examples are beside each other; they add up to 1."""
    whole, same = math.fsum(doubts), _SAME_FOR_ALL / len(doubts)
    return [round((1 - _SAME_FOR_ALL) * doubt / whole + same, _DIGITS) for doubt in doubts]


def in_order(numbers: Sequence[float], sizes: Sequence[float]) -> list[int]:
    """Give the order in which examples are labelled, by their indices."""
    return sorted(range(len(sizes)), key=lambda index: numbers[index] / sizes[index])


def chances_after(
    before: Mapping[int, float], numbers: Sequence[float], sizes: Sequence[float], labelled: Sequence[int]
) -> dict[int, float]:
    """Say how likely each example was to be labelled by now: up to the last of those that are `labelled`."""
    most = max((numbers[index] / sizes[index] for index in labelled), default=0.0)
    return {
        index: max(before.get(index, 0.0), min(1.0, round(most * size, _DIGITS)))
        for index, size in enumerate(sizes)
    }


def labels_to_settle(diff: float, se: float, labelled: int, examples: int, *, sd: float) -> int | None:
    """Guess how many more examples with a label settle a difference; None where all of them may not.

    `sd` is how much the judge's own differences vary, which labels cannot make less.
    """
    floor = sd * sd / examples
    wanted = (diff / quantile(0.975, max(1, labelled - 1))) ** 2 - floor
    more = max(se * se - floor, 0.0) * labelled
    if wanted <= 0 or more / wanted > examples:
        return None
    return max(0, math.ceil(more / wanted) - labelled)
