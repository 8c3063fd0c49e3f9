"""summary.json and leaderboard.json as JSON Schema: the fields of their documents."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

from optimize_eval.findings.board_shapes import Board
from optimize_eval.findings.documents import places_of
from optimize_eval.findings.summary_shape import Summary

Schema = dict[str, Any]

_SCALARS: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
}


def summary_schema() -> Schema:
    """Describe summary.json."""
    return _whole("summary.json of optimize-eval", Summary)


def leaderboard_schema() -> Schema:
    """Describe leaderboard.json."""
    return _whole("leaderboard.json of optimize-eval", Board)


def _whole(title: str, kind: Any) -> Schema:
    definitions: dict[str, Schema] = {}
    described = _object(kind, definitions)
    return {"title": title, **described, "$defs": definitions}


def _object(kind: Any, definitions: dict[str, Schema]) -> Schema:
    """Describe a document; the keys of one that stands flat in it are its own."""
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for place in places_of(kind):
        if place.is_flat:
            inner = _object(_kinds(place.hint)[0], definitions)
            properties |= inner["properties"]
            required += inner["required"] if NoneType not in _kinds(place.hint) else []
            continue
        properties[place.key] = _described(place.hint, definitions)
        required += [place.key] * (not place.is_optional)
    return {"type": "object", "properties": properties, "required": required}


def _described(hint: Any, definitions: dict[str, Schema]) -> Schema:
    """Describe a value of a type; documents are named once."""
    match _kinds(hint):
        case (kind,):
            return _of_kind(kind, definitions)
        case kinds:
            return {"anyOf": [_of_kind(kind, definitions) for kind in kinds]}


def _of_kind(kind: Any, definitions: dict[str, Schema]) -> Schema:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if is_dataclass(kind):
        return _named(kind, definitions)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return {"enum": [str(one) for one in kind]}
    return _of_several(get_origin(kind), get_args(kind), definitions)


def _of_several(origin: Any, inner: tuple[Any, ...], definitions: dict[str, Schema]) -> Schema:
    if origin is Literal:
        return {"enum": [*inner]}
    if origin is tuple:
        return {"type": "array", "items": _described(inner[0], definitions)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _described(inner[1], definitions)}
    return {}  # any JSON


def _named(kind: Any, definitions: dict[str, Schema]) -> Schema:
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}  # it may hold itself
        definitions[kind.__name__] = _object(kind, definitions)
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _kinds(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if isinstance(hint, UnionType) else (hint,)
