"""One unit: ask an evaluator with a deadline, and turn what comes back into an outcome.

The one place that catches EvaluationError. A failure is a type of its own, never a number.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optimize_eval.errors import EvaluationError, FailureKind
from optimize_eval.protocol import Payload
from optimize_eval.reach import Evaluator

STDERR_SHOWN = 2048


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


def attempt(evaluator: Evaluator, payload: Payload, timeout: float) -> Outcome:
    """Ask once; the evaluator has `timeout` seconds."""
    started = time.monotonic()
    try:
        answer = evaluator.call(payload, started + timeout)
    except EvaluationError as error:
        return Failed(
            kind=error.kind,
            message=error.message,
            hint=error.hint,
            stderr=_tail(error.detail),
            seconds=time.monotonic() - started,
        )
    return Scored(score=answer.score, side_info=answer.side_info, seconds=time.monotonic() - started)


def _tail(text: str) -> str:
    return text if len(text) <= STDERR_SHOWN else "…" + text[1 - STDERR_SHOWN :]
