"""`optimize-eval view`: runs in a browser, also while they go on; for this machine, until Ctrl-C."""

from pathlib import Path
from typing import Annotated

import typer

from optimize_eval.base.errors import UsageError
from optimize_eval.cli import foreign_runs, output
from optimize_eval.cli.known_elsewhere import complete_run
from optimize_eval.cli.named_runs import choose_shown
from optimize_eval.cli.viewing import in_browser, serving, until_interrupted
from optimize_eval.config.foreign_options import ReadResultsOptions
from optimize_eval.store.listing import list_runs
from optimize_eval.store.opened_run import StoredRun

EXAMPLES = """\b
Examples:
  optimize-eval view --open
  optimize-eval view runs/run-1f3a9c02
  optimize-eval view runs
  optimize-eval view results.json

\b
The address has a token in it: who does not have it is refused. Only this
machine can reach it.
"""

_MOST_PORT = 65_535


def view(
    context: typer.Context,
    read: ReadResultsOptions,
    named: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN|DIR|FILE...]",
            help="A run, or a folder of them (runs/: what ended last), or another tool's results.",
            autocompletion=complete_run,
            show_default=False,
        ),
    ] = None,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser, too.")] = False,
    port: Annotated[int, typer.Option(help="0: any that is free.", min=0, max=_MOST_PORT)] = 0,
) -> None:
    """Serve runs as pages, also while they go on, until Ctrl-C."""
    runs = foreign_runs.as_runs(context, named, read, has_summary=True)
    folders = [str(run.folder) if isinstance(run, StoredRun) else run for run in runs]
    folder = folders[0]
    shelf = Path(choose_shown(folder))
    shelf = shelf.parent if len(folders) > 1 else shelf
    if not shelf.is_dir() or folder == "":
        raise UsageError(f"there is no folder {str(shelf)!r}", hint="name a run, or a folder that holds runs")
    if not list_runs(shelf):
        output.say(f"note: there is no run in {shelf} yet")
    with serving(shelf, port) as url, in_browser(url, is_wanted=open_), until_interrupted():
        output.say("Ctrl-C ends it")
        output.emit(url)
