"""Leaderboards as commands make them: computed from a run's journal, written beside it, told."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from optimize_eval.aggregates.board_examples import STEM
from optimize_eval.aggregates.boards import SCHEMA
from optimize_eval.aggregates.leaderboard import board_of
from optimize_eval.cli import output
from optimize_eval.reports import leaderboard
from optimize_eval.reports.terminal import head
from optimize_eval.store.folder import BOARDS, OUTPUTS, write_json
from optimize_eval.store.ledger import OWED
from optimize_eval.store.stored import StoredRun
from optimize_eval.tasks import TaskFile

Board = dict[str, Any]


def make_board(
    stored: StoredRun,
    files: Sequence[TaskFile],
    models: Mapping[str, str],
    *,
    settings: Mapping[str, Any],
    metric: str | None = None,
    include_per_example: bool = False,
) -> Board | None:
    """Make the leaderboard of evaluators that stand for models; None while anything of them is owed."""
    if any(stored.ledger.count(OWED, stored.layout.units_of(name)) for name in models):
        return None
    return board_of(
        stored, files, models, settings=settings, metric=metric, include_per_example=include_per_example
    )


def drop_outdated(folder: Path) -> None:
    """Remove the boards of own metrics that are older than what the models said last."""
    outputs = folder / OUTPUTS
    if outputs.exists():
        said_at = outputs.stat().st_mtime_ns
        for path in folder.glob(BOARDS):
            if path.stat().st_mtime_ns < said_at:
                path.unlink()


def path_of(folder: Path, metric: str) -> Path:
    """Say where the board of an own metric is."""
    return folder / f"{STEM}{metric}.json"


def keep(board: Board | None, path: Path) -> None:
    if board:
        write_json(path, board)


def tell(
    boards: Mapping[str, Board],
    path: Path,
    status: str,
    *,
    quiet: bool,
    as_json: bool,
    beside: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Print boards by their metrics' names, the bench's own without one, which is in `path`.

    Without any only JSON has something to say on stdout; it has `beside`, too.
    """
    if as_json:
        output.emit_json({**to_dict(boards), "run": str(path.parent), "status": status, **beside})
    elif boards and quiet:
        verdicts = [
            f"{f'by {name}: ' * bool(name)}{board['verdict']['text']}" for name, board in boards.items()
        ]
        output.emit("\n".join([*verdicts, str(path.parent)]))
    elif boards:
        emit(boards)
        output.say(f"the board is {path}")


def emit(boards: Mapping[str, Board], note: str | None = None) -> None:
    """Write boards for people, those of own metrics below their names, all below the run's note."""
    if note:
        output.emit("\n".join(head(output.fitted(note), output.width())))
    for name, board in boards.items():
        if name:
            output.emit(f"\n by {name}")
        output.emit(leaderboard.render(output.fitted(board), width=output.width()))


def to_dict(boards: Mapping[str, Board]) -> dict[str, Any]:
    """Make one value of boards: the bench's own, with those of own metrics in it."""
    none: Board = {"schema": SCHEMA, "overall_score": None, "tasks": [], "models": []}
    others = {name: board for name, board in boards.items() if name}
    return {**boards.get("", none), **({"boards": others} if others else {})}
