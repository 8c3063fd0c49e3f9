"""What a model answers with, as a JSON Schema, for those that can be held to one."""

from collections.abc import Iterable, Mapping
from typing import Any

from optimize_eval.judging.form import AnswerForm, Rubric

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
            keys["dimensions"] = _object({one.name: _SHARE for one in rubric.dimensions})
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
