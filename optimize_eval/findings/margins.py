"""Margins: the loss that is too small to matter, in an evaluator's own score units, as --margin gives it."""

import math
from collections.abc import Sequence

from optimize_eval.base.errors import UsageError
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.store.layout import Layout

_HINT = "write --margin 0.02, or --margin EVALUATOR=0.02"


def parse_margins(texts: Sequence[str], layout: Layout) -> dict[str, float]:
    """Read X, which is for every evaluator with scores from 0 to 1, or NAME=X, which is for one."""
    margins: dict[str, float] = {}
    for text in texts:
        name, _, said = text.rpartition("=")
        margin = _number(said, text)
        margins.update(dict.fromkeys([_known(name, layout)] if name else _unit(layout, margins), margin))
    return margins


def _number(said: str, text: str) -> float:
    try:
        margin = float(said)
    except ValueError:
        margin = math.nan
    if not 0 < margin < math.inf:
        raise UsageError(f"--margin needs a number above 0, not {text!r}", hint=_HINT)
    return margin


def _known(name: str, layout: Layout) -> str:
    if name not in layout.evaluators:
        known = ", ".join(layout.evaluators[:20])
        raise UsageError(f"no evaluator named {name!r} in this run", hint=f"its evaluators are {known}")
    return name


def _unit(layout: Layout, margins: dict[str, float]) -> list[str]:
    """List the evaluators that a plain margin is for; those without a range need their own."""
    names = [name for name in layout.evaluators if name not in margins]
    without = [name for name in names if layout.score_range(name) is not ScoreRange.UNIT]
    if without:
        raise UsageError(
            f"the scores of {without[0]} have no range, so a margin for it needs its name",
            hint=f"write --margin {without[0]}=X first, in its own units",
        )
    return names
