"""`optimize-eval diff`: two runs on disk against each other, example by example."""

from typing import Annotated

import typer

from optimize_eval.cli import options, output
from optimize_eval.run.stored import open_stored

EXAMPLES = """\b
Examples:
  optimize-eval diff runs/before runs/after
  optimize-eval diff runs/run-1f3a9c02 runs/run-77b0e415 --force --json

\b
Compares what both asked: the same evaluators about candidates of the same names on the same examples.
Exit codes: 0 compared, whatever came out, 2 no such run or not comparable, 3 a journal is damaged.
"""


def diff(
    run_a: Annotated[str, typer.Argument(metavar="RUN_A", help="The run before.")],
    run_b: Annotated[str, typer.Argument(metavar="RUN_B", help="The run after.")],
    force: Annotated[
        bool, typer.Option("--force", help="Compare what is common, though data or evaluators differ.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Say what changed from one run to another; it needs their folders and nothing else."""
    from optimize_eval.aggregates.runs_compared import compared  # noqa: PLC0415  a plain --help needs no statistics
    from optimize_eval.reports import diff as report  # noqa: PLC0415

    found = compared(open_stored(run_a), open_stored(run_b), force=force)
    if as_json:
        output.emit_json(found)
    else:
        output.emit(report.render(output.fitted(found), width=output.width()))
