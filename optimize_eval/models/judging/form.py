"""By what a model judges, in which form it answers, and the JSON Schema of that: plain data."""

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from optimize_eval.base.frozen import frozen


class AnswerForm(StrEnum):
    """What a judge answers with, and what becomes of it."""

    SCORE = "score"  # 0 to 1, or one number for each dimension
    SCORER = "scorer"  # a number between two others, made one from 0 to 1
    CLASSIFIER = "classifier"  # one of the labels that count 1 or 0
    LABELER = "labeler"  # a label, which is what is wanted; it may stand for a score


@frozen
class Dimension:
    """One aspect of the objective; its weight counts against those of the others."""

    name: str
    weight: float = 1.0
    description: str = ""


@frozen
class Constraint:
    """What a candidate must not violate: one that does scores 0."""

    text: str
    name: str = ""

    @property
    def shown(self) -> str:
        return self.name or self.text


@frozen
class Rubric:
    """By what a candidate is judged, besides the objective."""

    form: AnswerForm = AnswerForm.SCORE
    dimensions: tuple[Dimension, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    score_min: float = 0.0
    score_max: float = 1.0
    correct_labels: tuple[str, ...] = ()
    incorrect_labels: tuple[str, ...] = ()
    labels: tuple[tuple[str, float], ...] = ()  # of a labeler, with what each scores; none: any label

    @property
    def shares(self) -> dict[str, float]:
        """Normalise the weights of the dimensions."""
        whole = math.fsum(dimension.weight for dimension in self.dimensions)
        return {dimension.name: dimension.weight / whole for dimension in self.dimensions}

    @property
    def keyed_constraints(self) -> dict[str, Constraint]:
        """Give each constraint the word by which a model names it."""
        return {one.name or f"c{number}": one for number, one in enumerate(self.constraints, 1)}

    @property
    def known_labels(self) -> tuple[str, ...]:
        return (*self.correct_labels, *self.incorrect_labels, *(label for label, _ in self.labels))


_SHARE: Mapping[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}
_TEXT: Mapping[str, Any] = {"type": "string"}


def schema_of(rubric: Rubric) -> dict[str, Any]:
    """Describe the answer in which every key is required."""
    keys: dict[str, Any] = {"reasoning": _TEXT}
    match rubric.form:
        case AnswerForm.CLASSIFIER:
            keys["prediction"] = _one_of(rubric.known_labels)
        case AnswerForm.LABELER:
            keys["label"] = _one_of(rubric.known_labels) if rubric.labels else _TEXT
        case AnswerForm.SCORE if rubric.dimensions:
            keys["dimensions"] = _object({dimension.name: _SHARE for dimension in rubric.dimensions})
        case _:
            ends = {"minimum": _plain(rubric.score_min), "maximum": _plain(rubric.score_max)}
            keys["score"] = {"type": "number", **ends}
    if rubric.constraints:
        keys["violated"] = {"type": "array", "items": _one_of(rubric.keyed_constraints)}
    return _object({**keys, "confidence": _SHARE})


def _plain(number: float) -> float:
    return int(number) if float(number).is_integer() else number  # of an int, Python 3.11 cannot ask


def _one_of(known: Iterable[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(known)}


def _object(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(keys),
        "required": list(keys),
        "additionalProperties": False,
    }
