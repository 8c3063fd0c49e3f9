"""Options that several commands share: one name, one help line, one meaning."""

from typing import Annotated

import typer

from optimize_eval.connect import parse_headers
from optimize_eval.protocol import ScoreRange
from optimize_eval.reach import EvaluatorSpec

Evaluators = Annotated[
    list[str],
    typer.Option("-e", "--evaluator", metavar="SPEC", help="[NAME=]COMMAND, URL or @METRIC."),
]
Timeout = Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="How long one call may take.")]
Cwd = Annotated[
    str | None,
    typer.Option("--cwd", metavar="DIR", help="The folder that the evaluator runs in."),
]
Range = Annotated[ScoreRange, typer.Option("--score-range", help="0 to 1, or any number.")]
TaskModel = Annotated[
    str | None,
    typer.Option("--task-model", metavar="NAME", help="A model's name, handed on to the evaluator."),
]
Headers = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="HEADER", help="NAME: VALUE for a URL; ${VAR} expands."),
]
Retries = Annotated[
    int | None, typer.Option("--retries", metavar="N", min=0, help="Further attempts (URL: 2, else 0).")
]
Persistent = Annotated[
    bool | None,
    typer.Option("--persistent/--no-persistent", help="Overrule what it declares.", show_default=False),
]
Workers = Annotated[
    int | None, typer.Option("--workers", metavar="N", min=1, help="Kept-alive processes (CPUs).")
]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON value instead of text.")]


def defaults(
    *,
    timeout: float,
    cwd: str | None,
    score_range: ScoreRange,
    header: list[str] | None,
    retries: int | None,
    persistent: bool | None,
    workers: int | None,
) -> EvaluatorSpec:
    """Make of the options above what every `-e` of a command starts from."""
    return EvaluatorSpec(
        timeout=timeout,
        cwd=cwd,
        score_range=score_range,
        headers=parse_headers(header or ()),
        retries=retries,
        persistent=persistent,
        workers=workers,
    )
