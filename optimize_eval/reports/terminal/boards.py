"""Two leaderboards compared, as people read it: the verdict, the tasks that moved, changed predictions.

Pure: the comparison → text. Numbers are never cut.
"""

from optimize_eval.findings.diff_runs import with_models_apart
from optimize_eval.findings.diff_shapes import BoardDiff, ModelDiff, PredictionOfBoard, TaskDiff
from optimize_eval.findings.wording import count, number
from optimize_eval.reports.cells import p_value, short_interval, signed_mark
from optimize_eval.reports.columns import wrapped
from optimize_eval.reports.metrics import diff as metrics
from optimize_eval.reports.terminal.table import Column, layout_table

_MOST_ROWS = 30
_MOST_CHANGED = 5
_SHOWN_TEXT = 200


def render(diff: BoardDiff, *, width: int) -> str:
    """Lay out everything."""
    diff = with_models_apart(diff)
    lines = wrapped(" ", f"{diff.verdict.text}.", width)
    for point in diff.verdict.points:
        lines += wrapped(f"  {point.mark} ", point.text, width)
    for caveat in diff.caveats:
        lines += wrapped("  ! ", caveat, width)
    for side, only in (("A", diff.only_in_a), ("B", diff.only_in_b)):
        for what, names in (("models", only.models), ("tasks", only.tasks)):
            if names:
                lines += wrapped("  ! ", f"{what} only in {side}: {', '.join(names)}", width)
    for model in diff.models:
        lines += _model(model, width)
    measured = [*metrics.lines_of(diff.metrics, width)]
    return "\n".join([*lines, *([""] if measured else []), *measured])


def _model(model: ModelDiff, width: int) -> list[str]:
    moved = sorted((task for task in model.tasks if task.has_moved or task.predictions_changed), key=_gain)
    if not moved:
        return []
    rows = moved[:_MOST_ROWS]
    table = [
        Column("task", [task.name for task in rows], is_name=True),
        Column("Δ", [_difference(task) for task in rows]),
        Column("A → B", [f"{_score(task.a)} → {_score(task.b)}" for task in rows]),
        Column("95 % CI", [_interval(task) for task in rows]),
        Column("p (Holm)", [_p_value(task) for task in rows]),
    ]
    if any(task.predictions_changed is not None for task in rows):
        table.append(Column("changed", [_count(task.predictions_changed) for task in rows]))
    lines = ["", *wrapped(" ", f"{_who(model)}: tasks that moved", width), *layout_table(table, width)]
    if more := len(moved) - len(rows):
        lines += wrapped(" ", f"… and {count(more, 'more task')}: see --json", width)
    return lines + _changed(model, width)


def _gain(task: TaskDiff) -> float:
    diff = task.difference.diff
    return diff if diff is not None else float("-inf")


def _difference(task: TaskDiff) -> str:
    d = task.difference
    return "" if d.diff is None else signed_mark(d.mark, d.diff, is_sure=True)


def _interval(task: TaskDiff) -> str:
    d = task.difference
    return short_interval(d.ci) if d.ci and d.diff else ""


def _p_value(task: TaskDiff) -> str:
    return p_value(task.difference.p_holm) if task.difference.diff else ""


def _who(model: ModelDiff) -> str:
    before, after = model.model_in_a, model.model
    return after if before == after else f"{after} (in A {before})"


def _changed(model: ModelDiff, width: int) -> list[str]:
    lines: list[str] = []
    for one in model.changed[:_MOST_CHANGED]:
        head = "predictions  " if not lines else " " * len("predictions  ")
        text = f"{one.task} {one.id}: {_prediction(one.a)} → {_prediction(one.b)}"
        lines += wrapped(f" {head}", text, width)
    if (more := (model.predictions_changed or 0) - _MOST_CHANGED) > 0:
        lines += wrapped(" ", f"… and {count(more, 'more changed prediction')}: see --json", width)
    return lines


def _prediction(side: PredictionOfBoard) -> str:
    if side.score is None:
        return str(side.error or "no score")
    text = str(side.prediction)
    shown = text if len(text) <= _SHOWN_TEXT else f"{text[: _SHOWN_TEXT - 1]}…"
    return f"{shown!r} ({number(side.score)})"


def _score(value: float | None) -> str:
    return "\N{EN DASH}" if value is None else number(value)


def _count(many: int | None) -> str:
    return "" if many is None else f"{many:,}"
