"""Leaderboards as one table for spreadsheets: a row for each model overall, by category and by task.

Every number is written so that reading it gives the same float. A run's records are reports.rows'.
"""

from collections.abc import Iterator, Mapping
from itertools import chain

from optimize_eval.findings.board.shapes import Board, CategoryScores, ModelScores, TaskScores
from optimize_eval.reports.rows import Cells, gathered

COLUMNS = (
    *("model", "scope", "name", "metric", "score", "se", "ci_low", "ci_high", "method", "n"),
    *("correct", "perfect", "total", "scored", "failed", "timeouts", "coverage", "lower_bound"),
    *("win_rate", "latency_ms"),
)
SKIPPED = "skipped"  # the last column, where there are any
OVERALL, CATEGORY, TASK = "overall", "category", "task"


def csv_pieces(boards: Mapping[str, Board], *, ci: bool) -> Iterator[str]:
    """Write boards by their metrics' names, the bench's own without one; `ci` as for inert."""
    write = Cells(ci)
    rows = (row for metric, board in boards.items() for row in _rows(board, metric or None))
    has_skips = any(model.skipped for board in boards.values() for model in board.models)
    columns = (*COLUMNS, *[SKIPPED] * has_skips)
    lines = (write.line([row.get(name) for name in columns]) for row in rows)
    return gathered(chain([write.line(columns)], lines))


def _rows(board: Board, metric: str | None) -> Iterator[Mapping[str, object]]:
    for model in board.models:
        numbers = {**_numbers(model), "score": model.overall_score}
        yield {**numbers, "model": model.adapter, "scope": OVERALL, "metric": metric}
    for model in board.models:
        for category in model.categories:
            where = {"model": model.adapter, "scope": CATEGORY, "name": category.category}
            yield {**_numbers(category), **where, "metric": metric}
        for task in model.tasks:
            where = {"model": model.adapter, "scope": TASK, "name": task.task}
            yield {**_numbers(task), **where, "metric": task.metric_id}


def _numbers(scores: ModelScores | CategoryScores | TaskScores) -> Mapping[str, object]:
    """Give what stands in columns of their names, and both ends of the interval."""
    low, high = scores.ci or (None, None)
    numbers = {name: getattr(scores, name, None) for name in (*COLUMNS, SKIPPED)}
    return {**numbers, "ci_low": low, "ci_high": high}
