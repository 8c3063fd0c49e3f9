"""YAML 1.1's scalars as values; what only looks like a text is known as what it is."""

import math
import re
from difflib import get_close_matches
from typing import Any

import yaml

from optimize_eval.tasks.definitions.fields.nodes import Kind

INCLUDE = "!include"

_PREFIX = "tag:yaml.org,2002:"
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAKER = yaml.constructor.SafeConstructor()


class BadScalar(ValueError):
    """Why a scalar is no value; `is_value` where it is YAML and only not allowed here."""

    def __init__(self, reason: str, *, is_value: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_value = is_value


def scalar(node: Any) -> tuple[Kind, Any]:
    """Read a scalar by its tag, which YAML gives to those without one by how they look."""
    if _SURROGATE.search(node.value):
        raise BadScalar("half of a pair \\ud83d\\ude00 is no sign: write the sign itself")
    match node.tag.removeprefix(_PREFIX):
        case "str" | "value" | "merge":
            return Kind.TEXT, node.value
        case "null":
            return Kind.NULL, None
        case "bool":
            return _boolean(node)
        case "int" | "float" as tag:
            return _number(node, tag)
        case "timestamp":
            return Kind.DATE, node.value
    raise BadScalar(not_taken(node.tag))


def not_taken(tag: str) -> str:
    """Say that a tag means nothing here."""
    close = f" (did you mean {INCLUDE}?)" if get_close_matches(tag.lower(), [INCLUDE]) else ""
    return f"the tag {tag.replace(_PREFIX, '!!')} is not taken{close}"


def _boolean(node: Any) -> tuple[Kind, Any]:
    try:
        return Kind.BOOLEAN, _MAKER.construct_yaml_bool(node)
    except KeyError:
        raise BadScalar(f"{node.value!r} is not a boolean") from None


def _number(node: Any, tag: str) -> tuple[Kind, Any]:
    if ":" in node.value:
        return Kind.SIXTIES, node.value
    make = _MAKER.construct_yaml_int if tag == "int" else _MAKER.construct_yaml_float
    try:
        value = make(node)
    except (ValueError, IndexError):  # also of thousands of digits
        raise BadScalar(f"{node.value[:30]!r} cannot be read as a number", is_value=True) from None
    if not _is_finite(value):
        raise BadScalar(f"a number must be finite, this is {node.value[:30]}", is_value=True)
    return Kind.NUMBER, value


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold
        return False
