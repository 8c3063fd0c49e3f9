"""`optimize-eval judge`: people are asked for labels, where these say most of what a judge is worth."""

from typing import Annotated

import typer

from optimize_eval.base import files
from optimize_eval.base.errors import TOO_MANY_FAILURES, EvaluationError
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
  optimize-eval judge suggest 'It helps.' --candidate a.txt --judge-model openai/gpt-4o-mini -o rubric.toml

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


def suggest(
    objective: Annotated[str, typer.Argument(metavar="OBJECTIVE", help="What the judge is to look for.")],
    candidates: Annotated[
        list[str], typer.Option("--candidate", metavar="FILE", help="A text to be judged; may be repeated.")
    ],
    judge_model: Annotated[str, typer.Option("--judge-model", metavar="MODEL", help="Who proposes it.")],
    api_base: Annotated[str, typer.Option("--api-base", metavar="URL", help="Base URL of the model.")] = "",
    timeout: Annotated[float, typer.Option("--timeout", min=1, help="Seconds that it may take.")] = 120.0,
    out: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="Where to write it; - is stdout.")
    ] = "-",
) -> None:
    """Write a rubric that a model proposes, with weighted dimensions and anchors, for you to edit."""
    destination = Destination(out)
    destination.check()
    texts = [files.read(path, files.CANDIDATE).decode(errors="replace") for path in candidates]
    from optimize_eval.models.judging.suggesting import suggest as propose  # noqa: PLC0415  it calls a model

    try:
        text = propose(judge_model, api_base, objective, texts, timeout)
    except EvaluationError as error:
        output.say(f"error: {error.message}; {error.hint}")
        raise typer.Exit(TOO_MANY_FAILURES) from None
    if destination.is_stdout:
        output.emit_document(text)
    else:
        destination.write([f"{text}\n".encode()])
    output.say(
        "edit it, then: optimize-eval run … --rubric FILE, and hold it against people (docs/judges.md)"
    )


app.command("label", epilog=EXAMPLES)(bound(label))
app.command("suggest", epilog=EXAMPLES)(suggest)
