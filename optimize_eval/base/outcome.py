"""What became of a unit: scored, failed, or skipped; and how many of an evaluator's units so far.

An outcome is one of three types, all the way to the reports; Progress has counts, no mean.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import FailureKind
from optimize_eval.base.frozen import frozen
from optimize_eval.base.spent import NOTHING, Spent

SCORER = "scorer"  # the stage of a failure that is not the model's


@frozen
class Scored:
    """The evaluator answered."""

    score: float  # NaN where it is unranked
    side_info: JsonMapping
    seconds: float
    attempts: int = 1
    stderr: str = ""  # only where the user keeps it
    spent: Spent = NOTHING
    output: str = ""  # the key of the model's reply that was scored
    is_unranked: bool = False  # the answer has no number
    reply: JsonMapping = field(default_factory=dict)  # what is to be known of the model's reply

    def to_dict(self) -> JsonDict:
        return {
            "outcome": "scored",
            "score": None if self.is_unranked else self.score,
            "side_info": dict(self.side_info),
            "seconds": round(self.seconds, 6),
        }


@frozen
class Failed:
    """There is no score, and this is why."""

    kind: FailureKind
    message: str
    hint: str
    stderr: str
    seconds: float
    side_info: JsonMapping = field(default_factory=dict)
    attempts: int = 1
    retry_after: float | None = None  # seconds to wait before the next call, as the server said
    no_room: str = ""  # what this machine had too few of to make the call
    spent: Spent = NOTHING
    output: str = ""
    stage: str = ""  # "model" where there was no reply to score

    def to_dict(self) -> JsonDict:
        return {
            "outcome": "failed",
            "kind": str(self.kind),
            "message": self.message,
            "hint": self.hint,
            "stderr": self.stderr,
            "side_info": dict(self.side_info),
            "seconds": round(self.seconds, 6),
        }


@frozen
class Skipped:
    """The evaluator does not apply to this example, and this is why; no score, and no failure."""

    message: str
    side_info: JsonMapping = field(default_factory=dict)
    seconds: float = 0.0
    attempts: int = 1
    stderr: str = ""  # only where the user keeps it
    spent: Spent = NOTHING
    output: str = ""

    def to_dict(self) -> JsonDict:
        return {
            "outcome": "skipped",
            "message": self.message,
            "side_info": dict(self.side_info),
            "seconds": round(self.seconds, 6),
        }


Outcome = Scored | Failed | Skipped


@dataclass(slots=True, eq=False, repr=False)
class Progress:
    """One evaluator's part of a run; `done` counts what an earlier session scored or skipped."""

    name: str
    total: int
    done: int
    called: int = 0  # in this session
    failed: int = 0
    skipped: int = 0  # in any session
    failed_at: float = 0.0  # the last one
    last_failure: Failed | None = None
    last_place: JsonDict = field(default_factory=dict)
    unreplied: dict[str, int] = field(default_factory=dict)  # failures that were a model's, by its name
    unscored: dict[str, int] = field(default_factory=dict)  # of a model's: those that were a scorer's
    waiting: str = ""  # who waits for a server at the moment, of the whole run

    def count(self, outcome: Outcome, coordinates: JsonDict) -> None:
        self.called += 1
        self.done += 1
        self.skipped += isinstance(outcome, Skipped)
        if isinstance(outcome, Failed):
            self.failed += 1
            self.failed_at = time.monotonic()
            self._blame(outcome, coordinates)

    def _blame(self, failed: Failed, coordinates: JsonDict) -> None:
        """Note whose failure it is; the last one that is told is one of its own, where there is any."""
        scorer = str(coordinates.get("evaluator", self.name))
        is_scorers = failed.stage == SCORER and scorer != self.name
        if is_scorers:
            self.unscored[scorer] = self.unscored.get(scorer, 0) + 1
        is_models = failed.stage == "model"
        if is_models:
            model = str(coordinates["task_model"])
            self.unreplied[model] = self.unreplied.get(model, 0) + 1
        if not (is_scorers and self.own_failures) and not (is_models and self.beside):
            self.last_place, self.last_failure = coordinates, failed

    @property
    def own_failures(self) -> int:
        """Count the failures that were no scorer's."""
        return self.failed - sum(self.unscored.values())

    @property
    def models_at_fault(self) -> tuple[str, ...]:
        """Name the models that failed, where no failure was the evaluator's own."""
        return tuple(self.unreplied) if sum(self.unreplied.values()) == self.failed else ()

    @property
    def beside(self) -> Mapping[str, int]:
        """Count the failures of models beside those of the evaluator, where both have failed."""
        if self.models_at_fault:
            return {}
        return {model: many for model, many in self.unreplied.items() if model != self.name}

    @property
    def at_fault(self) -> str:
        """Name who failed: scorers or models, where nobody else did, else the evaluator."""
        if self.unscored and not self.own_failures:
            return ", ".join(self.unscored)
        models = self.models_at_fault
        return f"model{'s' * (len(models) > 1)} {', '.join(models)}" if models else self.name

    @property
    def asked(self) -> int:
        """The former name of `called`."""
        return self.called
