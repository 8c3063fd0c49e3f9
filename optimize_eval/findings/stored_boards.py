"""Leaderboards on disk: how a file, or a folder that has one, is read, with or without examples.

A board of another tool that has the fields of `leaderboard.v1` and no more is read too. Which are refused is
decided in board_shapes.

So boards without examples can be paired. An example is named by its line, which is what a journal knows
of it. Boards alone are stored's.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from optimize_eval.base import files, strict_json
from optimize_eval.base.errors import UsageError
from optimize_eval.findings import board_shapes
from optimize_eval.findings.board_models import BenchedModel, benched_models, example_of, is_owed, said_in
from optimize_eval.findings.board_shapes import Board, BoardExample, ModelScores
from optimize_eval.findings.cells import ReadCell
from optimize_eval.findings.stored_summary import Findings
from optimize_eval.store.folder import BOARDS, LEADERBOARD, MANIFEST, NotARun
from optimize_eval.store.layout import Layout
from optimize_eval.store.opened_run import StoredRun, open_stored
from optimize_eval.store.run_document import RunDocument
from optimize_eval.store.run_json import BeforeRelease, read_document
from optimize_eval.tasks.task_files import SPEC

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
    if reason := board_shapes.fault_of(board):
        raise UsageError(f"{file} is no leaderboard: {reason}", hint=_HINT)
    return board


def _file_of(path: str) -> Path:
    return Path(path, LEADERBOARD) if Path(path).is_dir() else Path(path)


def _checked(board: Mapping[str, Any]) -> dict[str, Any]:
    """Take of a board what was checked; one that has no list of models is itself that of one."""
    models = board.get("models") or [{**board, "n": None}]
    files_ = [_only(file, board_shapes.OF_A_FILE) for file in board.get("files") or ()]
    return {
        "models": [_model(model) for model in models],
        "files": files_,
        "changed": board.get("changed") or (),
    }


def _model(model: Mapping[str, Any]) -> dict[str, Any]:
    return {**_only(model, board_shapes.OF_A_MODEL), "tasks": [_task(task) for task in model["tasks"]]}


def _task(task: Mapping[str, Any]) -> dict[str, Any]:
    examples = [_example(example) for example in task.get("per_example") or ()]
    return {**_only(task, board_shapes.OF_A_TASK), "per_example": examples}


def _example(example: Mapping[str, Any]) -> dict[str, Any]:
    repeats = [_only(repeat, board_shapes.OF_A_PREDICTION) for repeat in example.get("predictions") or ()]
    return {**_only(example, board_shapes.OF_AN_EXAMPLE), "predictions": repeats}


def _only(value: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: value[name] for name in names if value.get(name) is not None}


def is_board(path: str) -> bool:
    """Return True if a path is meant as a leaderboard: its file, the folder that has it, a bench's folder."""
    if path.endswith(".json") and Path(path).name != MANIFEST:
        return True
    return Path(path, LEADERBOARD).is_file() or is_bench_folder(path)


def is_bench_folder(path: str) -> bool:
    document = _document_in(path)
    return document is not None and document.is_bench


def _document_in(path: str) -> RunDocument | None:
    try:
        return read_document(Path(path))
    except BeforeRelease:
        raise
    except NotARun:
        return None


def _no_board(path: str, file: Path) -> UsageError:
    """Say why there is no leaderboard: its bench is not done, or it is a run's folder, or somebody else's."""
    document = _document_in(path)
    if document and not document.is_bench:
        return UsageError(f"{path} is a run, not a bench", hint=_ALIKE)
    return UsageError(f"there is no leaderboard {file}", hint=_UNFINISHED if document else _HINT)


STEM = LEADERBOARD.removesuffix("json")

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
    return board if has_examples(board) else with_examples(board, Findings(run=run))


def has_examples(board: Board) -> bool:
    return all(task.per_example for model in board.models for task in model.tasks)


def has_some_examples(board: Board) -> bool:
    return any(task.per_example for model in board.models for task in model.tasks)


def with_examples(board: Board, findings: Findings) -> Board:
    """Put into each task of a board what the run's journal has of its examples, if it has none."""
    if has_examples(board):
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
    left_out = {one.task for one in board.left_out}
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
        path.stem.removeprefix(STEM): load_own_board(str(path)) for path in paths if path.name != LEADERBOARD
    }
