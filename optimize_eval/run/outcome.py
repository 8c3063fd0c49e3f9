"""What became of a unit: scored, failed, or skipped on purpose. Three types, all the way to the reports."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from optimize_eval.errors import FailureKind
from optimize_eval.spent import NOTHING, Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """The evaluator answered."""

    score: float
    side_info: Mapping[str, Any]
    seconds: float
    attempts: int = 1
    stderr: str = ""  # only where the user keeps it
    spent: Spent = NOTHING

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
    side_info: Mapping[str, Any] = field(default_factory=dict)
    attempts: int = 1
    retry_after: float | None = None  # seconds to wait before the next call, as the server said
    no_room: str = ""  # what this machine had too few of to make the call
    spent: Spent = NOTHING

    def to_dict(self) -> dict[str, Any]:
        return {
            "outcome": "failed",
            "kind": str(self.kind),
            "message": self.message,
            "hint": self.hint,
            "stderr": self.stderr,
            "side_info": dict(self.side_info),
            "seconds": round(self.seconds, 6),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """It was not called, on purpose."""

    message: str

    def to_dict(self) -> dict[str, Any]:
        return {"outcome": "skipped", "message": self.message}


Outcome = Scored | Failed | Skipped
