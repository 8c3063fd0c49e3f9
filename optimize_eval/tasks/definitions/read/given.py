"""Values of parameters as a command line has them: texts, read as the parameter's kind wants them."""

import json
from collections.abc import Mapping
from typing import Any

from optimize_eval.base import strict_json
from optimize_eval.base.frozen import frozen

_TEXTS = frozenset({"string", "model", "dataset", "dataset_column"})
_TRUTH = {"true": True, "false": False}


@frozen
class Written:
    """A value as it was written on a command line."""

    text: str


def spoken(text: str, parameter: Mapping[str, Any]) -> Any:
    """Read a text as the kind of parameter wants it; what cannot be read stays a text, which is refused."""
    kind = parameter["type"]
    if kind in _TEXTS:
        return text
    if text == "null" and parameter["nullable"] is True:
        return None
    if kind == "categorical" and parameter["multiple"] is not True:
        return _choice(text, parameter["allowed_values"])
    if kind in {"list", "categorical"}:
        return _list(text, parameter)
    return _value(text, kind)


def _value(text: str, kind: str) -> Any:
    if kind == "boolean":
        return _TRUTH.get(text.lower(), text)
    try:
        value = strict_json.loads(text, unique_keys=True)
    except strict_json.JsonFault:
        return text
    return value if isinstance(value, int | float) and not isinstance(value, bool) else text


def _choice(text: str, allowed: Any) -> Any:
    """Find the choice that is written so."""
    known = allowed if isinstance(allowed, list) else []
    return next((one for one in known if _shown(one) == text), text)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=repr)


def _list(text: str, parameter: Mapping[str, Any]) -> Any:
    """Read a list in JSON, or values between commas."""
    if text.lstrip().startswith("["):
        try:
            return strict_json.loads(text, unique_keys=True)
        except strict_json.JsonFault:
            return text
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if parameter["type"] == "categorical":
        return [_choice(part, parameter["allowed_values"]) for part in parts]
    kind = {"integer": "int", "float": "float", "boolean": "boolean"}.get(parameter["dtype"])
    return [_value(part, kind) if kind else part for part in parts]
