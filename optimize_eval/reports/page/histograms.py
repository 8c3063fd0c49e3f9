"""Numbers of side information sorted into equal steps, as the page draws them: counts of single values.

From where to where the steps go is what summary.json has of a key, over all splits and candidates drawn.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from optimize_eval.reports.page.columns import AxisNames, CellPlaces
from optimize_eval.reports.page.source import PlacedRecord

STEPS = 24
_MOST_CANDIDATES = 40

_Key = tuple[int, int, str]  # an evaluator and a task model by their places, and a dotted path


class _Steps(NamedTuple):
    """The steps of one key in one cell."""

    low: float
    high: float
    counts: list[int]

    def take(self, value: float) -> None:
        if self.low <= value <= self.high:
            width = self.high - self.low
            share = (value - self.low) / width if 0 < width < math.inf else 0.0
            self.counts[min(STEPS - 1, int(share * STEPS))] += 1


_Wanted = dict[str, "_Steps | dict[str, _Steps]"]  # by key; of an object by the keys in it


class Histograms:
    """Counts what passes through."""

    def __init__(self, axes: AxisNames, side_info: Iterable[Mapping[str, Any]]) -> None:
        self._axes = axes
        self._ends: dict[_Key, tuple[float, float]] = {}
        self._steps: dict[CellPlaces, dict[str, _Steps]] = {}
        entries = list(self._drawn(side_info))
        for place, path, numbers in entries:
            low, high = self._ends.get((place[0], place[2], path), (numbers["min"], numbers["max"]))
            self._ends[place[0], place[2], path] = min(low, numbers["min"]), max(high, numbers["max"])
        for place, path, _ in entries:
            steps = _Steps(*self._ends[place[0], place[2], path], [0] * STEPS)
            self._steps.setdefault(place, {})[path] = steps
        self._wanted = {place: _by_keys(steps) for place, steps in self._steps.items()}

    def through(self, records: Iterable[PlacedRecord]) -> Iterator[PlacedRecord]:
        """Hand records on, and count their numbers."""
        for placed in records:
            cell, _, record = placed
            wanted = self._wanted.get(self._axes.key(cell))
            if wanted and record["outcome"] == "scored":
                _take(wanted, record["side_info"])
            yield placed

    def to_dict(self) -> list[dict[str, object]]:
        """Give each key's ends, and its counts by cell."""
        return [
            {
                "evaluator": evaluator,
                "task_model": model,
                "key": path,
                "ends": ends,
                "cells": [
                    [place[1], place[3], steps[path].counts]
                    for place, steps in self._steps.items()
                    if place[0] == evaluator and place[2] == model and path in steps
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


def _by_keys(steps: Mapping[str, _Steps]) -> _Wanted:
    """Find the steps by the keys of an object, of which a dotted path is one or two."""
    found: _Wanted = {}
    for path, one in steps.items():
        found.setdefault(path, one)
        for dot in (at for at, letter in enumerate(path) if letter == "."):
            inner = found.setdefault(path[:dot], {})
            if isinstance(inner, dict):
                inner[path[dot + 1 :]] = one
    return found


def _take(wanted: _Wanted, side_info: Mapping[str, Any]) -> None:
    for key, value in side_info.items():
        kind = type(value)
        if kind is float or kind is int:
            if isinstance(steps := wanted.get(key), _Steps):
                steps.take(value)
        elif kind is dict and isinstance(inner := wanted.get(key), dict):
            for deeper, number in value.items():
                if type(number) in {int, float} and (found := inner.get(deeper)):
                    found.take(number)
