"""One unit: ask an evaluator with a deadline, again where that may help, and make an outcome of it.

The one place that catches EvaluationError. A failure is a type of its own, never a number.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optimize_eval.errors import EvaluationError, FailureKind
from optimize_eval.protocol import Answer, Payload
from optimize_eval.reach import Evaluator

STDERR_SHOWN = 2048

_FIRST_PAUSE = 0.1  # seconds before the second attempt; each further pause is twice as long


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """The evaluator answered."""

    score: float
    side_info: Mapping[str, Any]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "outcome": "scored",
            "score": self.score,
            "side_info": dict(self.side_info),
            "seconds": round(self.seconds, 6),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """There is no score, and this is why."""

    kind: FailureKind
    message: str
    hint: str
    stderr: str
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return {
            "outcome": "failed",
            "kind": str(self.kind),
            "message": self.message,
            "hint": self.hint,
            "stderr": self.stderr,
            "seconds": round(self.seconds, 6),
        }


Outcome = Scored | Failed


def attempt(evaluator: Evaluator, payload: Payload, timeout: float, retries: int = 0) -> Outcome:
    """Ask; the evaluator has `timeout` seconds for the answer, further attempts and their pauses included."""
    started = time.monotonic()
    try:
        answer = ask(evaluator, payload, started + timeout, retries)
    except EvaluationError as error:
        return Failed(
            kind=error.kind,
            message=error.message,
            hint=error.hint,
            stderr=_tail(error.detail),
            seconds=time.monotonic() - started,
        )
    return Scored(score=answer.score, side_info=answer.side_info, seconds=time.monotonic() - started)


def ask(evaluator: Evaluator, payload: Payload, deadline: float, retries: int) -> Answer:
    """Ask until there is an answer, a failure that asking again cannot mend, or no time or attempt left."""
    for pause in _pauses(retries):
        try:
            return evaluator.call(payload, deadline)
        except EvaluationError as error:
            if error.retry_after is None:
                raise
            wait = max(pause, error.retry_after)
            if time.monotonic() + wait >= deadline:
                raise
        time.sleep(wait)
    return evaluator.call(payload, deadline)


def _pauses(retries: int) -> list[float]:
    return [_FIRST_PAUSE * 2**number for number in range(retries)]


def _tail(text: str) -> str:
    return text if len(text) <= STDERR_SHOWN else "…" + text[1 - STDERR_SHOWN :]
