"""How far a run is, by evaluator: counts and the last failure, no mean."""

import time
from dataclasses import dataclass, field
from typing import Any

from optimize_eval.run.outcome import Failed, Scored


@dataclass(slots=True)
class Progress:
    """One evaluator's part of a run; `done` counts what an earlier session scored, too."""

    name: str
    total: int
    done: int
    asked: int = 0  # in this session
    failed: int = 0
    failed_at: float = 0.0  # the last one
    last_failure: Failed | None = None
    last_place: dict[str, Any] = field(default_factory=dict)

    def count(self, outcome: Scored | Failed, coordinates: dict[str, Any]) -> None:
        self.asked += 1
        self.done += 1
        if isinstance(outcome, Failed):
            self.failed += 1
            self.failed_at = time.monotonic()
            self.last_place, self.last_failure = coordinates, outcome
