"""Leaderboards as commands make them: computed from a run's journal, written beside it, told."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from optimize_eval.aggregates.boards import SCHEMA
from optimize_eval.aggregates.leaderboard import board_of
from optimize_eval.cli import output
from optimize_eval.reports import leaderboard
from optimize_eval.run.folder import write_json
from optimize_eval.run.ledger import OWED
from optimize_eval.run.stored import StoredRun
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


def keep_and_tell(board: Board | None, path: Path, status: str, *, quiet: bool, as_json: bool) -> None:
    """Write a board down and print it; without one only JSON has something to say on stdout."""
    if board:
        write_json(path, board)
    if as_json:
        none: Board = {"schema": SCHEMA, "overall_score": None, "tasks": [], "models": []}
        output.emit_json({**(board or none), "run": str(path.parent), "status": status})
    elif board and quiet:
        output.emit(f"{board['verdict']['text']}\n{path.parent}")
    elif board:
        emit(board)
        output.say(f"the board is {path}")


def emit(board: Board) -> None:
    output.emit(leaderboard.render(output.fitted(board), width=output.width()))
