"""A leaderboard as people read it in a terminal: the verdict, the models, their categories or tasks.

Pure: the board → text. Numbers are never cut; columns that a narrow terminal has no room for are left out.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.findings.board.verdict import seen_from
from optimize_eval.findings.documents import from_dict
from optimize_eval.findings.shapes.summary import SpendingTotals
from optimize_eval.findings.wording import count, interval, number
from optimize_eval.reports.cells import short_interval, signed_mark
from optimize_eval.reports.columns import cut_apart, wrapped
from optimize_eval.reports.terminal import measures, spending
from optimize_eval.reports.terminal.table import Column, layout_table, least_width

_MOST_MODELS = 8  # beside each other
_MOST_ROWS = 30
_LONGEST_TITLE = 14

Board = Mapping[str, Any]
Model = Mapping[str, Any]


def render(board: Board, *, width: int) -> str:
    """Lay out everything."""
    lines = wrapped(" ", f"{board['verdict']['text']}.", width)
    for point in board["verdict"]["points"]:
        lines += wrapped(f"  {point['mark']} ", point["text"], width)
    if wrong := len(board["task_errors"]):
        lines += wrapped("  ! ", f"{count(wrong, 'bad line')} left out (--allow-bad-tasks)", width)
    lines += [*layout_table(_models(board), width), *_on_tasks_like_these(board, width)]
    lines += measures.of_models(board["models"], width)
    lines += spending.of_models(_spent(board), width)
    for part in ("categories", "tasks"):
        if rows := board["models"][0][part]:
            lines += ["", *_beside_each_other(board, part, rows, width)]
    return "\n".join(lines)


def _models(board: Board) -> list[Column]:
    models = board["models"]
    pairs = [_against_first(board, model) for model in models]
    return [
        Column("model", [model["adapter"] for model in models], is_name=True),
        Column("overall", [_score(model["overall_score"]) for model in models]),
        *(
            [Column("95 % CI", [_ends(model["ci"]) for model in models])]
            if any(model["ci"] for model in models)
            else []
        ),
        *(_differences(pairs) if len(models) > 1 else []),
        Column("timeouts", [f"{model['timeouts']:,}" for model in models]),
        *([Column("win rate", [_score(model["win_rate"]) for model in models])] if len(models) > 1 else []),
        Column("perfect", [f"{model['perfect']:,}/{model['total']:,}" for model in models]),
        Column("ms", [_milliseconds(model) for model in models]),
        Column("failed", [f"{model['failed']:,}" for model in models]),
    ]


def _on_tasks_like_these(board: Board, width: int) -> list[str]:
    """Say what other tasks could make of the overall scores, where there are tasks enough to tell."""
    found = [
        (model["adapter"], other) for model in board["models"] if (other := model.get("on_tasks_like_these"))
    ]
    texts = [f"{name} {interval(other['ci'], number)}" for name, other in found[:_MOST_MODELS] if other["ci"]]
    if not texts:
        return []
    tasks = count(found[0][1]["tasks"], "task")
    return wrapped(" ", f"on tasks like these (95 % CI, {tasks} as a sample): {' · '.join(texts)}", width)


def _differences(pairs: Sequence[Mapping[str, Any] | None]) -> list[Column]:
    """Show what each model is ahead of the first, or behind it."""
    known = [pair if pair and pair["diff"] is not None else None for pair in pairs]
    return [
        Column("Δ first", ["first" if not place else _difference(pair) for place, pair in enumerate(known)]),
        Column("95 % CI of Δ", [short_interval(pair["ci"]) if pair and pair["se"] else "" for pair in known]),
    ]


def _difference(pair: Mapping[str, Any] | None) -> str:
    if not pair:
        return ""
    return signed_mark(pair["mark"], pair["diff"], is_sure=bool(pair.get("holds_at_worst")))


def _spent(board: Board) -> SpendingTotals | None:
    spent = board.get("spent")
    return from_dict(SpendingTotals, spent) if spent else None


def _against_first(board: Board, model: Model) -> Mapping[str, Any] | None:
    first = board["models"][0]
    return None if model is first else seen_from(model, first, board["pairs"])


def _beside_each_other(board: Board, part: str, rows: Sequence[Mapping[str, Any]], width: int) -> list[str]:
    """Lay out a row for each category or task with each model's score."""
    what = {"categories": "category", "tasks": "task"}[part]
    name = Column(what, [row[what] for row in rows[:_MOST_ROWS]], is_name=True)
    titles = cut_apart([model["adapter"] for model in board["models"]], _LONGEST_TITLE)
    pairs = zip(titles[:_MOST_MODELS], board["models"], strict=False)
    scores = [_scores(title, model, part) for title, model in pairs]
    while len(scores) > 1 and least_width([name, *scores]) > width:
        del scores[-1]  # models come as they are ranked
    told = [name, *scores]
    if part == "tasks":
        metric = Column("metric", [row["metric_id"] for row in rows[:_MOST_ROWS]], is_text=True)
        told = with_metric if least_width(with_metric := [name, metric, *scores]) <= width else told
    lines = layout_table(told, width)
    left_out = {"more task": len(rows) - _MOST_ROWS, "more model": len(board["models"]) - len(scores)}
    for noun, more in left_out.items():
        lines += wrapped(" ", f"… and {count(more, noun)}: see --json", width) if more > 0 else []
    return lines


def _scores(title: str, model: Model, part: str) -> Column:
    return Column(title, [_score(row["score"]) for row in model[part][:_MOST_ROWS]])


def _ends(ci: Sequence[float] | None) -> str:
    return "" if ci is None else f"{number(ci[0])} {number(ci[1])}"


def _score(value: float | None) -> str:
    return "\N{EN DASH}" if value is None else number(value)


def _milliseconds(model: Model) -> str:
    return "" if model["latency_ms"] is None else f"{model['latency_ms']:,.0f}"
