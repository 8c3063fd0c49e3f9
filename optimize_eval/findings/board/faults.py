"""What makes a decoded value no leaderboard: the first thing that is wrong with it, in words."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from optimize_eval.base.wrong_answers import describe
from optimize_eval.findings.board.shapes import SCHEMA

_LONG = 60


def fault_of(board: Any) -> str:
    """Say what makes a decoded value no board: the first thing; nothing where it is one."""
    match board:
        case {"schema": schema} if schema == SCHEMA:
            return next(_faults(board), "")
        case {"schema": schema}:
            return f"its schema is {str(schema)[:_LONG]!r}, not {SCHEMA!r}"
    return "it has no schema"


def _faults(board: Mapping[str, Any]) -> Iterator[str]:
    models = board.get("models") or [board]
    yield from _unlike(models, "models", _is_list)
    for model in models:
        yield from _unlike(model, "a model", _is_object)
        yield from _wrong_fields(model, OF_A_MODEL, "a model")
        for task in model["tasks"]:
            yield from _wrong_fields(task, OF_A_TASK, "a task")
            for example in task.get("per_example") or ():
                yield from _wrong_fields(example, OF_AN_EXAMPLE, "an example")
                for one in example.get("predictions") or ():
                    yield from _wrong_fields(one, OF_A_PREDICTION, "a prediction")
    yield from _unlike(board.get("files") or [], "files", _is_list_of_objects)
    yield from _unlike(board.get("changed") or [], "changed", _is_list_of_texts)
    for file in board.get("files") or ():
        yield from _wrong_fields(file, OF_A_FILE, "a file")


def _wrong_fields(value: Mapping[str, Any], fields: Mapping[str, "_Kind"], what: str) -> Iterator[str]:
    for name, kind in fields.items():
        if name in value:
            yield from _unlike(value[name], f"{name} of {what}", kind.holds)
        elif kind.is_needed:
            yield f"{what} has no {name}"


def _unlike(value: Any, what: str, holds: Callable[[Any], bool]) -> Iterator[str]:
    if not holds(value):
        yield f"{what} is {describe(value)}"


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_object, value))


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_interval(value: Any) -> bool:
    return _is_list(value) and len(value) == 2 and all(map(_is_number, value))  # noqa: PLR2004  its ends


def _is_id(value: Any) -> bool:
    return _is_text(value) or _is_number(value)


class _Kind(NamedTuple):
    """What a field may hold, and whether it has to be there."""

    holds: Callable[[Any], bool]
    is_needed: bool = False


def _or_null(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or holds(value)


_A_NUMBER, _A_TEXT = _Kind(_or_null(_is_number)), _Kind(_or_null(_is_text))
_SCORE = _Kind(_or_null(_is_number), is_needed=True)
_SPREAD = {
    "se": _Kind(_or_null(lambda value: _is_number(value) and value >= 0)),
    "ci": _Kind(_or_null(_is_interval)),
    **dict.fromkeys(("n", "df", "lower_bound", "scored", "failed", "skipped"), _A_NUMBER),
}
_FILE = {"path": _A_TEXT, "sha256": _A_TEXT}
OF_A_FILE = _FILE
OF_A_MODEL = {
    "adapter": _Kind(_is_text, is_needed=True),
    "overall_score": _A_NUMBER,
    "tasks": _Kind(lambda value: _is_list_of_objects(value) and bool(value), is_needed=True),
    **_SPREAD,
}
OF_A_TASK = {
    "task": _Kind(_is_text, is_needed=True),
    "score": _SCORE,
    "metric": _A_TEXT,
    "metric_id": _A_TEXT,
    "measures": _A_TEXT,
    "per_example": _Kind(_or_null(_is_list_of_objects)),
    **_FILE,
    **_SPREAD,
}
OF_A_PREDICTION = {
    "score": _SCORE,
    "prediction": _Kind(_or_null(_is_id)),
    **dict.fromkeys(("error", "skip"), _A_TEXT),
}
OF_AN_EXAMPLE = {
    "id": _Kind(_is_id, is_needed=True),
    **OF_A_PREDICTION,
    "line": _A_NUMBER,
    "predictions": _Kind(_or_null(_is_list_of_objects)),
}
