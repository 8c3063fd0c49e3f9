"""Boards of what models got, which nobody called."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from optimize_eval.findings.board_models import benched_models, said_in
from optimize_eval.findings.board_shapes import Board
from optimize_eval.findings.boards import board_of
from optimize_eval.findings.stored_summary import Findings
from optimize_eval.reports.terminal.leaderboard import render
from optimize_eval.reports.text import Screen
from optimize_eval.store.opened_run import open_stored
from optimize_eval.tasks import Task, TaskFile
from tests.findings.made import Example, made

Files = Mapping[str, Sequence[Example]]  # what a model got, by file


def board(models: Mapping[str, Files], **settings: Any) -> dict[str, Any]:
    """Make the leaderboard of what models got; a file with categories is of the spec dialect."""
    with tempfile.TemporaryDirectory() as folder:
        return board_and_folder(Path(folder, "run"), models, **settings)[0]


def board_and_folder(
    folder: Path,
    models: Mapping[str, Files],
    *,
    categories: Mapping[str, Sequence[str]] | None = None,
    **settings: Any,
) -> tuple[dict[str, Any], Path]:
    scored = {
        (f"{file}.f1", name): {"none": {file: files[file]}}
        for file in next(iter(models.values()))
        for name, files in models.items()
    }
    run = made(scored, is_bench=True)
    told = categories or {}
    files = [_file(name, len(got), told.get(name)) for name, got in next(iter(models.values())).items()]
    stored = open_stored(run.write(folder))
    keep = said_in if settings.get("include_per_example") else None
    found = board_of(Findings(run=stored, keep=keep), files, benched_models(stored), settings={}, **settings)
    return found.to_dict(), folder


def rendered(found: Mapping[str, Any], *, width: int) -> str:
    return render(Board.from_dict(found), screen=Screen(width))


def _file(name: str, size: int, categories: Sequence[str] | None) -> TaskFile:
    tasks = tuple(
        Task(
            id=f"{name}{line}",
            line=line,
            prompt="?",
            targets=("!",),
            metric="f1",
            evaluator="@f1",
            post_process="none",
            category=categories[line - 1] if categories else None,
            raw=b"{}",
        )
        for line in range(1, size + 1)
    )
    dialect = "spec" if categories else "examples"
    return TaskFile(path=f"{name}.jsonl", name=name, dialect=dialect, sha256="0", tasks=tasks, errors=())


def by_name(found: Mapping[str, Any]) -> dict[str, Any]:
    return {model["adapter"]: model for model in found["models"]}
