"""Leaderboards as a session makes them: computed from a run's journal, kept beside it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from optimize_eval.base.documents import JsonMapping
from optimize_eval.findings.board_models import BenchedModel, benched_models, is_owed, ranks_none, unranked_in
from optimize_eval.findings.board_shapes import Board
from optimize_eval.findings.boards import board_of
from optimize_eval.findings.stored_summary import Findings
from optimize_eval.run.host import Say
from optimize_eval.store.folder import BOARD_STEM, BOARDS, OUTPUTS, write_json
from optimize_eval.store.layout import Split
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.tasks.stored_tasks import tasks_in
from optimize_eval.tasks.targets import DIALECT
from optimize_eval.tasks.task_files import SPEC, BoardFile, BoardItem

_NOTHING_OF_IT = Split(name="", lines=(), sha256=())  # of a file whose tasks were all filtered out


def make_board(
    findings: Findings,
    files: Sequence[BoardFile],
    models: Sequence[BenchedModel],
    path: Path | None,
    *,
    settings: JsonMapping,
    metric: str | None = None,
    include_per_example: bool = False,
) -> Board | None:
    """Make the leaderboard of models, and keep it where a path is given.

    There is none while calls are owed, or where no task ranks them.
    """
    if any(is_owed(findings.run, model) for model in models) or (metric is None and ranks_none(findings)):
        return None
    board = board_of(
        findings, files, models, settings=settings, metric=metric, include_per_example=include_per_example
    )
    if path:
        write_json(path, board.to_dict())
    return board


def remake_board(findings: Findings, before: Board, path: Path | None = None) -> Board | None:
    """Make a board again of the journal; the one that there was tells its files and settings alone."""
    return make_board(
        findings,
        list(_files_of(before, findings.run)),
        benched_models(findings.run),
        path,
        settings=before.settings,
        include_per_example=before.has_some_examples,
    )


def note_unranked(findings: Findings, say: Say) -> None:
    """Say which scorers rank nobody; where there is a board, it says so itself, too."""
    if unranked := unranked_in(findings):
        who = "no model is ranked" if ranks_none(findings) else f"the board is without {', '.join(unranked)}"
        say(f"note: {who}: {'; '.join(f'{scorer.evaluator} {scorer.why}' for scorer in unranked.values())}")


def _files_of(board: Board, stored: StoredRun) -> Iterator[BoardFile]:
    """Give the task files of a board with as much of their samples as a board knows."""
    metrics = {task.task: task.metric_id or "" for task in board.tasks}
    metrics |= dict(_left_out_before(board, stored))
    categories = {task.task: task.category for task in board.tasks}
    samples = {
        (task.path, one.line): one
        for model in board.models
        for task in model.tasks
        for one in task.per_example
    }
    splits = iter(stored.layout.splits)
    for file in board.files:
        split = next(splits) if file.tasks else _NOTHING_OF_IT
        names = split.names or split.lines
        name = split.name if file.dialect == DIALECT else Path(split.name).stem
        yield BoardFile(
            path=file.path or "",
            name=name,
            dialect=file.dialect,
            sha256=file.sha256 or "",
            tasks=tuple(
                BoardItem(
                    id=str(identity),
                    line=line or 0,
                    prompt=one.prompt if (one := samples.get((file.path, line))) else "",
                    targets=one.targets if one else (),
                    metric=metrics.get(str(identity) if file.dialect == SPEC else name, ""),
                    category=categories.get(str(identity)) if file.dialect == SPEC else None,
                )
                for identity, line in zip(names, split.lines, strict=True)
            ),
        )


def _left_out_before(board: Board, stored: StoredRun) -> Iterator[tuple[str, str]]:
    """Name the scorers of tasks that were not on a board, and may be now."""
    scorers = [scorer for task in tasks_in(stored.document.settings) for scorer in task.scorers]
    keys = {scorer.evaluator: scorer.key for scorer in scorers}
    yield from ((task.task, keys.get(task.evaluator, "")) for task in board.left_out)


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
    return folder / f"{BOARD_STEM}{metric}.json"
