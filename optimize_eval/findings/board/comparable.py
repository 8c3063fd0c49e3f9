"""Whether two leaderboards measure the same: the same metrics, on the same task files."""

import re
from collections import Counter
from collections.abc import Sequence

from optimize_eval.findings.board.shapes import Board, TaskScores
from optimize_eval.names import distinct

_MOST_LISTED = 10
_SHOWN = 8
_DIGEST = re.compile(r"[0-9a-f]{64}")


def differences(a: Board, b: Board) -> list[str]:
    """Say why the scores of two boards are not of the same: other metrics, other task files."""
    before, after = by_name(a.models[0].tasks), by_name(b.models[0].tasks)
    common = [name for name in after if name in before]
    if not common:
        return ["they have no task in common"]
    reasons = [
        f"task {name} {words}: {_short(value_of(before[name]))} in A, {_short(value_of(after[name]))} in B"
        for value_of, words in ((_metric, "has another metric"), (_digest, "is of another file"))
        for name in common
        if value_of(before[name]) != value_of(after[name])
    ]
    more = len(reasons) - _MOST_LISTED
    return [*reasons[:_MOST_LISTED], *([f"and {more:,} more"] if more > 0 else [])]


def by_name(tasks: Sequence[TaskScores]) -> dict[str, TaskScores]:
    """Name tasks apart: those of one name in several files by the file, too."""
    many = Counter(task.task for task in tasks)
    named = [f"{task.task} ({task.path})" if many[task.task] > 1 else task.task for task in tasks]
    return dict(zip(distinct(named), tasks, strict=True))


def _metric(task: TaskScores) -> str | None:
    """Name the metric as exactly as the board does: boards of other tools have no ids."""
    return task.metric_id or task.metric


def _digest(task: TaskScores) -> str | None:
    return task.sha256


def _short(value: str | None) -> str:
    """Shorten a digest; a metric is told whole, for two may differ in their last letters."""
    if value is None:
        return "unknown"
    return f"{value[:_SHOWN]}…" if _DIGEST.fullmatch(value) else value
