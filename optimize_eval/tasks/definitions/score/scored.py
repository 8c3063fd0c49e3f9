"""What a scorer makes of a sample: one number or none, all fields, and what is told beside them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Any

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.frozen import frozen
from optimize_eval.base.spent import NOTHING, Spent
from optimize_eval.templates.fault import RULE, TemplateFault

STAGE = "scorer"
FIRST = ("is_correct", "score")  # of code's fields: the one that counts

_PARTS = ("scores", "metadata")
_MOST_NAMED = 5


@frozen
class Scored:
    """What a scorer says of a sample."""

    primary: float | None  # None: the scorer gave a label, or only texts
    scores: Mapping[str, Any]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    spent: Spent = NOTHING

    @property
    def side_info(self) -> dict[str, Any]:
        """Give the fields as a record keeps them."""
        metadata = {"metadata": self.metadata} if self.metadata else {}
        return {"scores": self.scores, **metadata}


def scored_by_code(returned: Any) -> Scored:
    """Read what code returned: its scores alone, or beside metadata; raises EvaluationError."""
    if not isinstance(returned, Mapping):
        raise unusable(f"compute_scores returned {kind(returned)}, not scores by their names")
    scores, metadata = _parts(returned)
    return Scored(primary=primary_of(scores), scores=scores, metadata=metadata)


def primary_of(scores: Mapping[str, Any]) -> float | None:
    """Find the number that counts: is_correct, else score, else the first there is.

    >>> primary_of({"words": 7, "label": "x", "is_correct": True})
    1.0
    """
    names = (*FIRST, *scores)
    return next((number(scores[name]) for name in names if _is_number(scores.get(name))), None)


def number(value: float) -> float:
    """Make a number of an integer of any size; raises EvaluationError where it is too large."""
    try:
        return float(value)
    except OverflowError:
        raise unusable("a number is too large to compute with") from None


def unusable(message: str, hint: str = "") -> EvaluationError:
    """Make the failure of a scorer whose own words or data are wrong."""
    return EvaluationError(FailureKind.REPORTED, message, hint=hint)


@contextmanager
def failing(key: str) -> Iterator[None]:
    """Let whatever goes wrong say which scorer it was."""
    try:
        yield
    except EvaluationError as error:
        error.message = f"{STAGE} {key}: {error.message}"
        error.stage = STAGE
        raise
    except TemplateFault as fault:
        failure = unusable(f"{STAGE} {key}: {RULE}: {fault.reason}")
        failure.stage = STAGE
        raise failure from None


def _parts(returned: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Take scores and metadata apart; without a mapping of scores, all of it is scores."""
    scores, metadata = returned.get("scores"), returned.get("metadata")
    if not isinstance(scores, Mapping):
        return returned, {}
    if others := [name for name in returned if name not in _PARTS]:
        named = ", ".join(map(repr, others[:_MOST_NAMED]))
        hint = "put it into scores, or into metadata, which is kept out of metrics"
        raise unusable(f"compute_scores returned {named} beside scores and metadata", hint)
    if metadata is not None and not isinstance(metadata, Mapping):
        raise unusable(f"compute_scores returned {kind(metadata)} as metadata, not an object")
    return scores, metadata or {}


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def kind(value: Any) -> str:
    """Say what kind of JSON value something is."""
    return "null" if value is None else _KINDS.get(type(value), "an object")


_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list"}
