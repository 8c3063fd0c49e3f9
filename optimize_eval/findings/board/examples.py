"""A bench's boards as its folder has them, and with the examples that are in the journal beside it.

So boards without examples can be paired. An example is named by its line, which is what a journal knows
of it. Boards alone are boards'.
"""

from collections.abc import Iterator
from typing import Any

from optimize_eval.errors import UsageError
from optimize_eval.findings.board.models import Split, read_split, said_of
from optimize_eval.findings.board.stored import Board, is_bench_folder, load_board
from optimize_eval.store.folder import BOARDS, LEADERBOARD
from optimize_eval.store.layout import Layout
from optimize_eval.store.ledger import OWED
from optimize_eval.store.stored import StoredRun, open_stored
from optimize_eval.tasks.jsonl.files import SPEC

ANEW = "give the bench's command again: it writes the board anew, and calls nothing twice"

STEM = LEADERBOARD.removesuffix("json")

_Place = tuple[str, slice]  # a split, and which of its examples


def load_with_examples(path: str) -> Board:
    """Load a board; that of a bench's folder with its examples."""
    board = load_board(path)
    return with_examples(board, open_stored(path)) if is_bench_folder(path) else board


def with_examples(board: Board, run: StoredRun) -> Board:
    """Put into each task of a board what the run's journal has of its examples, if it has none."""
    if all(task.get("per_example") for model in board["models"] for task in model["tasks"]):
        return board
    try:
        places = list(_places(board, run.layout))
        return {**board, "models": [_told(model, run, places) for model in board["models"]]}
    except (LookupError, TypeError, ValueError):  # somebody edited it
        raise UsageError(f"{run.folder / LEADERBOARD} is not as bench wrote it", hint=ANEW) from None


def _places(board: Board, layout: Layout) -> Iterator[_Place]:
    """Find where the examples of each task are, in the order in which a board has its tasks."""
    there = [file for file in board["files"] if file["tasks"]]
    for file, split in zip(there, layout.splits, strict=True):
        size = len(split.lines)
        step = 1 if file["dialect"] == SPEC else size
        yield from ((split.name, slice(start, start + step)) for start in range(0, size, step))


def _told(model: dict[str, Any], run: StoredRun, places: list[_Place]) -> dict[str, Any]:
    layout = run.layout
    cells = [cell for cell in layout.cells if cell.evaluator == model["adapter"]]
    with run.reader() as reader:
        splits = {cell.split: read_split(reader, cell, layout, is_told=True) for cell in cells}
    tasks = [
        {**task, "per_example": list(_examples(splits[name], layout.split(name).lines, examples))}
        for task, (name, examples) in zip(model["tasks"], places, strict=True)
    ]
    return {**model, "tasks": tasks}


def _examples(split: Split, lines: tuple[int | None, ...], examples: slice) -> Iterator[dict[str, Any]]:
    parts = lines[examples], split.said[examples], split.scores.means[examples]
    for line, records, mean in zip(*parts, strict=True):
        yield {"id": f"line {line}", "line": line, **said_of(records, mean)}


def stored_board(stored: StoredRun) -> Board | None:
    """Load the board of a bench; None where it did not come to its end."""
    own = [one["name"] for one in stored.manifest["evaluators"]]
    if any(stored.ledger.count(OWED, stored.layout.units_of(name)) for name in own):
        return None
    return load_board(str(stored.folder)) if (stored.folder / LEADERBOARD).exists() else None


def own_boards(stored: StoredRun) -> dict[str, Board]:
    """Load what else a bench was scored by, by the metrics' names."""
    paths = sorted(stored.folder.glob(BOARDS))
    return {path.stem.removeprefix(STEM): load_board(str(path)) for path in paths if path.name != LEADERBOARD}
