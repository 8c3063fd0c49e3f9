"""A leaderboard as people read it in a terminal: the verdict, the models, their categories or tasks.

Pure: the board → text. Numbers are never cut; columns that a narrow terminal has no room for are left out.
"""

from collections.abc import Sequence

from optimize_eval.findings.board_shapes import Board, ModelPair, ModelScores, TaskScores
from optimize_eval.findings.boards import seen_from
from optimize_eval.findings.wording import count, interval, number
from optimize_eval.reports.board.leads import lead
from optimize_eval.reports.cells import short_interval
from optimize_eval.reports.columns import cut_apart, wrapped
from optimize_eval.reports.terminal import measures, spending
from optimize_eval.reports.terminal.table import Column, layout_table, least_width, whole_width

_MOST_MODELS = 8  # beside each other
_MOST_ROWS = 30
_LONGEST_TITLE = 14


def render(board: Board, *, width: int) -> str:
    """Lay out everything."""
    lines = wrapped(" ", f"{board.verdict.text}.", width)
    for point in board.verdict.points:
        lines += wrapped(f"  {point.mark} ", point.text, width)
    if wrong := len(board.task_errors):
        lines += wrapped("  ! ", f"{count(wrong, 'bad line')} left out (--allow-bad-tasks)", width)
    lines += [*layout_table(_models(board), width), *_on_tasks_like_these(board.models, width)]
    lines += measures.of_models(board.models, width)
    lines += spending.of_models(board.spent, width)
    return "\n".join([*lines, *_categories(board.models, width), *_tasks(board.models, width)])


def _models(board: Board) -> list[Column]:
    models = board.models
    has_failed = any(model.failed for model in models)
    failed = Column("failed", [f"{model.failed:,}" for model in models], is_kept=has_failed)
    skipped = Column("skipped", [f"{model.skipped:,}" for model in models])
    has_skips = any(model.skipped for model in models)
    return [
        Column("model", [model.adapter for model in models], is_name=True),
        Column("overall", [_score(model.overall_score) for model in models]),
        *(
            [Column("95 % CI", [_ends(model.ci) for model in models])]
            if any(model.ci for model in models)
            else []
        ),
        *(_differences(board) if len(models) > 1 else []),
        *([failed] if has_skips else []),  # of columns without room, the last but one goes first
        Column("timeouts", [f"{model.timeouts:,}" for model in models]),
        *([Column("win rate", [_score(model.win_rate) for model in models])] if len(models) > 1 else []),
        Column("perfect", [f"{model.perfect:,}/{model.applying:,}" for model in models]),
        Column("ms", [_milliseconds(model) for model in models]),
        skipped if has_skips else failed,
    ]


def _on_tasks_like_these(models: Sequence[ModelScores], width: int) -> list[str]:
    """Say what other tasks could make of the overall scores, where there are tasks enough to tell."""
    estimates = [(model.adapter, other) for model in models if (other := model.on_tasks_like_these)]
    texts = [f"{name} {interval(other.ci, number)}" for name, other in estimates[:_MOST_MODELS] if other.ci]
    if not texts:
        return []
    tasks = count(estimates[0][1].tasks, "task")
    return wrapped(" ", f"on tasks like these (95 % CI, {tasks} as a sample): {' · '.join(texts)}", width)


def _differences(board: Board) -> list[Column]:
    """Show what each model is ahead of the first, or behind it."""
    first, *others = board.models
    pairs = [seen_from(model, first, board.pairs) for model in others]
    return [
        Column("Δ first", ["first", *map(lead, pairs)]),
        Column("95 % CI of Δ", ["", *map(_interval, pairs)]),
    ]


def _interval(pair: ModelPair) -> str:
    d = pair.difference
    return short_interval(d.ci) if d.se and d.ci else ""


def _categories(models: Sequence[ModelScores], width: int) -> list[str]:
    """Lay out a row for each category with each model's score."""
    categories = models[0].categories
    names = Column("category", [one.category for one in categories[:_MOST_ROWS]], is_name=True)
    scores = [[one.score for one in model.categories] for model in models]
    return ["", *_beside_each_other([names], scores, models, width)] if categories else []


def _tasks(models: Sequence[ModelScores], width: int) -> list[str]:
    """Lay out a row for each task with each model's score; its metric and its key in gates where they fit."""
    tasks = models[0].tasks
    shown = tasks[:_MOST_ROWS]
    names = [
        Column("task", [task.name for task in shown], is_name=True),
        Column("metric", [task.metric_name for task in shown], is_text=True),
        *_keys_of(shown),
    ]
    scores = [[task.score for task in model.tasks] for model in models]
    return ["", *_beside_each_other(names, scores, models, width)] if tasks else []


def _keys_of(tasks: Sequence[TaskScores]) -> list[Column]:
    """Give a column of keys where tasks have other names."""
    keys = [task.evaluator for task in tasks]
    return [Column("key", keys, is_text=True)] if any(keys) else []


def _beside_each_other(
    names: Sequence[Column],
    scores: Sequence[Sequence[float | None]],
    models: Sequence[ModelScores],
    width: int,
) -> list[str]:
    titles = cut_apart([model.adapter for model in models], _LONGEST_TITLE)
    columns = [
        Column(title, [_score(score) for score in of_model[:_MOST_ROWS]])
        for title, of_model in zip(titles[:_MOST_MODELS], scores, strict=False)
    ]
    while len(columns) > 1 and least_width([names[0], *columns]) > width:
        del columns[-1]  # models come as they are ranked
    parts = [names, [names[0], *names[2:]], names[:1]]  # a key rather than a metric
    has_keys = bool(names[2:])
    if has_keys and whole_width([*names, *columns]) > width:
        del parts[0]  # and a name rather than a metric
    fitting = next((part for part in parts if least_width([*part, *columns]) <= width), names[:1])
    lines = layout_table([*fitting, *columns], width)
    left_out = {"more task": len(scores[0]) - _MOST_ROWS, "more model": len(models) - len(columns)}
    for noun, more in left_out.items():
        lines += wrapped(" ", f"… and {count(more, noun)}: see --json", width) if more > 0 else []
    return lines


def _ends(ci: Sequence[float] | None) -> str:
    return "" if ci is None else f"{number(ci[0])} {number(ci[1])}"


def _score(value: float | None) -> str:
    return "\N{EN DASH}" if value is None else number(value)


def _milliseconds(model: ModelScores) -> str:
    return "" if model.latency_ms is None else f"{model.latency_ms:,.0f}"
