"""A judge's rubric as JSON Schema."""

from optimize_eval.cli.schemas.checks import NUMBER, TEXT, TEXTS, Schema
from optimize_eval.evaluators.rubric import HOTTEST, KEYS
from optimize_eval.models.judging.form import AnswerForm

_SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
_WEIGHT: Schema = {"type": "number", "exclusiveMinimum": 0}
_FIELDS: Schema = {"anyOf": [TEXT, TEXTS]}
_LABELS: Schema = {**TEXTS, "uniqueItems": True}
_BOOLEAN: Schema = {"type": "boolean"}


def _table(main: str, form: Schema, **more: Schema) -> Schema:
    """Describe what stands by name, by its main key alone or as a table, or in a list of tables."""
    own = {main: form, **more}
    named = {"type": "object", "additionalProperties": False, "properties": own}
    listed = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"name": TEXT, **own},
    }
    return {
        "anyOf": [
            {"type": "object", "minProperties": 1, "additionalProperties": {"anyOf": [form, named]}},
            {"type": "array", "minItems": 1, "items": listed},
        ]
    }


_FORMS: dict[str, Schema] = {
    "objective": {**TEXT, "description": "What the judge looks for."},
    "form": {"enum": [str(one) for one in AnswerForm]},
    "dimensions": _table("weight", _WEIGHT, description=TEXT),
    "constraints": {"anyOf": [TEXTS, _table("text", TEXT)]},
    "score_min": NUMBER,
    "score_max": NUMBER,
    "correct_labels": _LABELS,
    "incorrect_labels": _LABELS,
    "labels": {"anyOf": [_LABELS, {"type": "object", "additionalProperties": _SHARE, "minProperties": 1}]},
    "temperature": {"type": "number", "minimum": 0, "maximum": HOTTEST},
    "max_tokens": {"type": "integer", "minimum": 1},
    "seed": {"type": "integer", "minimum": 0},
    "shows": _FIELDS,
    "hides": _FIELDS,
    "human": _FIELDS,
    "shows_prompt": _BOOLEAN,
    "shows_model": _BOOLEAN,
}


def rubric_schema() -> Schema:
    """Describe a rubric's file."""
    properties = {key: _FORMS[key] for key in KEYS}
    return {
        "title": "A rubric of optimize-eval",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }
