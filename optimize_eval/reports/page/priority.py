"""Which examples are told in full where there is no room for all: those that somebody will look for.

Failures first, then the largest losses and gains against the baseline and the lowest scores of each cell,
then a sample that the run's seed fixes.
"""

import hashlib
import heapq
import math
from collections.abc import Iterator, Sequence
from operator import itemgetter

from optimize_eval.reports.page.columns import FAILED, CellPlaces, RecordColumns

_KEPT = 300  # of each list

ExamplePlace = tuple[int, int]  # a split and the place in it


def in_order(columns: RecordColumns, *, against: Sequence[int], seed: int) -> list[ExamplePlace]:
    """List all examples, the most telling first."""
    ranks: dict[ExamplePlace, int] = {}
    for key in columns.cells:
        for places in _telling(columns, key, against[key[1]]):
            for rank, place in enumerate(places):
                example = key[3], place
                ranks[example] = min(rank, ranks.get(example, _KEPT))
    failed = set(_failed(columns))
    everything = (
        (split, place) for split, lines in enumerate(columns.axes.lines) for place in range(len(lines))
    )
    return sorted(everything, key=lambda one: (one not in failed, ranks.get(one, _KEPT), _chance(seed, *one)))


def _failed(columns: RecordColumns) -> Iterator[ExamplePlace]:
    repeats = columns.axes.repeats
    for key in columns.cells:
        outcomes = columns.outcomes(key)
        at = outcomes.find(FAILED)
        while at >= 0:
            yield key[3], at // repeats
            at = outcomes.find(FAILED, at + 1)


def _telling(columns: RecordColumns, key: CellPlaces, other: int) -> Iterator[list[int]]:
    """Give the places of the lowest scores of a cell, then of what it loses and gains most."""
    means = columns.means(key)
    yield _lowest(list(enumerate(means)))
    against = (key[0], other, key[2], key[3])
    if key == against or against not in columns.cells:
        return
    changes = [
        (place, mean - before)
        for place, (mean, before) in enumerate(zip(means, columns.means(against), strict=True))
    ]
    yield _lowest([one for one in changes if one[1] < 0])
    yield _lowest([(place, -change) for place, change in changes if change > 0])


def _lowest(values: list[tuple[int, float]]) -> list[int]:
    scored = (value for value in values if not math.isnan(value[1]))
    return [place for place, _ in heapq.nsmallest(_KEPT, scored, key=itemgetter(1, 0))]


def _chance(seed: int, split: int, place: int) -> bytes:
    return hashlib.sha256(f"{seed} {split} {place}".encode()).digest()
