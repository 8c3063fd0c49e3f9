"""What a filter asks of an expression's value, and when two values say the same."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from optimize_eval.base.frozen import frozen

Scalar = str | int | float | bool


@frozen
class Comparison:
    """Compares an expression's value."""

    op: str  # equals, not_equals, greater_than, less_than, greater_or_equal, less_or_equal
    expression: str
    value: Scalar


@frozen
class Membership:
    """Looks for an expression's value among others."""

    op: str  # in, not_in
    expression: str
    values: Sequence[Scalar]


@frozen
class Unary:
    """Asks something of an expression's value alone."""

    op: str  # exists, not_exists, is_true, is_false
    expression: str


Filter = Comparison | Membership | Unary


def filter_to_dict(filter_: Filter) -> dict[str, Any]:
    """Write a filter as JSON, as tasks have it."""
    written = {slot.name: getattr(filter_, slot.name) for slot in fields(filter_)}
    return {**written, "values": list(written["values"])} if "values" in written else written


def filter_of(written: Mapping[str, Any]) -> Filter:
    """Read what `to_dict` wrote."""
    if "values" in written:
        return Membership(**{**written, "values": tuple(written["values"])})
    return Comparison(**written) if "value" in written else Unary(**written)


_EXACT = 1 << 53  # up to here a number of floating point is the integer that it looks like


def text_of(value: Any) -> str:
    """Write a value as text: as JSON does, a text as it is, 2.0 as 2.

    >>> text_of("yes"), text_of(True), text_of(2.0), text_of([1])
    ('yes', 'true', '2', '[1]')
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def is_text_of(text: str, value: Any) -> bool:
    """Return True if a text says a value; true may be True, and 2.0 is said as it is, too."""
    return text in {text_of(value), str(value)} if isinstance(value, bool | float) else text == text_of(value)


def are_alike(one: Any, other: Any) -> bool:
    """Return True if two values are equal, or one is a text that says the other; true is not 1.

    >>> are_alike(5, "5"), are_alike(5.0, "5.0"), are_alike(True, "True"), are_alike(True, 1)
    (True, True, True, False)
    """
    if isinstance(one, str) or isinstance(other, str):
        return is_text_of(one, other) if isinstance(one, str) else is_text_of(other, one)
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
