"""Options that several commands share: one name, one help line, one meaning."""

from typing import Annotated

import typer

from optimize_eval.protocol import ScoreRange

Evaluators = Annotated[
    list[str],
    typer.Option("-e", "--evaluator", metavar="SPEC", help="[NAME=]COMMAND or @METRIC."),
]
Timeout = Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="What a call may take.")]
Cwd = Annotated[
    str | None,
    typer.Option("--cwd", metavar="DIR", help="The folder that the evaluator runs in."),
]
Range = Annotated[ScoreRange, typer.Option("--score-range", help="unit (0 to 1) or any.")]
TaskModel = Annotated[
    str | None,
    typer.Option("--task-model", metavar="NAME", help="A model's name, handed on to the evaluator."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value instead of text.")]
