"""Leaderboards on disk: read, checked against their task files, and what two need to be comparable.

A board of another tool that has the fields of `leaderboard.v1` and no more is read too. How two of them
differ is boards_compared's.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from optimize_eval.errors import UsageError
from optimize_eval.names import distinct
from optimize_eval.reading import files
from optimize_eval.store.folder import LEADERBOARD, MANIFEST, read_manifest
from optimize_eval.store.manifest import Manifest, NotARun, is_bench
from optimize_eval.wrong_answers import describe

SCHEMA = "leaderboard.v1"

_MOST_LISTED = 10
_SHOWN = 8
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LONG = 60

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
    file = Path(path, LEADERBOARD) if Path(path).is_dir() else Path(path)
    if not file.is_file():  # nor a pipe, which would never end
        raise _no_board(path, file)
    try:
        board = orjson.loads(files.load(file, files.OF_A_RUN))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not JSON"
        raise UsageError(f"{file} cannot be read as a leaderboard: {reason}", hint=_HINT) from None
    if reason := _fault(board):
        raise UsageError(f"{file} is no leaderboard: {reason}", hint=_HINT)
    return {**board, "models": board.get("models") or [{**board, "n": None}]}


def is_board(path: str) -> bool:
    """Tell whether a path is meant as a leaderboard: its file, the folder that has it, a bench's folder."""
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


def check_files(board: Board, beside: str) -> list[Checked]:
    """Look at each task file of a board, in the current folder, then in the board's own.

    A board that pins no file raises UsageError: that nothing was checked is not that all is well.
    """
    folder = Path(beside) if Path(beside).is_dir() else Path(beside).parent
    pinned = _pinned(board)
    if not pinned:
        raise UsageError(
            f"{beside} has no sha256 of a task file, so there is nothing to verify",
            hint="`optimize-eval bench` writes boards that have them",
        )
    return [_check(path, digests, folder) for path, digests in pinned.items()]


def differences(a: Board, b: Board) -> list[str]:
    """Say why the scores of two boards are not of the same: other metrics, other task files."""
    before, after = _by_name(a), _by_name(b)
    common = [name for name in after if name in before]
    if not common:
        return ["they have no task in common"]
    found = [
        f"task {name} {words}: {_shown(value_of(before[name]))} in A, {_shown(value_of(after[name]))} in B"
        for value_of, words in ((_metric, "has another metric"), (_digest, "is of another file"))
        for name in common
        if value_of(before[name]) != value_of(after[name])
    ]
    more = len(found) - _MOST_LISTED
    return [*found[:_MOST_LISTED], *([f"and {more:,} more"] if more > 0 else [])]


def by_name(tasks: Sequence[Task]) -> dict[str, Task]:
    """Name tasks apart: those of one name in several files by the file, too."""
    many = Counter(task["task"] for task in tasks)
    named = [
        f"{task['task']} ({task.get('path')})" if many[task["task"]] > 1 else task["task"] for task in tasks
    ]
    return dict(zip(distinct(named), tasks, strict=True))


_UNFINISHED = "the bench did not come to its end: its command goes on where it was, and writes the board"
_ALIKE = "benches are compared with benches, and runs with runs; `bench` writes leaderboards, `run` does not"
_HINT = "name what `optimize-eval bench` wrote: its --out folder, or the leaderboard.json in it"


def _metric(task: Task) -> str | None:
    """Name the metric as exactly as the board does: boards of other tools have no ids."""
    return task.get("metric_id") or task.get("metric")


def _digest(task: Task) -> str | None:
    return task.get("sha256")


def _by_name(board: Board) -> dict[str, Task]:
    return by_name(board["models"][0]["tasks"])


def _fault(board: Any) -> str:
    """Say what makes a decoded value no board: the first thing; nothing where it is one."""
    match board:
        case {"schema": schema} if schema == SCHEMA:
            return next(_faults(board), "")
        case {"schema": schema}:
            return f"its schema is {str(schema)[:_LONG]!r}, not {SCHEMA!r}"
    return "it has no schema"


def _faults(board: Board) -> Iterator[str]:
    models = board.get("models") or [board]
    yield from _unlike(models, "models", _is_list)
    for model in models:
        yield from _unlike(model, "a model", _is_object)
        yield from _wrong_fields(model, _OF_A_MODEL, "a model")
        for task in model["tasks"]:
            yield from _wrong_fields(task, _OF_A_TASK, "a task")
            for example in task.get("per_example") or ():
                yield from _wrong_fields(example, _OF_AN_EXAMPLE, "an example")
                for one in example.get("predictions") or ():
                    yield from _wrong_fields(one, _OF_A_PREDICTION, "a prediction")
    yield from _unlike(board.get("files") or [], "files", _is_list_of_objects)
    yield from _unlike(board.get("changed") or [], "changed", _is_list_of_texts)
    for file in board.get("files") or ():
        yield from _wrong_fields(file, _OF_A_FILE, "a file")


def _wrong_fields(value: Mapping[str, Any], fields: Mapping[str, "_Kind"], what: str) -> Iterator[str]:
    for name, kind in fields.items():
        if name in value:
            yield from _unlike(value[name], f"{name} of {what}", kind.holds)
        elif kind.is_needed:
            yield f"{what} has no {name}"


def _unlike(value: Any, what: str, holds: Callable[[Any], bool]) -> Iterator[str]:
    if not holds(value):
        yield f"{what} is {describe(value)}"


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_object, value))


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_interval(value: Any) -> bool:
    return _is_list(value) and len(value) == 2 and all(map(_is_number, value))  # noqa: PLR2004  its ends


def _is_id(value: Any) -> bool:
    return _is_text(value) or _is_number(value)


class _Kind(NamedTuple):
    """What a field may hold, and whether it has to be there."""

    holds: Callable[[Any], bool]
    is_needed: bool = False


def _or_null(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or holds(value)


_A_NUMBER, _A_TEXT = _Kind(_or_null(_is_number)), _Kind(_or_null(_is_text))
_SCORE = _Kind(_or_null(_is_number), is_needed=True)
_SPREAD = {
    "se": _Kind(_or_null(lambda value: _is_number(value) and value >= 0)),
    "ci": _Kind(_or_null(_is_interval)),
    **dict.fromkeys(("n", "df", "lower_bound", "scored", "failed"), _A_NUMBER),
}
_FILE = {"path": _A_TEXT, "sha256": _A_TEXT}
_OF_A_FILE = _FILE
_OF_A_MODEL = {
    "adapter": _Kind(_is_text, is_needed=True),
    "overall_score": _A_NUMBER,
    "tasks": _Kind(lambda value: _is_list_of_objects(value) and bool(value), is_needed=True),
    **_SPREAD,
}
_OF_A_TASK = {
    "task": _Kind(_is_text, is_needed=True),
    "score": _SCORE,
    "metric": _A_TEXT,
    "metric_id": _A_TEXT,
    "per_example": _Kind(_or_null(_is_list_of_objects)),
    **_FILE,
    **_SPREAD,
}
_OF_A_PREDICTION = {"score": _SCORE, "prediction": _Kind(_or_null(_is_id)), "error": _A_TEXT}
_OF_AN_EXAMPLE = {
    "id": _Kind(_is_id, is_needed=True),
    **_OF_A_PREDICTION,
    "line": _A_NUMBER,
    "predictions": _Kind(_or_null(_is_list_of_objects)),
}


def _pinned(board: Board) -> dict[str, set[str]]:
    """Collect which digests a board has of each file: one, unless it was edited."""
    named = [*(board.get("files") or ()), *(task for model in board["models"] for task in model["tasks"])]
    found: dict[str, set[str]] = {}
    for one in named:
        if one.get("path") is not None and one.get("sha256") is not None:
            found.setdefault(one["path"], set()).add(one["sha256"])
    return found


def _check(path: str, digests: set[str], folder: Path) -> Checked:
    for place in _places(path, folder):
        if place.is_file():
            with place.open("rb") as stream:
                same = {file_digest(stream, "sha256").hexdigest()} == digests
            return Checked(path=path, state="ok" if same else "changed", found=str(place))
    return Checked(path=path, state="gone", found="")


def _places(path: str, folder: Path) -> Iterator[Path]:
    yield Path(path)
    yield folder / path


def _shown(value: str | None) -> str:
    """Shorten a digest; a metric is told whole, for two may differ in their last letters."""
    if value is None:
        return "unknown"
    return f"{value[:_SHOWN]}…" if _DIGEST.fullmatch(value) else value
