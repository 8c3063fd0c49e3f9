"""`report --step-summary`: what GitHub shows of a job's step: the report as its summary, and annotations."""

import os
from typing import Annotated

import typer

from optimize_eval.base.errors import UsageError
from optimize_eval.cli import output
from optimize_eval.cli.formats.reported import BenchReport, RunReport
from optimize_eval.findings.board_models import name_of
from optimize_eval.findings.stored_summary import summarise_stored
from optimize_eval.findings.summary_shape import FailureGroup
from optimize_eval.reports import annotations, markdown
from optimize_eval.reports.board import markdown as board_markdown

VARIABLE = "GITHUB_STEP_SUMMARY"

Wanted = Annotated[
    bool,
    typer.Option("--step-summary", help="Add it and annotations to a GitHub job."),
]


def check(wanted: bool) -> None:
    """Refuse where GitHub does not say where its summary is; before anything is computed."""
    if wanted and not os.environ.get(VARIABLE):
        raise UsageError(
            f"--step-summary needs ${VARIABLE}, which GitHub Actions sets", hint="elsewhere: --format md"
        )


def write(run: RunReport) -> None:
    """Append a run's report to the step's summary, and write the annotations to stderr."""
    shown = run.judged or run.recalled
    _append(markdown.render(run.told, shown, run.name, run.note))
    output.annotate(annotations.lines(run.told, shown))


def write_board(bench: BenchReport) -> None:
    """Do the same for a bench; one without a board is a run."""
    if not bench.boards:
        write(bench.as_run())
        return
    _append(board_markdown.render(bench.boards, bench.gates, bench.name, bench.note, bench.summary))
    layout = bench.stored.layout

    def model(failures: FailureGroup) -> str:
        return name_of(failures.evaluator, failures.task_model, layout)

    output.annotate(annotations.lines(summarise_stored(bench.stored), bench.gates, model))


def _append(text: str) -> None:
    with open(os.environ[VARIABLE], "ab") as file:  # noqa: PTH123  named by the runner, appended to
        file.write(text.encode(errors="backslashreplace") + b"\n\n")
