"""How an evaluator is reached: the Evaluator protocol, and the specification that one is made from.

One module per way of reaching: command (a process per call). None of them schedules, retries or
journals; each is blocking code that answers one payload before a deadline or raises EvaluationError.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from optimize_eval.protocol import Answer, Payload, ScoreRange

DEFAULT_TIMEOUT = 30.0


class Evaluator(Protocol):
    """Something that scores; safe to call from several threads at once."""

    def call(self, payload: Payload, deadline: float) -> Answer:
        """Answer before `deadline` (an instant of time.monotonic) or raise EvaluationError."""
        ...

    def close(self) -> None:
        """End what was started for the calls; the evaluator is not called again."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorSpec:
    """What an evaluator is, as plain data: everything needed to reach it from another process."""

    name: str
    argv: tuple[str, ...]
    cwd: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: float = DEFAULT_TIMEOUT
    score_range: ScoreRange = ScoreRange.UNIT
