"""Leaderboards as one table for spreadsheets: a row for each model overall, by category and by task.

Every number is written so that reading it gives the same float. A run's records are reports.rows'.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from optimize_eval.reports.rows import Cells, gathered

COLUMNS = (
    *("model", "scope", "name", "metric", "score", "se", "ci_low", "ci_high", "method", "n"),
    *("correct", "perfect", "total", "scored", "failed", "timeouts", "coverage", "lower_bound"),
    *("win_rate", "latency_ms"),
)
OVERALL, CATEGORY, TASK = "overall", "category", "task"

Row = Mapping[str, Any]


def csv_pieces(boards: Mapping[str, Mapping[str, Any]], *, ci: bool) -> Iterator[str]:
    """Write boards by their metrics' names, the bench's own without one; `ci` as for inert."""
    write = Cells(ci)
    rows = (row for metric, board in boards.items() for row in _rows(board, metric))
    lines = (write.line([row.get(name) for name in COLUMNS]) for row in rows)
    return gathered(chain([write.line(COLUMNS)], lines))


def _rows(board: Mapping[str, Any], metric: str) -> Iterator[Row]:
    for model in board["models"]:
        yield {**_spread(model), "scope": OVERALL, "score": model["overall_score"], "metric": metric or None}
    for model in board["models"]:
        of_model = {"model": model["adapter"], "metric": metric or None}
        for one in model["categories"]:
            yield {**_spread(one), **of_model, "scope": CATEGORY, "name": one["category"]}
        for one in model["tasks"]:
            yield {**_spread(one), **of_model, "scope": TASK, "name": one["task"], "metric": one["metric_id"]}


def _spread(told: Row) -> dict[str, Any]:
    low, high = told["ci"] or (None, None)
    return {**told, "model": told.get("adapter"), "ci_low": low, "ci_high": high}
