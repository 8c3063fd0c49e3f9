"""Leaderboards on disk: how a file, or a folder that has one, is read.

A board of another tool that has the fields of `leaderboard.v1` and no more is read too. Which are refused is
decided in faults.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from optimize_eval.base import files, strict_json
from optimize_eval.base.errors import UsageError
from optimize_eval.findings.board import faults
from optimize_eval.findings.board.shapes import Board
from optimize_eval.store.folder import LEADERBOARD, MANIFEST, read_manifest
from optimize_eval.store.manifest import Manifest, NotARun, is_bench

ANEW = "run the bench's command again: it writes the board again, and repeats no call"
_UNFINISHED = "the bench is not finished: run its command again, which completes it and writes the board"
_ALIKE = "benches are compared with benches, and runs with runs; `bench` writes leaderboards, `run` does not"
_HINT = "name what `optimize-eval bench` wrote: its --out folder, or the leaderboard.json in it"


def load_board(path: str) -> Board:
    """Read a leaderboard, by its file or the folder that has it; raises UsageError where it is none.

    Of another tool's board there is what a comparison needs; all else is empty.
    """
    return Board.of_what_is_known(_checked(_load(path)))


def load_own_board(path: str) -> Board:
    """Read all of a leaderboard that `bench` wrote; raises UsageError where it is not as that wrote it."""
    board = _load(path)
    try:
        return Board.from_dict(board)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise UsageError(f"{_file_of(path)} is not as bench wrote it", hint=ANEW) from None


def _load(path: str) -> dict[str, Any]:
    file = _file_of(path)
    if not file.is_file():  # nor a pipe, which would never end
        raise _no_board(path, file)
    try:
        board: dict[str, Any] = strict_json.loads_own(files.load(file, files.OF_A_RUN))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not JSON"
        raise UsageError(f"{file} cannot be read as a leaderboard: {reason}", hint=_HINT) from None
    if reason := faults.fault_of(board):
        raise UsageError(f"{file} is no leaderboard: {reason}", hint=_HINT)
    return board


def _file_of(path: str) -> Path:
    return Path(path, LEADERBOARD) if Path(path).is_dir() else Path(path)


def _checked(board: Mapping[str, Any]) -> dict[str, Any]:
    """Take of a board what was checked; one that has no list of models is itself that of one."""
    models = board.get("models") or [{**board, "n": None}]
    files_ = [_only(file, faults.OF_A_FILE) for file in board.get("files") or ()]
    return {
        "models": [_model(model) for model in models],
        "files": files_,
        "changed": board.get("changed") or (),
    }


def _model(model: Mapping[str, Any]) -> dict[str, Any]:
    return {**_only(model, faults.OF_A_MODEL), "tasks": [_task(task) for task in model["tasks"]]}


def _task(task: Mapping[str, Any]) -> dict[str, Any]:
    examples = [_example(example) for example in task.get("per_example") or ()]
    return {**_only(task, faults.OF_A_TASK), "per_example": examples}


def _example(example: Mapping[str, Any]) -> dict[str, Any]:
    repeats = [_only(repeat, faults.OF_A_PREDICTION) for repeat in example.get("predictions") or ()]
    return {**_only(example, faults.OF_AN_EXAMPLE), "predictions": repeats}


def _only(value: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: value[name] for name in names if value.get(name) is not None}


def is_board(path: str) -> bool:
    """Return True if a path is meant as a leaderboard: its file, the folder that has it, a bench's folder."""
    if path.endswith(".json") and Path(path).name != MANIFEST:
        return True
    return Path(path, LEADERBOARD).is_file() or is_bench_folder(path)


def is_bench_folder(path: str) -> bool:
    return is_bench(_manifest_in(path))


def _manifest_in(path: str) -> Manifest:
    try:
        return read_manifest(Path(path)) or {}
    except NotARun:
        return {}


def _no_board(path: str, file: Path) -> UsageError:
    """Say why there is no leaderboard: its bench is not done, or it is a run's folder, or somebody else's."""
    manifest = _manifest_in(path)
    if manifest and not is_bench(manifest):
        return UsageError(f"{path} is a run, not a bench", hint=_ALIKE)
    return UsageError(f"there is no leaderboard {file}", hint=_UNFINISHED if manifest else _HINT)
