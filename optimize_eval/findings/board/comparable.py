"""Whether two leaderboards measure the same: the same metrics, on the same task files."""

import re
from collections import Counter
from collections.abc import Sequence

from optimize_eval.base.names import distinct
from optimize_eval.findings.board.shapes import Board, TaskScores

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
        f"task {name} {words}: {_short(in_a)} in A, {_short(in_b)} in B"
        for values_of, words in _CHECKS
        for name in common
        for in_a, in_b in [values_of(before[name], after[name])]
        if in_a != in_b
    ]
    more = len(reasons) - _MOST_LISTED
    return [*reasons[:_MOST_LISTED], *([f"and {more:,} more"] if more > 0 else [])]


def by_name(tasks: Sequence[TaskScores]) -> dict[str, TaskScores]:
    """Name tasks apart: those of one name in several files by the file, too."""
    many = Counter(task.task for task in tasks)
    named = [f"{task.task} ({task.path})" if many[task.task] > 1 else task.task for task in tasks]
    return dict(zip(distinct(named), tasks, strict=True))


def are_of_one_file(a: TaskScores, b: TaskScores) -> bool:
    """Return True if tasks are known to have the same examples at the same lines."""
    files = _measured(a, b) if _are_in_yaml(a, b) else _files(a, b)
    return files[0] is not None and files[0] == files[1]


def _metrics(*tasks: TaskScores) -> list[str | None]:
    """Name the metrics as exactly as boards do: those of other tools have no ids."""
    return [task.metric_id or task.metric for task in tasks]


def _files(*tasks: TaskScores) -> list[str | None]:
    return [None if _are_in_yaml(*tasks) else task.sha256 for task in tasks]


def _measured(*tasks: TaskScores) -> list[str | None]:
    return [task.measures if _are_in_yaml(*tasks) else None for task in tasks]


def _are_in_yaml(*tasks: TaskScores) -> bool:
    """Return True if boards know what is measured; a file of YAML also says what is made of scores."""
    return all(task.measures for task in tasks)


_CHECKS = (
    (_metrics, "has another metric"),
    (_files, "is of another file"),
    (_measured, "has other samples, sends models something else, or scores in another way"),
)


def _short(value: str | None) -> str:
    """Shorten a digest; a metric is told whole, for two may differ in their last letters."""
    if value is None:
        return "unknown"
    return f"{value[:_SHOWN]}…" if _DIGEST.fullmatch(value) else value
