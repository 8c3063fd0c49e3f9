"""Leaderboards as commands print them."""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from optimize_eval.base import documents
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.cli import output
from optimize_eval.config.printing import ShownOptions
from optimize_eval.findings.board_shapes import SCHEMA, Board, scorers_on
from optimize_eval.findings.summary_shape import Summary
from optimize_eval.findings.wording import failures_in_short
from optimize_eval.reports import metric_tables
from optimize_eval.reports.terminal import leaderboard
from optimize_eval.reports.terminal.answer import DETAILS, MOST_LINES
from optimize_eval.reports.terminal.summary import failures_of, head
from optimize_eval.reports.text import Screen


def tell(
    boards: Mapping[str, Board],
    path: Path,
    status: str,
    shown: ShownOptions,
    *,
    beside: JsonMapping = MappingProxyType({}),
    summary: Summary | None = None,
) -> None:
    """Print boards by their metrics' names, the bench's own without one, which is in `path`.

    Without any only JSON has something to say on stdout; it has `beside`, too. `summary` has the metrics of
    tasks in YAML.
    """
    if shown.as_json:
        output.emit_json(
            {**to_dict(boards), "run": str(path.parent), "status": status, **metrics_in(summary), **beside}
        )
    elif boards and shown.quiet:
        verdicts = [
            f"{f'by {name}: ' * bool(name)}{board.verdict.text}{_failed_on(board)}"
            for name, board in boards.items()
        ]
        output.emit("\n".join([*verdicts, str(path.parent)]))
    elif boards:
        emit(boards, path.parent, has_details=shown.details, summary=summary)
        output.say(f"the board is {path}")


def _failed_on(board: Board) -> str:
    failed = {model.adapter: model.failed for model in board.models if model.failed}
    return failures_in_short(failed, sum(model.scored + model.failed for model in board.models))


def metrics_in(summary: Summary | None) -> JsonDict:
    """Give what JSON has of the metrics of tasks, and of failures by stage; most benches have none."""
    if summary is None or not summary.metrics:
        return {}
    metrics = [documents.to_dict(metric) for metric in summary.metrics]
    failures = [documents.to_dict(failure) for failure in summary.failures]
    return {"metrics": metrics, **({"failures": failures} if failures else {})}


def emit(
    boards: Mapping[str, Board],
    folder: Path,
    *,
    has_details: bool,
    note: str | None = None,
    summary: Summary | None = None,
) -> None:
    """Write boards for people, the bench's own last, all below the run's note."""
    screen = output.screen()
    above = head(note, screen)
    own = [*_of_tasks(summary, scorers_on(boards), screen)]
    others = {name: board for name, board in boards.items() if name}
    if has_details:
        for name, board in others.items():
            above += [f" by {screen.fit(name)}", leaderboard.render(board, screen=screen), ""]
        last = [leaderboard.render(boards[""], screen=screen)] if "" in boards else []
        output.emit("\n".join([*above, *own, *([""] if own else []), *last]))
        return
    for name, board in others.items():
        above += screen.wrap(" ", f"by {name}: {board.verdict.text}.")
    output.emit("\n".join(above + _answer(boards, own, folder, MOST_LINES - len(above), screen)))


def _answer(
    boards: Mapping[str, Board], own: Sequence[str], folder: Path, most: int, screen: Screen
) -> list[str]:
    """Lay out the bench's own board below what its tasks have of their own, where there is room for that."""
    how = screen.fit(f"optimize-eval report {shlex.quote(str(folder))} {DETAILS}")
    if "" not in boards:
        return [*own, how]
    own = own if len(own) <= most // 2 else screen.wrap(" ", f"metrics of tasks: see {DETAILS}")
    most -= len(own)
    return [*own, leaderboard.render_answer(boards[""], screen=screen, most=most, next_step=how)]


def _of_tasks(summary: Summary | None, on_board: Collection[str], screen: Screen) -> Iterator[str]:
    """Lay out what boards do not say of tasks in YAML: metrics, and what failed at which stage."""
    if summary and summary.metrics:
        yield from metric_tables.lines_of_summary(summary, screen, on_board=on_board)
        yield from failures_of(summary, screen)


def to_dict(boards: Mapping[str, Board]) -> JsonDict:
    """Make one value of boards: the bench's own, with those of own metrics in it."""
    own = boards.get("")
    none: JsonMapping = {"schema": SCHEMA, "overall_score": None, "tasks": [], "models": []}
    others = {name: board.to_dict() for name, board in boards.items() if name}
    return {**(own.to_dict() if own else none), **({"boards": others} if others else {})}
