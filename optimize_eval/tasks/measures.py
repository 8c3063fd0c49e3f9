"""What a reply took, as a score: its seconds, its dollars, its tokens.

Less is better, and of scores more is: so each is a number below zero, by which comparisons and gates are
right as they are. The plain number is side information.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.protocol import Answer, Payload
from optimize_eval.models.under_test import Output

_TOKENS = ("prompt_tokens", "completion_tokens")


@dataclass(frozen=True, slots=True)
class Measure:
    """Which of them, as a target."""

    kind: ClassVar[str] = "measure"
    name: str


class ReplyMeasure:
    """Scores how a reply came about."""

    def __init__(self, measure: Measure) -> None:
        self._measured = MEASURES[measure.name]

    def of_payload(self, _payload: Payload, output: Output) -> Answer:
        values = self._measured(output)
        return Answer(score=-sum(values.values()) or 0.0, side_info=values)


def _latency(output: Output) -> dict[str, float]:
    if output.seconds is None:
        raise _unknown("how long the call took", "its reply was written down by an older version")
    return {"seconds": output.seconds}


def _cost(output: Output) -> dict[str, float]:
    cost = _sum(output, "cost")
    if cost is None:
        raise _unknown("what the call cost", "give the model's price: --prices, or [prices]")
    return {"dollars": cost}


def _tokens(output: Output) -> dict[str, float]:
    counts = {name: _sum(output, name) for name in _TOKENS}
    known = {name: int(count) for name, count in counts.items() if count is not None}
    if len(known) < len(_TOKENS):
        raise _unknown("how many tokens the call took", "the model does not tell: a program does with usage")
    return dict(known)


def _sum(output: Output, name: str) -> float | None:
    """Add up what the calls for a reply tell, or a program beside its text; None if one does not."""
    usages: Sequence[Any] = output.usage or (output.side.get("usage"),)
    values = [usage.get(name) if isinstance(usage, Mapping) else None for usage in usages]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return sum(numbers) if numbers and len(numbers) == len(values) else None


def _unknown(what: str, hint: str) -> EvaluationError:
    return EvaluationError(FailureKind.REPORTED, f"it is not known {what}", hint=hint)


MEASURES: Mapping[str, Callable[[Output], dict[str, float]]] = {
    "latency": _latency,
    "cost": _cost,
    "tokens": _tokens,
}
