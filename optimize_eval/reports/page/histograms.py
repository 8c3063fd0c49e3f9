"""Numbers of side information sorted into equal steps, as the page draws them: counts of single values.

From where to where the steps go is what summary.json has of a key, over all splits and candidates drawn.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from optimize_eval.reports.page.columns import AxisNames, CellPlaces
from optimize_eval.reports.page.source import PlacedRecords

STEPS = 24
_MOST_CANDIDATES = 40

_Key = tuple[int, int, str]  # an evaluator and a task model by their places, and a dotted path


class Histograms:
    """Counts what passes through."""

    def __init__(self, axes: AxisNames, side_info: Iterable[Mapping[str, Any]]) -> None:
        self._axes = axes
        self._ends: dict[_Key, tuple[float, float]] = {}
        self._counts: dict[CellPlaces, dict[str, list[int]]] = {}
        for place, path, numbers in self._drawn(side_info):
            low, high = self._ends.get((place[0], place[2], path), (numbers["min"], numbers["max"]))
            self._ends[place[0], place[2], path] = min(low, numbers["min"]), max(high, numbers["max"])
            self._counts.setdefault(place, {})[path] = [0] * STEPS

    def through(self, place: CellPlaces, records: PlacedRecords) -> PlacedRecords:
        """Hand the records of a cell on, and count their numbers."""
        counts = self._counts.get(place)
        return records if counts is None else self._counted(place, counts, records)

    def _counted(
        self, place: CellPlaces, counts: dict[str, list[int]], records: PlacedRecords
    ) -> PlacedRecords:
        numbers = _Numbers(counts)
        for placed in records:
            record = placed[1]
            if record["outcome"] == "scored":
                numbers.take(record["side_info"])
            yield placed
        for path, values in numbers.values.items():
            counts[path] = _steps(values, *self._ends[place[0], place[2], path])

    def to_dict(self) -> list[dict[str, object]]:
        """Give each key's ends, and its counts by cell."""
        return [
            {
                "evaluator": evaluator,
                "task_model": model,
                "key": path,
                "ends": ends,
                "cells": [
                    [place[1], place[3], counts[path]]
                    for place, counts in self._counts.items()
                    if place[0] == evaluator and place[2] == model and path in counts
                ],
            }
            for (evaluator, model, path), ends in self._ends.items()
        ]

    def _drawn(self, side_info: Iterable[Mapping[str, Any]]) -> Iterator[tuple[CellPlaces, str, Any]]:
        shown = set(self._axes.candidates[:_MOST_CANDIDATES])
        for entry in side_info:
            if entry["candidate"] in shown:
                place = self._axes.places(
                    entry["evaluator"], entry["candidate"], entry["task_model"], entry["split"]
                )
                yield from (
                    (place, path, values["numbers"])
                    for path, values in entry["keys"].items()
                    if values.get("numbers")
                )


class _Numbers:
    """The numbers of a cell by dotted path: a key's own, or that of one in an object."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.values: dict[str, list[float]] = {path: [] for path in paths}
        self._own = [(path, values.append) for path, values in self.values.items()]
        self._inner = [
            (path[:dot], path[dot + 1 :], values.append)
            for path, values in self.values.items()
            for dot in (at for at, letter in enumerate(path) if letter == ".")
        ]

    def take(self, side_info: Mapping[str, Any]) -> None:
        for key, add in self._own:
            value = side_info.get(key)
            if type(value) is float or type(value) is int:
                add(value)
        for key, deeper, add in self._inner:
            inner = side_info.get(key)
            if type(inner) is dict:
                value = inner.get(deeper)
                if type(value) is float or type(value) is int:
                    add(value)


def _steps(values: list[float], low: float, high: float) -> list[int]:
    """Count the values in each step; sorted, so that a step is found and not each value's."""
    width = high - low

    def step(value: float) -> int:
        share = (value - low) / width if 0 < width < math.inf else 0.0
        return min(STEPS - 1, int(share * STEPS))

    values.sort()
    first, end = bisect_left(values, low), bisect_right(values, high)
    starts = [bisect_left(values, number, first, end, key=step) for number in range(1, STEPS)]
    return [after - before for before, after in zip([first, *starts], [*starts, end], strict=True)]
