"""Two leaderboards compared, as people read it: the verdict, the tasks that moved, changed predictions.

Pure: the comparison → text. Numbers are never cut.
"""

from collections.abc import Mapping
from typing import Any

from optimize_eval.findings.wording import count, number
from optimize_eval.reports.cells import p_value, short_interval, signed_mark
from optimize_eval.reports.columns import wrapped
from optimize_eval.reports.terminal.table import Column, layout_table

_MOST_ROWS = 30
_MOST_CHANGED = 5
_SHOWN_TEXT = 200

Model = Mapping[str, Any]


def render(compared: Mapping[str, Any], *, width: int) -> str:
    """Lay out everything."""
    lines = wrapped(" ", f"{compared['verdict']['text']}.", width)
    for point in compared["verdict"]["points"]:
        lines += wrapped(f"  {point['mark']} ", point["text"], width)
    for caveat in compared["caveats"]:
        lines += wrapped("  ! ", caveat, width)
    for side in ("a", "b"):
        for what, names in compared[f"only_in_{side}"].items():
            if names:
                lines += wrapped("  ! ", f"{what} only in {side.upper()}: {', '.join(names)}", width)
    for model in compared["models"]:
        lines += _model(model, width)
    return "\n".join(lines)


def _model(model: Model, width: int) -> list[str]:
    moved = sorted(
        (task for task in model["tasks"] if task["a"] != task["b"] or task["predictions_changed"]),
        key=lambda task: task["diff"] if task["diff"] is not None else float("-inf"),
    )
    if not moved:
        return []
    rows = moved[:_MOST_ROWS]
    given = [
        Column("task", [task["task"] for task in rows], is_name=True),
        Column(
            "Δ",
            [
                "" if task["diff"] is None else signed_mark(task["mark"], task["diff"], is_sure=True)
                for task in rows
            ],
        ),
        Column("A → B", [f"{_score(task['a'])} → {_score(task['b'])}" for task in rows]),
        Column(
            "95 % CI", [short_interval(task["ci"]) if task["ci"] and task["diff"] else "" for task in rows]
        ),
        Column("p (Holm)", [p_value(task["p_holm"]) if task["diff"] else "" for task in rows]),
        Column("changed", [_count(task["predictions_changed"]) for task in rows]),
    ]
    lines = ["", *wrapped(" ", f"{_who(model)}: tasks that moved", width), *layout_table(given, width)]
    if more := len(moved) - len(rows):
        lines += wrapped(" ", f"… and {count(more, 'more task')}: see --json", width)
    return lines + _changed(model, width)


def _who(model: Model) -> str:
    names = model["model_in_a"], model["model"]
    return names[1] if names[0] == names[1] else f"{names[1]} (in A {names[0]})"


def _changed(model: Model, width: int) -> list[str]:
    lines: list[str] = []
    for one in model["changed"][:_MOST_CHANGED]:
        head = "predictions  " if not lines else " " * len("predictions  ")
        text = f"{one['task']} {one['id']}: {_said(one['a'])} → {_said(one['b'])}"
        lines += wrapped(f" {head}", text, width)
    if (more := (model["predictions_changed"] or 0) - _MOST_CHANGED) > 0:
        lines += wrapped(" ", f"… and {count(more, 'more changed prediction')}: see --json", width)
    return lines


def _said(side: Mapping[str, Any]) -> str:
    if side["score"] is None:
        return str(side["error"] or "no score")
    text = str(side["prediction"])
    shown = text if len(text) <= _SHOWN_TEXT else f"{text[: _SHOWN_TEXT - 1]}…"
    return f"{shown!r} ({number(side['score'])})"


def _score(value: float | None) -> str:
    return "\N{EN DASH}" if value is None else number(value)


def _count(many: int | None) -> str:
    return "" if many is None else f"{many:,}"
