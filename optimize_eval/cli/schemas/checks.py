"""What a check of a value lets pass, as JSON Schema, for keys of sweep files and rubrics."""

from collections.abc import Callable, Mapping
from typing import Any

from optimize_eval.base import checks
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import LONGEST_TIMEOUT
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.config.values import OneOf, filters

Schema = dict[str, Any]

TEXT: Schema = {"type": "string", "minLength": 1}
TEXTS: Schema = {"type": "array", "items": TEXT, "minItems": 1}
NUMBER: Schema = {"type": "number"}
OBJECT: Schema = {"type": "object"}
BY_NAME: Schema = {"type": "object", "additionalProperties": NUMBER, "minProperties": 1}
OF_TEXTS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
_ABOVE_ZERO: Schema = {"type": "number", "exclusiveMinimum": 0}
_SCALAR: Schema = {"type": ["string", "number", "boolean"]}

_FORMS: Mapping[Callable[[Any], Any], Schema] = {
    checks.above_zero: _ABOVE_ZERO,
    checks.acceptance: {"enum": ["strict", "equal"]},
    checks.boolean: {"type": "boolean"},
    checks.bounds: BY_NAME,
    checks.command: {"anyOf": [TEXT, {"type": "array", "items": {"type": "string"}, "minItems": 1}]},
    checks.count: {"type": "integer", "minimum": 1},
    checks.duration: {"type": ["string", "number"]},
    checks.environment: OF_TEXTS,
    checks.fields: {"anyOf": [TEXT, TEXTS]},
    filters: {"anyOf": [TEXTS, {"type": "object", "additionalProperties": _SCALAR}]},
    checks.header_pairs: OF_TEXTS,
    checks.ids: {"type": "array", "items": {"type": ["string", "integer"]}, "minItems": 1},
    checks.integer: {"type": "integer"},
    checks.margin: {"anyOf": [_ABOVE_ZERO, BY_NAME]},
    checks.max_failures: {"type": ["integer", "string"]},
    checks.metric: {"type": "string", "pattern": "^@"},
    checks.model: {"type": "string", "minLength": 1},
    checks.name: {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_.-]*$"},
    checks.number: NUMBER,
    checks.on_failure: {"enum": ["exclude", "abort"]},
    checks.score_range: {"enum": [str(one) for one in ScoreRange]},
    checks.selection: {"enum": ["pareto", "current_best", "epsilon_greedy", "top_k_pareto"]},
    checks.table: OBJECT,
    checks.table_of_texts: OF_TEXTS,
    checks.temperature: {"type": "number", "minimum": 0, "maximum": checks.HOTTEST},
    checks.text: TEXT,
    checks.texts: TEXTS,
    checks.timeout: {**_ABOVE_ZERO, "maximum": LONGEST_TIMEOUT},
    checks.url: {"type": "string", "pattern": "^https?://"},
    checks.weight: _ABOVE_ZERO,
    checks.weights: BY_NAME,
    checks.whole: {"type": "integer", "minimum": 0},
}


def describe_check(check: Callable[[Any], Any]) -> Schema:
    """Describe what a check takes; those of paths, which know their file's folder, are tried."""
    if isinstance(check, OneOf):
        return {"enum": [*map(str, check.known)]}
    if check in _FORMS:
        return _FORMS[check]
    forms = [form for form, value in ((TEXT, "a"), (TEXTS, ["a"])) if _takes(check, value)]
    return forms[0] if len(forms) == 1 else {}


def _takes(check: Callable[[Any], Any], value: Any) -> bool:
    try:
        check(value)
    except (ValueError, UsageError):
        return False
    return True
