"""`report --step-summary`: what GitHub shows of a job's step: the report as its summary, and annotations."""

import os
import shlex
from collections.abc import Sequence
from typing import Annotated

import typer

from optimize_eval.cli import output
from optimize_eval.errors import UsageError
from optimize_eval.findings.shapes.summary import Summary
from optimize_eval.findings.summary.gates import Gate
from optimize_eval.reports import annotations, markdown
from optimize_eval.store.note import note_of
from optimize_eval.store.stored import StoredRun

VARIABLE = "GITHUB_STEP_SUMMARY"

Wanted = Annotated[
    bool,
    typer.Option("--step-summary", help="Add it to a GitHub job, and annotations."),
]


def check(wanted: bool, *, is_bench: bool) -> None:
    """Refuse where GitHub does not say where its summary is; before anything is computed."""
    if wanted and is_bench:
        raise UsageError(
            "--step-summary is for runs", hint=f'of a bench: report BENCH --format md >> "${VARIABLE}"'
        )
    if wanted and not os.environ.get(VARIABLE):
        raise UsageError(
            f"--step-summary needs ${VARIABLE}, which GitHub Actions sets", hint="elsewhere: --format md"
        )


def write(stored: StoredRun, summary: Summary, shown: Sequence[Gate]) -> None:
    """Append the report to the step's summary, and write the annotations to stderr."""
    run = shlex.quote(str(stored.folder))
    text = markdown.render(summary, shown, run, note_of(stored.manifest))
    with open(os.environ[VARIABLE], "ab") as file:  # noqa: PTH123  named by the runner, appended to
        file.write(text.encode(errors="backslashreplace") + b"\n\n")
    output.annotate(annotations.lines(summary, shown))
