"""`optimize-eval judge`: people are asked for labels, where these say most of what a judge is worth."""

from typing import Annotated

import typer

from optimize_eval.cli import output
from optimize_eval.cli.destination import Destination
from optimize_eval.cli.groups import bound
from optimize_eval.cli.known_elsewhere import complete_run
from optimize_eval.config.compared import MovedSplitOptions
from optimize_eval.run.asking import as_csv, ask_people

EXAMPLES = """\b
Examples:
  optimize-eval judge label runs/run-1f3a9c02 --by Ada -o labels.csv
  optimize-eval rescore runs/run-1f3a9c02 --labels labels.csv

\b
Fill in the column label, from the top; whoever stops early has a good sample,
too. Exit codes: 0 done, 2 no such run or judge, or its data has changed.
"""

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=EXAMPLES,
    help="Ask people for labels where a judge may be wrong.",
)


@app.callback()
def judge() -> None:
    """Ask people for labels where a judge may be wrong."""


def label(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's folder.", autocompletion=complete_run)],
    splits: MovedSplitOptions,
    by: Annotated[str, typer.Option("--by", metavar="NAME", help="Who will fill it in.")],
    most: Annotated[int, typer.Option("--most", metavar="N", min=1, help="Rows at most.")] = 50,
    judge: Annotated[
        str | None, typer.Option("--judge", metavar="NAME", help="Which judge, of several (the first).")
    ] = None,
    out: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Where to write it; - is stdout.")
    ] = "-",
) -> None:
    """Write a CSV file for people to fill in: first where a label could turn the verdict."""
    destination = Destination(out)
    destination.check()
    asked = ask_people(run, by, most, judge, splits.files)
    text = as_csv(asked.rows)
    if destination.is_stdout:
        output.emit_document(text)
    else:
        destination.write([f"{text}\n".encode(errors="backslashreplace")])
    output.say(f"{len(asked.rows):,} rows to label; {asked.words}")


app.command("label", epilog=EXAMPLES)(bound(label))
