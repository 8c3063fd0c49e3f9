"""Options about calls of models: how servers are treated, and prices."""

import math
from typing import TYPE_CHECKING, Annotated

import typer

from optimize_eval.durations import HINT, parse_duration
from optimize_eval.errors import UsageError

if TYPE_CHECKING:
    from optimize_eval.models import Manners

PATIENCE = "10m"

Patience = Annotated[
    str,
    typer.Option(
        "--patience", metavar="TIME", show_default=False, help="Wait so long for a full server (10m)."
    ),
]
Rpm = Annotated[float | None, typer.Option("--rpm", metavar="N", help="Calls a minute to a model server.")]
Tpm = Annotated[float | None, typer.Option("--tpm", metavar="N", help="Tokens a minute of one.")]
MaxCost = Annotated[float | None, typer.Option("--max-cost", metavar="DOLLARS", help="Pause beyond so much.")]
MaxTokens = Annotated[
    int | None, typer.Option("--max-tokens-total", metavar="N", min=1, help="Pause beyond so many.")
]
PriceFile = Annotated[str | None, typer.Option("--prices", metavar="FILE", help="TOML: [prices] of models.")]


def manners(
    patience: str,
    rpm: float | None,
    tpm: float | None,
    prices: str | None = None,
    max_cost: float | None = None,
) -> "Manners | None":
    """Make of the options above how servers of models are treated; None: as usual."""
    if (patience, rpm, tpm, prices, max_cost) == (PATIENCE, None, None, None, None):
        return None
    from optimize_eval.models import Manners  # noqa: PLC0415  most commands call no model
    from optimize_eval.sweepfile.prices import load_prices  # noqa: PLC0415  and have no prices

    for option, limit in (("--rpm", rpm), ("--tpm", tpm)):
        if limit is not None and not 0 < limit < math.inf:
            raise UsageError(f"{option} {limit:g} lets no call through", hint="give a number above 0")
    try:
        seconds = parse_duration(patience)
    except ValueError:
        raise UsageError(f"--patience {patience!r} is no duration", hint=HINT) from None
    known = load_prices(prices) if prices else {}
    return Manners(patience=seconds, rpm=rpm, tpm=tpm, prices=known, seeks_prices=max_cost is not None)
