"""`run --lf`: which run is meant, and what is said where nothing is left to be called again."""

from pathlib import Path

import typer

from optimize_eval.base.errors import UsageError
from optimize_eval.cli import output
from optimize_eval.cli.named_runs import choose_finished_run
from optimize_eval.run.last_failed import choose_last_failed
from optimize_eval.run.settings import GateOptions
from optimize_eval.run.sweeps import SweepInputs


def only_last_failed(comparison: SweepInputs, gates: GateOptions) -> tuple[SweepInputs, str]:
    """Keep what failed or got worse in the run that was finished last; ends the command where nothing did."""
    if gates.as_settings():
        raise UsageError(
            "--lf takes examples by their results, which no gate can be about",
            hint="omit the gates (and [gates] of a sweep file), or --lf",
        )
    run = choose_finished_run()
    chosen = choose_last_failed(comparison, run)
    if chosen is None:
        output.say(f"nothing failed or got worse in {run}: nothing is called")
        raise typer.Exit
    output.say(f"note: {chosen.many:,} of the examples failed or got worse in {run}; the others are left out")
    return chosen.inputs, Path(run).name
