"""The numbers of all records as columns: a stretch of units for each cell that has a record.

A unit's place is that of its cell, then its example's, then its repeat's. Which axes there are is run.json's.
"""

import math
import sys
from array import array
from collections.abc import Iterable, Sequence

from optimize_eval.base.documents import JsonMapping, to_dict
from optimize_eval.base.spent import SpentTotal, is_of_reply
from optimize_eval.findings.side_info import Durations, latency_of
from optimize_eval.reports.source import PageRun, PlacedRecords, evaluators_of
from optimize_eval.store.layout import Cell

SCORED, FAILED, SKIPPED = range(1, 4)  # 0: not run

_OUTCOMES = {"scored": SCORED, "failed": FAILED, "skipped": SKIPPED}

CellPlaces = tuple[int, int, int, int]  # evaluator, candidate, task model, split, each by its place


class AxisNames:
    """The axes of a run by name, as places."""

    def __init__(self, run: PageRun) -> None:
        self.evaluators: list[str] = [entry["name"] for entry in evaluators_of(run)]
        self.candidates: list[str] = [entry["name"] for entry in run["candidates"]]
        self.task_models: list[str | None] = list(run["task_models"])
        self.splits: list[str] = [split["name"] for split in run["splits"]]
        self.lines: list[list[int | None]] = [list(split["lines"]) for split in run["splits"]]
        self.repeats = int(run["repeats"])
        self._places = [
            {name: index for index, name in enumerate(names)}
            for names in (self.evaluators, self.candidates, self.task_models, self.splits)
        ]

    def to_dict(self) -> dict[str, object]:
        return {
            "evaluators": self.evaluators,
            "candidates": self.candidates,
            "task_models": self.task_models,
            "splits": self.splits,
            "sizes": [len(lines) for lines in self.lines],
            "repeats": self.repeats,
        }

    def key(self, cell: Cell) -> CellPlaces:
        """Give a cell by the places of its names."""
        return self.places(cell.evaluator, cell.candidate, cell.task_model, cell.split)

    def places(self, evaluator: str, candidate: str, task_model: str | None, split: str) -> CellPlaces:
        evaluators, candidates, task_models, splits = self._places
        return evaluators[evaluator], candidates[candidate], task_models[task_model], splits[split]


class Taken:
    """What the replies of an evaluator, a candidate and a task model took, over all splits."""

    def __init__(self) -> None:
        self.spent = SpentTotal()
        self.seconds = array("d")

    def take(self, usages: Iterable[JsonMapping]) -> None:
        for usage in filter(is_of_reply, usages):
            self.spent.take(usage)
            self.seconds.append(usage.get("seconds") or 0.0)

    def to_dict(self, of: tuple[int, int, int], calls: Sequence[float]) -> dict[str, object]:
        """Give the totals, and the median and the 95th percentile of a reply, else of a call."""
        latency = latency_of("", "", [Durations(self.seconds or calls)], 0)
        known = {"p50": latency.p50, "p95": latency.p95} if latency else {}
        return {"of": of, **to_dict(self.spent.total), **known}


class RecordColumns:
    """Scores, seconds and outcomes; cells in the order of their axes."""

    def __init__(self, axes: AxisNames) -> None:
        self.axes = axes
        self._taken: dict[tuple[int, int, int], Taken] = {}
        self._cells: dict[CellPlaces, tuple[array[float], array[float], bytearray]] = {}

    def take(self, key: CellPlaces, records: PlacedRecords) -> None:
        """Put the records of a cell where they belong; one without records has no columns."""
        cell, taken = None, self._taken.setdefault(key[:3], Taken())
        for at, record in records:
            cell = cell or self._begin(key)
            scores, seconds, outcomes = cell
            outcomes[at] = _OUTCOMES[record["outcome"]]
            seconds[at] = record.get("seconds") or 0.0
            if (score := record.get("score")) is not None:
                scores[at] = score
            if "usage" in record:
                taken.take(record["usage"])

    @property
    def taken(self) -> list[dict[str, object]]:
        return [taken.to_dict(of, self._seconds_of(of)) for of, taken in self._taken.items()]

    def _seconds_of(self, of: tuple[int, int, int]) -> list[float]:
        return [
            taken
            for key, (_, seconds, outcomes) in self._cells.items()
            if key[:3] == of
            for taken, outcome in zip(seconds, outcomes, strict=True)
            if outcome in {SCORED, FAILED}
        ]

    def _begin(self, key: CellPlaces) -> tuple["array[float]", "array[float]", bytearray]:
        size = len(self.axes.lines[key[3]]) * self.axes.repeats
        cell = array("d", [math.nan]) * size, array("f", [0.0]) * size, bytearray(size)
        self._cells[key] = cell
        return cell

    @property
    def cells(self) -> list[CellPlaces]:
        return sorted(self._cells)

    @property
    def size(self) -> int:
        return sum(len(outcomes) for *_, outcomes in self._cells.values())

    def outcomes(self, key: CellPlaces) -> bytearray:
        return self._cells[key][2]

    def means(self, key: CellPlaces) -> list[float]:
        """Give each example's score, over repeats their mean; nan where nothing was scored."""
        scores, repeats = self._cells[key][0], self.axes.repeats
        if repeats == 1:
            return scores.tolist()
        parts = (scores[start : start + repeats] for start in range(0, len(scores), repeats))
        return [_mean([score for score in part if not math.isnan(score)]) for part in parts]

    def to_bytes(self) -> bytes:
        """Put the columns one behind the other, each over all cells: float64, float32, uint8."""
        columns = zip(*(self._cells[key] for key in self.cells), strict=True)
        return b"".join(bytes(_little(part)) for column in columns for part in column)


def _mean(scores: list[float]) -> float:
    return math.fsum(scores) / len(scores) if scores else math.nan


def _little(part: "array[float] | bytearray") -> "array[float] | bytearray":
    if sys.byteorder == "little" or isinstance(part, bytearray):
        return part
    swapped = part[:]
    swapped.byteswap()
    return swapped
