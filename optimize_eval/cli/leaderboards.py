"""Leaderboards as commands print them."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from optimize_eval.base import documents
from optimize_eval.cli import output
from optimize_eval.findings.board_shapes import SCHEMA, Board, scorers_on
from optimize_eval.findings.summary_shape import Summary
from optimize_eval.findings.wording import failures_in_short
from optimize_eval.reports import metric_tables
from optimize_eval.reports.terminal import leaderboard
from optimize_eval.reports.terminal.summary import failures_of, head


def tell(
    boards: Mapping[str, Board],
    path: Path,
    status: str,
    *,
    quiet: bool,
    as_json: bool,
    beside: Mapping[str, Any] = MappingProxyType({}),
    summary: Summary | None = None,
) -> None:
    """Print boards by their metrics' names, the bench's own without one, which is in `path`.

    Without any only JSON has something to say on stdout; it has `beside`, too. `summary` has the metrics of
    tasks in YAML.
    """
    if as_json:
        output.emit_json(
            {**to_dict(boards), "run": str(path.parent), "status": status, **metrics_in(summary), **beside}
        )
    elif boards and quiet:
        verdicts = [
            f"{f'by {name}: ' * bool(name)}{board.verdict.text}{_failed_on(board)}"
            for name, board in boards.items()
        ]
        output.emit("\n".join([*verdicts, str(path.parent)]))
    elif boards:
        emit(boards, summary=summary)
        output.say(f"the board is {path}")


def _failed_on(board: Board) -> str:
    failed = {model.adapter: model.failed for model in board.models if model.failed}
    return failures_in_short(failed, sum(model.scored + model.failed for model in board.models))


def metrics_in(summary: Summary | None) -> dict[str, Any]:
    """Give what JSON has of the metrics of tasks, and of failures by stage; most benches have none."""
    if summary is None or not summary.metrics:
        return {}
    metrics = [documents.to_dict(metric) for metric in summary.metrics]
    failures = [documents.to_dict(failure) for failure in summary.failures]
    return {"metrics": metrics, **({"failures": failures} if failures else {})}


def emit(boards: Mapping[str, Board], note: str | None = None, summary: Summary | None = None) -> None:
    """Write boards for people, those of own metrics below their names, all below the run's note."""
    if note:
        output.emit("\n".join(head(output.fitted(note), output.width())))
    for name, board in boards.items():
        if name:
            output.emit(f"\n by {name}")
        output.emit(leaderboard.render(output.fitted(board), width=output.width()))
    if lines := [*_of_tasks(output.fitted(summary), scorers_on(boards))]:
        output.emit("\n".join(["", *lines]))


def _of_tasks(summary: Summary | None, on_board: Collection[str]) -> Iterator[str]:
    """Lay out what boards do not say of tasks in YAML: metrics, and what failed at which stage."""
    if summary and summary.metrics:
        yield from metric_tables.lines_of_summary(summary, output.width(), output.paint(), on_board=on_board)
        yield from failures_of(summary, output.width(), output.paint())


def to_dict(boards: Mapping[str, Board]) -> dict[str, Any]:
    """Make one value of boards: the bench's own, with those of own metrics in it."""
    own = boards.get("")
    none: Mapping[str, Any] = {"schema": SCHEMA, "overall_score": None, "tasks": [], "models": []}
    others = {name: board.to_dict() for name, board in boards.items() if name}
    return {**(own.to_dict() if own else none), **({"boards": others} if others else {})}
