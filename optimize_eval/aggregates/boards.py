"""Leaderboards on disk: read, checked against their task files, and what two need to be comparable.

A board of another tool that has the fields of `leaderboard.v1` and no more is read too. How two of them
differ is boards_compared's.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from optimize_eval.errors import UsageError

SCHEMA = "leaderboard.v1"
FILE = "leaderboard.json"

_MOST_LISTED = 10
_SHORT, _SHOWN = 16, 8

Board = dict[str, Any]
Task = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A task file that a board is about: whether it is what it was."""

    path: str
    state: str  # "ok", "changed" or "gone"
    found: str  # where; empty if it is gone


def load_board(path: str) -> Board:
    """Read a leaderboard, by its file or the folder that has it; raises UsageError where it is none."""
    file = Path(path, FILE) if Path(path).is_dir() else Path(path)
    try:
        board = orjson.loads(file.read_bytes())
    except FileNotFoundError:
        raise UsageError(f"there is no leaderboard {file}", hint=_HINT) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not JSON"
        raise UsageError(f"{file} cannot be read as a leaderboard: {reason}", hint=_HINT) from None
    if reason := _fault(board):
        raise UsageError(f"{file} is no leaderboard: {reason}", hint=_HINT)
    return {**board, "models": board.get("models") or [{**board, "n": None}]}


def is_board(path: str) -> bool:
    """Tell whether a path is rather meant as a leaderboard than as a run."""
    return path.endswith(".json") and Path(path).name != "run.json"


def check_files(board: Board, beside: str) -> list[Checked]:
    """Look at each task file of a board, in the current folder, then in the board's own."""
    folder = Path(beside) if Path(beside).is_dir() else Path(beside).parent
    return [_check(path, digest, folder) for path, digest in _pinned(board).items()]


def differences(a: Board, b: Board) -> list[str]:
    """Say why the scores of two boards are not of the same: other metrics, other task files."""
    before, after = _by_name(a), _by_name(b)
    common = [name for name in after if name in before]
    if not common:
        return ["they have no task in common"]
    found = [
        f"task {name} {words}: {_shown(before[name].get(field))} in A, {_shown(after[name].get(field))} in B"
        for field, words in (("metric_id", "has another metric"), ("sha256", "is of another file"))
        for name in common
        if before[name].get(field) != after[name].get(field)
    ]
    more = len(found) - _MOST_LISTED
    return [*found[:_MOST_LISTED], *([f"and {more:,} more"] if more > 0 else [])]


def by_name(tasks: Sequence[Task]) -> dict[str, Task]:
    """Name tasks apart: those of one name in several files by the file, too."""
    names = [task["task"] for task in tasks]
    return {
        f"{name} ({task.get('path')})" if names.count(name) > 1 else name: task
        for name, task in zip(names, tasks, strict=True)
    }


_HINT = "name what `optimize-eval bench` wrote: its --out folder, or the leaderboard.json in it"


def _by_name(board: Board) -> dict[str, Task]:
    return by_name(board["models"][0]["tasks"])


def _fault(board: Any) -> str:
    match board:
        case {"schema": schema} if schema == SCHEMA:
            models = board.get("models") or [board]
            tasks = [task for model in models for task in model.get("tasks") or [{}]]
            is_sound = all(isinstance(task.get("task"), str) and "score" in task for task in tasks)
            return "" if is_sound else "its tasks have no name or no score"
        case {"schema": schema}:
            return f"its schema is {schema!r}, not {SCHEMA!r}"
    return "it has no schema"


def _pinned(board: Board) -> dict[str, str | None]:
    files = board.get("files") or board["models"][0]["tasks"]
    return {file["path"]: file.get("sha256") for file in files if "path" in file}


def _check(path: str, digest: str | None, folder: Path) -> Checked:
    for place in _places(path, folder):
        if place.is_file():
            same = hashlib.sha256(place.read_bytes()).hexdigest() == digest
            return Checked(path=path, state="ok" if same else "changed", found=str(place))
    return Checked(path=path, state="gone", found="")


def _places(path: str, folder: Path) -> Iterator[Path]:
    yield Path(path)
    yield folder / path


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) < _SHORT else f"{text[:_SHOWN]}…"
