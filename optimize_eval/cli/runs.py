"""`optimize-eval runs`: what runs there are, how they stand and what came out of them."""

import time
from pathlib import Path
from typing import Annotated

import typer

from optimize_eval.cli import options, output
from optimize_eval.errors import UsageError
from optimize_eval.reports import runs as report
from optimize_eval.store.listing import list_runs

EXAMPLES = """\b
Examples:
  optimize-eval runs
  optimize-eval runs nightly --json
"""

_USUAL = "runs"  # where `run` makes them


def runs(
    folder: Annotated[
        str | None,
        typer.Argument(metavar="DIR", help="The folder that holds runs (runs).", show_default=False),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List the runs in a folder, the newest first, each with its state and its verdict."""
    place = Path(_USUAL if folder is None else folder)
    if folder == "" or (folder is not None and not place.is_dir()):
        raise UsageError(
            f"there is no folder {folder!r}", hint="name a folder that holds runs, or leave it away"
        )
    found = list_runs(place)
    if as_json:
        output.emit_json(report.to_dict(found))
    else:
        text = report.render(found, fit=output.fitted, folder=place, now=time.time(), width=output.width())
        output.emit(text)
