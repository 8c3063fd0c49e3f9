"""Leaderboards on disk: how a file, or a folder that has one, is read, with or without examples.

A board of another tool that has the fields of `leaderboard.v1` and no more is read too. Which are refused is
decided in board_shapes.

So boards without examples can be paired. An example is named by its line, which is what a journal knows
of it. Boards alone are stored's.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from hashlib import file_digest
from pathlib import Path
from typing import Any, NamedTuple

from optimize_eval.base import files, strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.wrong_answers import describe
from optimize_eval.findings.board_models import BenchedModel, benched_models, example_of, is_owed, said_in
from optimize_eval.findings.board_shapes import SCHEMA, Board, BoardExample, ModelScores
from optimize_eval.findings.cells import ReadCell
from optimize_eval.findings.stored_summary import Findings
from optimize_eval.store.folder import BOARD_STEM, BOARDS, LEADERBOARD, MANIFEST, NotARun
from optimize_eval.store.layout import Layout
from optimize_eval.store.opened_run import StoredRun, open_stored
from optimize_eval.store.run_document import RunDocument
from optimize_eval.store.run_json import read_document
from optimize_eval.tasks.task_files import SPEC

ANEW = "run the bench's command again: it writes the board again, and repeats no call"
_UNFINISHED = "the bench is not finished: run its command again, which completes it and writes the board"
_ALIKE = "benches are compared with benches, and runs with runs; `bench` writes leaderboards, `run` does not"
_HINT = "name what `optimize-eval bench` wrote: its --out folder, or the leaderboard.json in it"


def load_board(path: str) -> Board:
    """Read a leaderboard, by its file or the folder that has it; raises UsageError where it is none.

    Of another tool's board there is what a comparison needs; all else is empty.
    """
    return Board.of_what_is_known(_what_is_checked(_load(path)))


def load_own_board(path: str) -> Board:
    """Read all of a leaderboard that `bench` wrote; raises UsageError where it is not as that wrote it."""
    board = _load(path)
    try:
        return Board.from_dict(board)
    except (LookupError, TypeError, ValueError, AttributeError):
        raise UsageError(f"{_file_of(path)} is not as bench wrote it", hint=ANEW) from None


def _load(path: str) -> JsonDict:
    file = _file_of(path)
    if not file.is_file():  # nor a pipe, which would never end
        raise _no_board(path, file)
    try:
        board: JsonDict = strict_json.loads_own(files.load(file, files.OF_A_RUN))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not JSON"
        raise UsageError(f"{file} cannot be read as a leaderboard: {reason}", hint=_HINT) from None
    if reason := fault_of(board):
        raise UsageError(f"{file} is no leaderboard: {reason}", hint=_HINT)
    return board


def _file_of(path: str) -> Path:
    return Path(path, LEADERBOARD) if Path(path).is_dir() else Path(path)


def _what_is_checked(board: JsonMapping) -> JsonDict:
    """Take of a board what was checked; one that has no list of models is itself that of one."""
    models = board.get("models") or [{**board, "n": None}]
    files_ = [_only(file, OF_A_FILE) for file in board.get("files") or ()]
    return {
        "models": [_model(model) for model in models],
        "files": files_,
        "changed": board.get("changed") or (),
    }


def _model(model: JsonMapping) -> JsonDict:
    return {**_only(model, OF_A_MODEL), "tasks": [_task(task) for task in model["tasks"]]}


def _task(task: JsonMapping) -> JsonDict:
    examples = [_example(example) for example in task.get("per_example") or ()]
    return {**_only(task, OF_A_TASK), "per_example": examples}


def _example(example: JsonMapping) -> JsonDict:
    repeats = [_only(repeat, OF_A_PREDICTION) for repeat in example.get("predictions") or ()]
    return {**_only(example, OF_AN_EXAMPLE), "predictions": repeats}


def _only(value: JsonMapping, names: Iterable[str]) -> JsonDict:
    return {name: value[name] for name in names if value.get(name) is not None}


def is_board(path: str) -> bool:
    """Return True if a path is meant as a leaderboard: its file, the folder that has it, a bench's folder."""
    if path.endswith(".json") and Path(path).name != MANIFEST and not Path(path).is_dir():
        return True
    return Path(path, LEADERBOARD).is_file() or is_bench_folder(path)


def is_bench_folder(path: str) -> bool:
    document = _document_in(path)
    return document is not None and document.is_bench


def _document_in(path: str) -> RunDocument | None:
    with suppress(NotARun):
        return read_document(Path(path))
    return None


def _no_board(path: str, file: Path) -> UsageError:
    """Say why there is no leaderboard: its bench is not done, or it is a run's folder, or somebody else's."""
    document = _document_in(path)
    if document and not document.is_bench:
        return UsageError(f"{path} is a run, not a bench", hint=_ALIKE)
    return UsageError(f"there is no leaderboard {file}", hint=_UNFINISHED if document else _HINT)


_TaskPlace = tuple[str, slice]  # a split, and which of its examples


def folder_if_bench(path: str) -> str:
    """Take a bench's folder for the board or the run.json in it: there is more in it than in either."""
    is_of_a_bench = Path(path).name in {MANIFEST, LEADERBOARD} and is_bench_folder(str(Path(path).parent))
    return str(Path(path).parent) if is_of_a_bench else path


def load_with_examples(path: str) -> Board:
    """Load a board; that of a bench's folder with its examples."""
    if not is_bench_folder(path):
        return load_board(path)
    board, run = load_own_board(path), open_stored(path)
    return board if board.has_examples else with_examples(board, Findings(run=run))


def with_examples(board: Board, findings: Findings) -> Board:
    """Put into each task of a board what the run's journal has of its examples, if it has none."""
    if board.has_examples:
        return board
    run = findings.run
    findings = findings if findings.keep else Findings(run=run, keep=said_in)
    try:
        places = list(_places(board, run.layout))
        benched = {model.name: model for model in benched_models(run)}
        models = tuple(
            _with_examples(model, findings, benched[model.adapter], places) for model in board.models
        )
    except (LookupError, TypeError, ValueError):  # somebody edited it
        raise UsageError(f"{run.folder / LEADERBOARD} is not as bench wrote it", hint=ANEW) from None
    return replace(board, models=models)


def _places(board: Board, layout: Layout) -> Iterator[_TaskPlace]:
    """Find where the examples of each task are, in the order in which a board has its tasks."""
    there = [file for file in board.files if file.tasks]
    left_out = {task.task for task in board.left_out}
    for file, split in zip(there, layout.splits, strict=True):
        if split.name in left_out:
            continue
        size = len(split.lines)
        step = 1 if file.dialect == SPEC else size
        yield from ((split.name, slice(start, start + step)) for start in range(0, size, step))


def _with_examples(
    model: ModelScores, findings: Findings, benched: BenchedModel, places: list[_TaskPlace]
) -> ModelScores:
    layout = findings.run.layout
    files = {split: findings.cell(cell) for split, cell in benched.cells.items()}
    tasks = [
        replace(task, per_example=tuple(_examples(files[name], layout.split(name).lines, examples)))
        for task, (name, examples) in zip(model.tasks, places, strict=True)
    ]
    return replace(model, tasks=tuple(tasks))


def _examples(file: ReadCell, lines: tuple[int | None, ...], examples: slice) -> Iterator[BoardExample]:
    parts = lines[examples], file.kept[examples], file.scores.means[examples]
    for line, said, mean in zip(*parts, strict=True):
        yield example_of(f"line {line}", line, said, mean)


def stored_board(stored: StoredRun) -> Board | None:
    """Load the board of a bench; None where it did not come to its end."""
    if any(is_owed(stored, model) for model in benched_models(stored)):
        return None
    return load_own_board(str(stored.folder)) if (stored.folder / LEADERBOARD).exists() else None


def own_boards(stored: StoredRun) -> dict[str, Board]:
    """Load what else a bench was scored by, by the metrics' names."""
    paths = sorted(stored.folder.glob(BOARDS))
    return {
        path.stem.removeprefix(BOARD_STEM): load_own_board(str(path))
        for path in paths
        if path.name != LEADERBOARD
    }


@frozen
class PinnedFile:
    """A task file that a board is about: whether it is what it was."""

    path: str
    state: str  # "ok", "changed" or "gone"
    place: str  # where it is; empty if it is gone

    def to_dict(self) -> dict[str, str | None]:
        return {"path": self.path, "state": self.state, "found": self.place or None}


def check_files(board: Board, beside: str) -> list[PinnedFile]:
    """Look at each task file of a board, in the current folder, then in the board's own.

    A board that pins no file raises UsageError: that nothing was checked is not that all is well.
    """
    folder = Path(beside) if Path(beside).is_dir() else Path(beside).parent
    pinned = _digests_by_path(board)
    if not pinned:
        raise UsageError(
            f"{beside} has no sha256 of a task file, so there is nothing to verify",
            hint="`optimize-eval bench` writes boards that have them",
        )
    return [_check(path, digests, folder) for path, digests in pinned.items()]


def _digests_by_path(board: Board) -> dict[str, set[str]]:
    """Collect which digests a board has of each file: one, unless it was edited."""
    pinned = [(file.path, file.sha256) for file in board.files]
    pinned += [(task.path, task.sha256) for model in board.models for task in model.tasks]
    digests: dict[str, set[str]] = {}
    for path, sha256 in pinned:
        if path is not None and sha256 is not None:
            digests.setdefault(path, set()).add(sha256)
    return digests


def _check(path: str, digests: set[str], folder: Path) -> PinnedFile:
    for place in _paths(path, folder):
        if place.is_file():
            with place.open("rb") as stream:
                same = {file_digest(stream, "sha256").hexdigest()} == digests
            return PinnedFile(path=path, state="ok" if same else "changed", place=str(place))
    return PinnedFile(path=path, state="gone", place="")


def _paths(path: str, folder: Path) -> Iterator[Path]:
    yield Path(path)
    yield folder / path


_LONG = 60


def fault_of(board: Any) -> str:
    """Say what makes a decoded value no board: the first thing; nothing where it is one."""
    match board:
        case {"schema": schema} if schema == SCHEMA:
            return next(_faults(board), "")
        case {"schema": schema}:
            return f"its schema is {str(schema)[:_LONG]!r}, not {SCHEMA!r}"
    return "it has no schema"


def _faults(board: JsonMapping) -> Iterator[str]:
    models = board.get("models") or [board]
    yield from _unlike(models, "models", _is_list)
    for model in models:
        yield from _unlike(model, "a model", _is_object)
        yield from _wrong_fields(model, OF_A_MODEL, "a model")
        for task in model["tasks"]:
            yield from _wrong_fields(task, OF_A_TASK, "a task")
            for example in task.get("per_example") or ():
                yield from _wrong_fields(example, OF_AN_EXAMPLE, "an example")
                for prediction in example.get("predictions") or ():
                    yield from _wrong_fields(prediction, OF_A_PREDICTION, "a prediction")
    yield from _unlike(board.get("files") or [], "files", _is_list_of_objects)
    yield from _unlike(board.get("changed") or [], "changed", _is_list_of_texts)
    for file in board.get("files") or ():
        yield from _wrong_fields(file, OF_A_FILE, "a file")


def _wrong_fields(value: JsonMapping, fields: Mapping[str, "_Kind"], what: str) -> Iterator[str]:
    for name, kind in fields.items():
        if name in value:
            yield from _unlike(value[name], f"{name} of {what}", kind.holds)
        elif kind.is_needed:
            yield f"{what} has no {name}"


def _unlike(value: object, what: str, holds: Callable[[Any], bool]) -> Iterator[str]:
    if not holds(value):
        yield f"{what} is {describe(value)}"


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_object, value))


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_interval(value: Any) -> bool:
    return _is_list(value) and len(value) == 2 and all(map(_is_number, value))  # noqa: PLR2004  its ends


def _is_id(value: object) -> bool:
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
    **dict.fromkeys(("n", "df", "lower_bound", "scored", "failed", "skipped"), _A_NUMBER),
}
_FILE = {"path": _A_TEXT, "sha256": _A_TEXT}
OF_A_FILE = _FILE
OF_A_MODEL = {
    "adapter": _Kind(_is_text, is_needed=True),
    "overall_score": _A_NUMBER,
    "tasks": _Kind(lambda value: _is_list_of_objects(value) and bool(value), is_needed=True),
    **_SPREAD,
}
OF_A_TASK = {
    "task": _Kind(_is_text, is_needed=True),
    "score": _SCORE,
    "metric": _A_TEXT,
    "metric_id": _A_TEXT,
    "measures": _A_TEXT,
    "per_example": _Kind(_or_null(_is_list_of_objects)),
    **_FILE,
    **_SPREAD,
}
OF_A_PREDICTION = {
    "score": _SCORE,
    "prediction": _Kind(_or_null(_is_id)),
    **dict.fromkeys(("error", "skip"), _A_TEXT),
}
OF_AN_EXAMPLE = {
    "id": _Kind(_is_id, is_needed=True),
    **OF_A_PREDICTION,
    "line": _A_NUMBER,
    "predictions": _Kind(_or_null(_is_list_of_objects)),
}
