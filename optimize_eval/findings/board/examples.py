"""A bench's boards as its folder has them, and with the examples that are in the journal beside it.

So boards without examples can be paired. An example is named by its line, which is what a journal knows
of it. Boards alone are stored's.
"""

from collections.abc import Iterator
from dataclasses import replace

from optimize_eval.base.errors import UsageError
from optimize_eval.findings.board.cells import BenchedModel, benched_models, is_owed
from optimize_eval.findings.board.outcomes import FileOutcomes, example_of, read_outcomes
from optimize_eval.findings.board.shapes import Board, BoardExample, ModelScores
from optimize_eval.findings.board.stored import ANEW, is_bench_folder, load_board, load_own_board
from optimize_eval.findings.metrics import counts_as
from optimize_eval.store.folder import BOARDS, LEADERBOARD
from optimize_eval.store.layout import Layout
from optimize_eval.store.stored import StoredRun, open_stored
from optimize_eval.tasks.task_files import SPEC

STEM = LEADERBOARD.removesuffix("json")

_TaskPlace = tuple[str, slice]  # a split, and which of its examples


def load_with_examples(path: str) -> Board:
    """Load a board; that of a bench's folder with its examples."""
    if not is_bench_folder(path):
        return load_board(path)
    return with_examples(load_own_board(path), open_stored(path))


def with_examples(board: Board, run: StoredRun) -> Board:
    """Put into each task of a board what the run's journal has of its examples, if it has none."""
    if all(task.per_example for model in board.models for task in model.tasks):
        return board
    try:
        places = list(_places(board, run.layout))
        benched = {model.name: model for model in benched_models(run)}
        models = tuple(_with_examples(model, run, benched[model.adapter], places) for model in board.models)
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
    model: ModelScores, run: StoredRun, benched: BenchedModel, places: list[_TaskPlace]
) -> ModelScores:
    layout = run.layout
    with run.reader(counts_as(run)) as reader:
        files = {
            split: read_outcomes(reader, cell, layout, with_records=True)
            for split, cell in benched.cells.items()
        }
    tasks = [
        replace(task, per_example=tuple(_examples(files[name], layout.split(name).lines, examples)))
        for task, (name, examples) in zip(model.tasks, places, strict=True)
    ]
    return replace(model, tasks=tuple(tasks))


def _examples(file: FileOutcomes, lines: tuple[int | None, ...], examples: slice) -> Iterator[BoardExample]:
    parts = lines[examples], file.records[examples], file.scores.means[examples]
    for line, records, mean in zip(*parts, strict=True):
        yield example_of(f"line {line}", line, records, mean)


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
