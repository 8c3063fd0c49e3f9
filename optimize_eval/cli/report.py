"""`optimize-eval report`: a run's result once more, from its journal; `--check` computes it another way."""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from optimize_eval.aggregates import rederive
from optimize_eval.aggregates.summary import summarise
from optimize_eval.cli import options, output
from optimize_eval.errors import UsageError
from optimize_eval.reports import terminal
from optimize_eval.run.folder import JOURNAL, SUMMARY, read_manifest
from optimize_eval.run.ledger import Ledger
from optimize_eval.run.manifest import layout_of

EXAMPLES = """\b
Examples:
  optimize-eval report runs/run-1f3a9c02
  optimize-eval report runs/run-1f3a9c02 --check

\b
Exit codes: 0 done, 1 --check found a difference, 2 no such run, 3 the journal is damaged.
"""

_DIFFERS = 1


def report(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's folder.")],
    check: Annotated[
        bool, typer.Option("--check", help="Compute means, errors and differences anew, and compare.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Print a run's result again; it needs the run's folder and nothing else."""
    folder = Path(run)
    manifest = read_manifest(folder)
    if manifest is None or not (folder / JOURNAL).exists():
        raise UsageError(f"there is no run in {run}", hint="name a folder that `optimize-eval run` made")
    if check:
        _check(folder)
        return
    layout = layout_of(manifest)
    ledger = Ledger.read(folder / JOURNAL, layout, manifest["plan"])
    with ledger.reader(folder / JOURNAL) as reader:
        summary = summarise(layout, reader.records)
    if as_json:
        output.emit_json(summary)
    else:
        output.emit(terminal.render(summary, width=output.width(), run=shlex.quote(run)))


def _check(folder: Path) -> None:
    """Run the script that shares no code with us, and pass on what it says."""
    if not (folder / SUMMARY).exists():
        raise UsageError(
            f"{folder} has no {SUMMARY}", hint="let the run come to its end: the same command again"
        )
    done = subprocess.run(
        [sys.executable, rederive.__file__, str(folder)], capture_output=True, text=True, check=False
    )
    for line in done.stdout.splitlines():
        output.emit(line)
    if done.returncode:
        output.say(done.stderr.strip() or "error: summary.json and the journal do not agree")
        raise typer.Exit(_DIFFERS)
