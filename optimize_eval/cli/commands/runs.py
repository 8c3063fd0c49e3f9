"""`optimize-eval runs`: what runs there are, how they stand and what came out; notes of them, and removal."""

import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from optimize_eval.base import errors
from optimize_eval.base.errors import UsageError
from optimize_eval.cli import groups, output
from optimize_eval.cli.known_elsewhere import complete_run
from optimize_eval.reports.terminal import lists
from optimize_eval.store.folder import Removal, plan_removals, remove
from optimize_eval.store.listing import list_runs
from optimize_eval.store.opened_run import write_note

EXAMPLES = """\b
Examples:
  optimize-eval runs
  optimize-eval runs nightly --json
  optimize-eval runs note runs/run-1f3a9c02 'the prompt before the fix'
  optimize-eval runs rm runs/run-1f3a9c02 runs/old-*

\b
Exit codes: 0 done, 1 not removed after all, 2 no such folder or run, or one
that is being worked on.
"""

_LIST = "list"
_USUAL = "runs"  # where `run` makes them


class _ListFirst(TyperGroup):
    """Lists where no other command is named; a folder with the name of a command is ./NAME."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        first = arguments[0] if arguments else ""
        is_other = first in self.commands or first in context.help_option_names
        return super().parse_args(context, arguments if is_other else [_LIST, *arguments])


app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    cls=_ListFirst,
    subcommand_metavar="[DIR | COMMAND …]",
    epilog=EXAMPLES,
    help="List the runs in a folder (runs), note something of one, remove some.",
)
RunFolder = Annotated[
    str, typer.Argument(metavar="RUN", help="The run's folder.", autocompletion=complete_run)
]


@app.command(_LIST, epilog=EXAMPLES)
def list_(
    folder: Annotated[
        str | None,
        typer.Argument(metavar="DIR", help="The folder that holds runs (runs).", show_default=False),
    ] = None,
    long: Annotated[
        bool, typer.Option("--long", help="Sizes, what each compares, and what resumes it.")
    ] = False,
    as_json: groups.Json = False,
) -> None:
    """List the runs in a folder, a line for each, the newest last."""
    shelf = Path(_USUAL if folder is None else folder)
    if folder == "" or (folder is not None and not shelf.is_dir()):
        raise UsageError(f"there is no folder {folder!r}", hint="name a folder that holds runs, or omit it")
    runs = list_runs(shelf)
    if as_json:
        output.emit_json(lists.runs_to_dict(runs))
    else:
        render = lists.render_long if long else lists.render_runs
        output.emit(render(runs, screen=output.screen(), folder=shelf, now=time.time()))


@app.command(epilog=EXAMPLES)
def note(
    run: RunFolder,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to note; an empty text removes it.")],
) -> None:
    """Note something of a run, for the list and its reports."""
    write_note(run, text)


@app.command(epilog=EXAMPLES)
def rm(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN…", help="The folders of runs.", autocompletion=complete_run)
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: groups.Json = False,
) -> None:
    """Remove runs; what is not theirs stays in their folders."""
    planned = plan_removals(runs)
    if not yes and not _is_wanted(planned):
        output.say("nothing was removed")
        raise typer.Exit(errors.MISSED)
    removed = [remove(removal.folder) for removal in planned]
    if as_json:
        output.emit_json(lists.removal_to_dict(removed))
    else:
        output.emit(lists.render_removal(removed))


def _is_wanted(planned: Sequence[Removal]) -> bool:
    """Ask whoever sits before the terminal; raises UsageError where nobody does."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        words = shlex.join(
            ["optimize-eval", "runs", "rm", *(str(removal.folder) for removal in planned), "--yes"]
        )
        raise UsageError(
            "runs are removed for good, and nobody can be asked here", hint=f"add --yes: {words}"
        )
    output.say(lists.question(planned))
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
