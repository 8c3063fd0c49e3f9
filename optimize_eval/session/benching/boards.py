"""Leaderboards as a session makes them: computed from a run's journal, kept beside it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from optimize_eval.findings.board.cells import BenchedModel, is_owed
from optimize_eval.findings.board.document import board_of
from optimize_eval.findings.board.examples import STEM
from optimize_eval.findings.board.shapes import Board
from optimize_eval.store.folder import BOARDS, OUTPUTS, write_json
from optimize_eval.store.stored import StoredRun
from optimize_eval.tasks import TaskFile


def make_board(
    stored: StoredRun,
    files: Sequence[TaskFile],
    models: Sequence[BenchedModel],
    path: Path,
    *,
    settings: Mapping[str, Any],
    metric: str | None = None,
    include_per_example: bool = False,
) -> Board | None:
    """Make and keep the leaderboard of models; None while calls are owed."""
    if any(is_owed(stored, model) for model in models):
        return None
    board = board_of(
        stored, files, models, settings=settings, metric=metric, include_per_example=include_per_example
    )
    write_json(path, board.to_dict())
    return board


def drop_outdated(folder: Path) -> None:
    """Remove the boards of own metrics that are older than the models' last outputs."""
    outputs = folder / OUTPUTS
    if outputs.exists():
        written_at = outputs.stat().st_mtime_ns
        for path in folder.glob(BOARDS):
            if path.stat().st_mtime_ns < written_at:
                path.unlink()


def path_of(folder: Path, metric: str) -> Path:
    """Say where the board of an own metric is."""
    return folder / f"{STEM}{metric}.json"
