"""Leaderboards as one table for spreadsheets: a row for each model overall, by category and by task.

Of tasks in YAML there follow, by scorer: each number of a metric, and which could not be computed; how many
rows each rule left out, and how many failed at which stage.
Every number is written so that reading it gives the same float. A run's records are reports.rows'.
"""

from collections.abc import Iterator, Mapping
from itertools import chain

from optimize_eval.findings.board_shapes import Board, CategoryScores, ModelScores, TaskScores
from optimize_eval.findings.summary_shape import Summary
from optimize_eval.reports.rows import Cells, gathered

COLUMNS = (
    *("model", "scope", "name", "metric", "score", "se", "ci_low", "ci_high", "method", "n"),
    *("correct", "perfect", "total", "scored", "failed", "timeouts", "coverage", "lower_bound"),
    *("win_rate", "latency_ms"),
)
SKIPPED = "skipped"  # the last column, where there are any
OVERALL, CATEGORY, TASK = "overall", "category", "task"
METRIC, EXCLUDED, FAILED = "metric", "excluded", "failed"


def csv_pieces(boards: Mapping[str, Board], *, ci: bool, summary: Summary | None = None) -> Iterator[str]:
    """Write boards by their metrics' names, the bench's own without one; `ci` as for inert.

    `summary` has the metrics of tasks in YAML.
    """
    write = Cells(ci)
    rows = chain(
        (row for metric, board in boards.items() for row in _rows(board, metric or None)),
        _of_tasks(summary) if summary and summary.metrics else (),
    )
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


def _of_tasks(summary: Summary) -> Iterator[Mapping[str, object]]:
    for one in summary.metrics:
        where = {"model": one.task_model, "name": one.evaluator}
        counts = {"total": one.table.n_total, "scored": one.table.n_scored, "failed": one.table.n_failed}
        for measured in one.table.metrics:
            for name, value in measured.values.items():
                row = {**where, **counts, "scope": METRIC, "metric": name}
                yield {**row, "score": value, "n": measured.n}
            if measured.problem:
                yield {**where, "scope": FAILED, "metric": f"metric {measured.type}", "failed": 1}
        for rule, many in one.table.excluded_by.items():
            yield {**where, "scope": EXCLUDED, "metric": rule, "n": many}
        for fault in one.rule_faults:
            yield {**where, "scope": FAILED, "metric": f"action {fault.rule}", "failed": fault.count}
    for entry in summary.failures:
        where = {"model": entry.task_model, "name": entry.evaluator, "scope": FAILED}
        yield {**where, "metric": entry.stage or entry.kind, "failed": entry.count}


def _numbers(scores: ModelScores | CategoryScores | TaskScores) -> Mapping[str, object]:
    """Give what stands in columns of their names, and both ends of the interval."""
    low, high = scores.ci or (None, None)
    numbers = {name: getattr(scores, name, None) for name in (*COLUMNS, SKIPPED)}
    return {**numbers, "ci_low": low, "ci_high": high}
