"""Of what types the values of a run.json have to be, so that nothing that reads one meets a surprise.

Keys that are not there are for their readers to miss, an evaluator's files for who compares them; whether
axes fit each other is manifest's.
"""

from collections.abc import Callable, Mapping
from typing import Any

from optimize_eval.store.layout import MOST_UNITS

Check = Callable[[Any], bool]


def check_document(document: Mapping[str, Any]) -> None:
    """Raise TypeError for the first key of run.json whose value is of another type, or is not there."""
    for key, check in _DOCUMENT.items():
        if not check(document[key]):
            raise TypeError(f"in its {key!r}")
    for axis in ("evaluators", "candidates", "splits"):
        current = [one["name"] for one in document[axis] if axis == "splits" or not one.get("superseded")]
        if len(set(current)) < len(current):
            raise ValueError(f"two of its {axis} have the same name")
    if not _list_of(_EVALUATOR)(document.get("models", [])):
        raise TypeError("in its 'models'")
    for evaluator in document["evaluators"]:
        _text(evaluator["score_range"])  # raises where there is none
    sizes = {split["name"]: len(split["lines"]) for split in document["splits"]}
    units = sum(sizes[cell["split"]] for cell in document["cells"]) * document["repeats"]
    fits = all(len(split["sha256"]) == sizes[split["name"]] for split in document["splits"])
    if not fits or not 0 < units <= MOST_UNITS:
        raise ValueError("its parts do not fit each other")


def check_shape(manifest: Mapping[str, Any]) -> None:
    """Raise TypeError for the first key whose value is of another type."""
    for key, check in _MANIFEST.items():
        if key in manifest and not check(manifest[key]):
            raise TypeError(f"in its {key!r}")


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _table(value: Any) -> bool:
    return isinstance(value, dict)


def _or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list_of_types(*types: type) -> Check:
    return lambda value: isinstance(value, list) and set(map(type, value)).issubset(types)


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _table_of(check: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _with(checks: Mapping[str, Check]) -> Check:
    return lambda value: (
        isinstance(value, dict) and all(check(value[key]) for key, check in checks.items() if key in value)
    )


def _leak(value: Any) -> bool:
    """Return True for [line, split, line there, how, similarity]."""
    kinds = (int, str, int, str, int | float)
    return isinstance(value, list) and len(value) == len(kinds) and all(map(isinstance, value, kinds))


def _copy(value: Any) -> bool:
    """Return True for [line, the first line that says the same]."""
    return isinstance(value, list) and len(value) == 2 and all(map(_whole, value))  # noqa: PLR2004  a pair


def _value(pair: Any) -> bool:
    """Return True for [line, the digest of what it says]."""
    match pair:
        case [int(), str()]:
            return True
    return False


_EVALUATOR = _with(
    {
        "name": _text,
        "text": _text,
        "sha256": _text,
        "score_range": _text,
        "judge": _table,
        "since": _whole,
        "sound_since": _whole,
        "splits": _list_of(_text),
    }
)
_CANDIDATE = _with(
    {"name": _text, "sha256": _text, "trimmed": _text, "field": _text, "text": _text, "bytes": _whole}
)
_SPLIT = _with(
    {
        "name": _text,
        "file": _or_null(_text),
        "lines": _list_of_types(int, type(None)),
        "sha256": _list_of_types(str),
        "clusters": _or_null(_list_of(_text)),
        "groups": _table_of(_list_of(_text)),
    }
)
_OVERLAP = _with(
    {"of": _text, "leaks": _list_of(_leak), "copies": _list_of(_copy), "values": _list_of(_value)}
)
_PATHS = _with(
    {
        "splits": _or_null(_table_of(_or_null(_text))),
        "candidate": _or_null(_list_of(_text)),
        "candidates": _or_null(_list_of(_text)),
        "prompts": _list_of(_text),
        "system": _text,
    }
)
_SEARCHED = _with(
    {
        "steered_by": _or_null(_text),
        "decides": _or_null(_text),
        "alone": _or_null(_with({"state": _text, "text": _text})),
    }
)
_MANIFEST: Mapping[str, Check] = {
    "plan": _text,
    "created_at": _text,
    "evaluators": _list_of(_EVALUATOR),
    "additions": _list_of(_EVALUATOR),
    "candidates": _list_of(_CANDIDATE),
    "task_models": _list_of(_or_null(_text)),
    "models": _list_of(_EVALUATOR),
    "splits": _list_of(_SPLIT),
    "repeats": _whole,
    "baseline": _text,
    "seed": _whole,
    "cluster_by": _or_null(_text),
    "group_by": _list_of(_text),
    "settings": _with(
        {
            "paths": _or_null(_PATHS),
            "gates": _table,
            "format": _or_null(_text),
            "overlaps": _table_of(_OVERLAP),
            "searched": _SEARCHED,
        }
    ),
}
_CELL = _with(
    {
        "evaluator": _text,
        "candidate": _text,
        "task_model": _or_null(_text),
        "split": _text,
        **dict.fromkeys(("scored", "failed", "skipped", "owed"), _whole),
    }
)
_DOCUMENT: Mapping[str, Check] = {
    "kind": _text,
    "id": _text,
    "evaluators": _list_of(_EVALUATOR),
    "candidates": _list_of(_CANDIDATE),
    "task_models": _list_of(_or_null(_text)),
    "splits": _list_of(_SPLIT),
    "repeats": _whole,
    "cells": _list_of(_CELL),
    "selection": _with({"splits": _list_of(_SPLIT), "evaluators": _list_of(_text), "added": _list_of(_text)}),
}
