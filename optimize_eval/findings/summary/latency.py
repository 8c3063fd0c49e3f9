"""How long calls took, by evaluator and split: the one part of a summary in which two runs may differ."""

import heapq
from array import array
from collections.abc import Sequence

from optimize_eval.findings.shapes.measured import LatencyEntry
from optimize_eval.findings.sideinfo import quantile
from optimize_eval.store.layout import Cell
from optimize_eval.store.view import JournalRecord

_PIECE = 4096


class Latency:
    """Takes in records of all cells."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[str, str], array[float]] = {}
        self._attempts: dict[tuple[str, str], int] = {}

    def take(self, cell: Cell, record: JournalRecord) -> None:
        if "seconds" in record:
            where = cell.evaluator, cell.split
            self._seconds.setdefault(where, array("d")).append(record["seconds"])
            self._attempts[where] = self._attempts.get(where, 0) + record.get("attempts", 1)

    def entries(self) -> tuple[LatencyEntry, ...]:
        return tuple(self._entry(*where) for where in self._seconds)

    def _entry(self, evaluator: str, split: str) -> LatencyEntry:
        seconds = _in_order(self._seconds[evaluator, split])
        return LatencyEntry(
            evaluator=evaluator,
            split=split,
            n=len(seconds),
            p50=quantile(seconds, 0.5),
            p95=quantile(seconds, 0.95),
            max=seconds[-1],
            attempts=self._attempts[evaluator, split],
            total=round(sum(seconds), 6),
        )


def _in_order(values: Sequence[float]) -> Sequence[float]:
    """Sort piece by piece: a list of all of them would take four times the room of an array."""
    pieces = [array("d", sorted(values[start : start + _PIECE])) for start in range(0, len(values), _PIECE)]
    return array("d", heapq.merge(*pieces))
