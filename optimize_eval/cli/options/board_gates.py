"""The options that hold leaderboards against demands.

Those for runs, and how gates end a command, are gates'.
"""

from collections.abc import Sequence
from typing import Annotated

import typer

from optimize_eval.errors import UsageError

FailUnder = Annotated[
    list[str] | None,
    typer.Option("--fail-under", metavar="MODEL[@TASK]=X", help="Fail if the score is below this."),
]
NoRegression = Annotated[
    str | None,
    typer.Option("--no-regression-against", metavar="BENCH", help="A bench or board to be no worse than."),
]


def refuse_gap(max_gap: float | None) -> None:
    if max_gap is not None:
        raise UsageError(
            "--max-gap is between train and val, and a bench has neither",
            hint="give --fail-under MODEL=0.8, or --no-regression-against BENCH",
        )


def refuse_margin(margin: Sequence[str] | None) -> None:
    if margin:
        raise UsageError("--margin is for the evaluators of a run, not for a bench", hint="omit it")
