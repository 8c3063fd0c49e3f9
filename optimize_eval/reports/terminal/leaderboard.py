"""Leaderboards, one or two compared, as people read them in a terminal.

Pure. Numbers are never cut; columns that a narrow terminal has no room for are left out.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from optimize_eval.findings.board_shapes import Board, ModelPair, ModelScores, TaskScores
from optimize_eval.findings.boards import seen_from
from optimize_eval.findings.wording import count, interval, number
from optimize_eval.reports import metric_tables
from optimize_eval.reports.cells_of_tables import ends, lead, p_value, short_interval, signed_mark
from optimize_eval.reports.terminal.answer import DECISIVE, DETAILS, MOST_POINTS
from optimize_eval.reports.terminal.summary import (
    HEAD,
    of_models,
    pasted,
    spending_in_short,
    spending_of_models,
)
from optimize_eval.reports.text import Column, Screen, cut_apart, layout_table

if TYPE_CHECKING:  # of two boards
    from optimize_eval.findings.diff_shapes import BoardDiff, ModelDiff, PredictionOfBoard, TaskDiff

_MOST_MODELS = 8  # beside each other
_MOST_ROWS = 30
_LONGEST_TITLE = 14


def render(board: Board, *, screen: Screen) -> str:
    """Lay out everything, the verdict last."""
    models = board.models
    lines = [*layout_table(_models(board, models), screen), *_on_tasks_like_these(models, screen)]
    lines += [*of_models(models, screen), *spending_of_models(board.spent, screen)]
    lines += [*_categories(models, screen), *_tasks(models, screen)]
    return "\n".join([*lines, "", *verdict_of(board, screen)])


def render_answer(board: Board, *, screen: Screen, most: int, next_step: str) -> str:
    """Lay out the models, their tasks where there is room in so many lines, the verdict, what to run next."""
    table = layout_table(_models(board, board.models[:_MOST_MODELS]), screen)
    if more := len(board.models) - _MOST_MODELS:
        table += screen.wrap(" ", f"… and {count(more, 'more model')}: see {DETAILS}") if more > 0 else []
    below = ["", *verdict_of(board, screen, most=MOST_POINTS)]
    below += pasted(f" {'next':<{HEAD - 1}}", next_step, screen) if next_step else []
    spent = spending_in_short(board.spent, screen)
    tasks = _tasks(board.models, screen)
    if len(table) + len(tasks) + len(spent) + len(below) > most:
        tasks = []
    return "\n".join([*table, *tasks, *spent, *below])


def verdict_of(board: Board, screen: Screen, *, most: int | None = None) -> list[str]:
    """Lay out the sentence and its points; of some only those that could change a decision."""
    lines = screen.wrap(" ", f"{board.verdict.text}.")
    points = board.verdict.points
    if most is not None:
        points = tuple(point for point in points if point.mark in DECISIVE)[:most]
    for point in points:
        lines += screen.wrap(f"  {point.mark} ", point.text)
    if wrong := len(board.task_errors):
        lines += screen.wrap("  ! ", f"{count(wrong, 'bad line')} left out (--allow-bad-tasks)")
    return lines


def _models(board: Board, models: Sequence[ModelScores]) -> list[Column]:
    has_failed = any(model.failed for model in models)
    failed = Column("failed", [f"{model.failed:,}" for model in models], is_kept=has_failed)
    skipped = Column("skipped", [f"{model.skipped:,}" for model in models])
    has_skips = any(model.skipped for model in models)
    return [
        Column("model", [model.adapter for model in models], is_name=True),
        Column("overall", [_score(model.overall_score) for model in models]),
        *(
            [Column("95 % CI", [ends(model.ci) for model in models])]
            if any(model.ci for model in models)
            else []
        ),
        *(_differences(board, models) if len(models) > 1 else []),
        *([failed] if has_skips else []),  # of columns without room, the last but one goes first
        Column("timeouts", [f"{model.timeouts:,}" for model in models]),
        *([Column("win rate", [_score(model.win_rate) for model in models])] if len(models) > 1 else []),
        Column("perfect", [f"{model.perfect:,}/{model.applying:,}" for model in models]),
        Column("ms", [_milliseconds(model) for model in models]),
        skipped if has_skips else failed,
    ]


def _on_tasks_like_these(models: Sequence[ModelScores], screen: Screen) -> list[str]:
    """Say what other tasks could make of the overall scores, where there are tasks enough to tell."""
    estimates = [(model.adapter, other) for model in models if (other := model.on_tasks_like_these)]
    texts = [f"{name} {interval(other.ci, number)}" for name, other in estimates[:_MOST_MODELS] if other.ci]
    if not texts:
        return []
    tasks = count(estimates[0][1].tasks, "task")
    return screen.wrap(" ", f"on tasks like these (95 % CI, {tasks} as a sample): {' · '.join(texts)}")


def _differences(board: Board, models: Sequence[ModelScores]) -> list[Column]:
    """Show what each model is ahead of the first, or behind it."""
    first, *others = models
    pairs = [seen_from(model, first, board.pairs) for model in others]
    return [
        Column("Δ first", ["first", *map(lead, pairs)]),
        Column("95 % CI of Δ", ["", *map(_interval, pairs)]),
    ]


def _interval(pair: ModelPair) -> str:
    d = pair.difference
    return short_interval(d.ci) if d.se and d.ci else ""


def _categories(models: Sequence[ModelScores], screen: Screen) -> list[str]:
    """Lay out a row for each category with each model's score."""
    categories = models[0].categories
    names = Column("category", [category.category for category in categories[:_MOST_ROWS]], is_name=True)
    scores = [[category.score for category in model.categories] for model in models]
    return ["", *_beside_each_other([names], scores, models, screen)] if categories else []


def _tasks(models: Sequence[ModelScores], screen: Screen) -> list[str]:
    """Lay out a row for each task with each model's score; its metric and its key in gates where they fit."""
    tasks = models[0].tasks
    shown = tasks[:_MOST_ROWS]
    names = [
        Column("task", [task.name for task in shown], is_name=True),
        Column("metric", [task.metric_name for task in shown], is_text=True),
        *_keys_of(shown),
    ]
    scores = [[task.score for task in model.tasks] for model in models]
    return ["", *_beside_each_other(names, scores, models, screen)] if tasks else []


def _keys_of(tasks: Sequence[TaskScores]) -> list[Column]:
    """Give a column of keys where tasks have other names."""
    keys = [task.evaluator for task in tasks]
    return [Column("key", keys, is_text=True)] if any(keys) else []


def _beside_each_other(
    names: Sequence[Column],
    scores: Sequence[Sequence[float | None]],
    models: Sequence[ModelScores],
    screen: Screen,
) -> list[str]:
    titles = cut_apart([model.adapter for model in models], _LONGEST_TITLE)
    columns = [
        Column(title, [_score(score) for score in of_model[:_MOST_ROWS]])
        for title, of_model in zip(titles[:_MOST_MODELS], scores, strict=False)
    ]
    while len(columns) > 1 and not screen.has_room([names[0], *columns]):
        del columns[-1]  # models come as they are ranked
    parts = [names, [names[0], *names[2:]], names[:1]]  # a key rather than a metric
    has_keys = bool(names[2:])
    if has_keys and not screen.has_room([*names, *columns], uncut=True):
        del parts[0]  # and a name rather than a metric
    fitting = next((part for part in parts if screen.has_room([*part, *columns])), names[:1])
    lines = layout_table([*fitting, *columns], screen)
    left_out = {"more task": len(scores[0]) - _MOST_ROWS, "more model": len(models) - len(columns)}
    for noun, more in left_out.items():
        lines += screen.wrap(" ", f"… and {count(more, noun)}: see --json") if more > 0 else []
    return lines


def _score(value: float | None) -> str:
    return "\N{EN DASH}" if value is None else number(value)


def _milliseconds(model: ModelScores) -> str:
    return "" if model.latency_ms is None else f"{model.latency_ms:,.0f}"


_MOST_CHANGED = 5
_FEW_ROWS = 8  # of an answer
_SHOWN_TEXT = 200


def render_comparison(diff: "BoardDiff", *, screen: Screen) -> str:
    """Lay out everything, the verdict last."""
    diff = diff.with_names_apart()
    lines = [line for model in diff.models for line in _model(model, screen)]
    measured = [*metric_tables.lines_of_diff(diff.metrics, screen)]
    lines += [*([""] if lines and measured else []), *measured]
    return "\n".join([*lines, *([""] if lines else []), *_compared(diff, screen)]).removeprefix("\n")


def render_change(diff: "BoardDiff", *, screen: Screen, most: int, next_step: str) -> str:
    """Lay out the tasks that moved, as many as there is room for in so many lines, and the verdict."""
    diff = diff.with_names_apart()
    below = [*_compared(diff, screen, most=MOST_POINTS), *pasted(f" {'next':<{HEAD - 1}}", next_step, screen)]
    lines: list[str] = []
    for model in diff.models:
        made = _moved(model, screen, _FEW_ROWS)
        if len(lines) + len(made) + len(below) < most:
            lines += made
    return "\n".join([*lines, *([""] if lines else []), *below]).removeprefix("\n")


def _compared(diff: "BoardDiff", screen: Screen, *, most: int | None = None) -> list[str]:
    """Lay out the sentence, its points and what else there is to know; of some, so many in all."""
    points = [(point.mark, point.text) for point in diff.verdict.points]
    rest = [("!", caveat) for caveat in diff.caveats]
    for side, only in (("A", diff.only_in_a), ("B", diff.only_in_b)):
        for what, names in (("models", only.models), ("tasks", only.tasks)):
            if names:
                rest.append(("!", f"{what} only in {side}: {', '.join(names)}"))
    remarks = [*points, *rest] if most is None else [*rest, *points][:most]
    lines = screen.wrap(" ", f"{diff.verdict.text}.")
    return lines + [line for mark, text in remarks for line in screen.wrap(f"  {mark} ", text)]


def _model(model: "ModelDiff", screen: Screen) -> list[str]:
    lines = _moved(model, screen, _MOST_ROWS)
    return lines + _changed(model, screen) if lines else []


def _moved(model: "ModelDiff", screen: Screen, most: int) -> list[str]:
    """Lay out the tasks whose score is another, those that lost most first."""
    moved = sorted((task for task in model.tasks if task.has_moved or task.predictions_changed), key=_gain)
    if not moved:
        return []
    rows = moved[:most]
    table = [
        Column("task", [task.name for task in rows], is_name=True),
        Column("Δ", [_difference(task) for task in rows]),
        Column("A → B", [f"{_score(task.a)} → {_score(task.b)}" for task in rows]),
        Column("95 % CI", [_interval_of_moved(task) for task in rows]),
        Column("p (Holm)", [_p_value(task) for task in rows]),
    ]
    if any(task.predictions_changed is not None for task in rows):
        table.append(Column("changed", [_count(task.predictions_changed) for task in rows]))
    lines = ["", *screen.wrap(" ", f"{_who(model)}: tasks that moved"), *layout_table(table, screen)]
    if more := len(moved) - len(rows):
        rest = "--json" if most == _MOST_ROWS else DETAILS
        lines += screen.wrap(" ", f"… and {count(more, 'more task')}: see {rest}")
    return lines


def _gain(task: "TaskDiff") -> float:
    diff = task.difference.diff
    return diff if diff is not None else float("-inf")


def _difference(task: "TaskDiff") -> str:
    d = task.difference
    return "" if d.diff is None else signed_mark(d.mark, d.diff, is_sure=True)


def _interval_of_moved(task: "TaskDiff") -> str:
    d = task.difference
    return short_interval(d.ci) if d.ci and d.diff else ""


def _p_value(task: "TaskDiff") -> str:
    return p_value(task.difference.p_holm) if task.difference.diff else ""


def _who(model: "ModelDiff") -> str:
    before, after = model.model_in_a, model.model
    return after if before == after else f"{after} (in A {before})"


def _changed(model: "ModelDiff", screen: Screen) -> list[str]:
    lines: list[str] = []
    for one in model.changed[:_MOST_CHANGED]:
        head = "predictions  " if not lines else " " * len("predictions  ")
        text = f"{one.task} {one.id}: {_prediction(one.a)} → {_prediction(one.b)}"
        lines += screen.wrap(f" {head}", text)
    if (more := (model.predictions_changed or 0) - _MOST_CHANGED) > 0:
        lines += screen.wrap(" ", f"… and {count(more, 'more changed prediction')}: see --json")
    return lines


def _prediction(side: "PredictionOfBoard") -> str:
    if side.score is None:
        return str(side.error or "no score")
    text = str(side.prediction)
    shown = text if len(text) <= _SHOWN_TEXT else f"{text[: _SHOWN_TEXT - 1]}…"
    return f"{shown!r} ({number(side.score)})"


def _count(many: int | None) -> str:
    return "" if many is None else f"{many:,}"
