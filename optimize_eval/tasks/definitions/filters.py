"""Rules about rows, as they are written: what is compared with what. Who examines rows stands elsewhere."""

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


def to_dict(filter_: Filter) -> dict[str, Any]:
    """Write a filter as JSON, as tasks have it."""
    written = {one.name: getattr(filter_, one.name) for one in fields(filter_)}
    return {**written, "values": list(written["values"])} if "values" in written else written


def filter_of(written: Mapping[str, Any]) -> Filter:
    """Read what `to_dict` wrote."""
    if "values" in written:
        return Membership(**{**written, "values": tuple(written["values"])})
    return Comparison(**written) if "value" in written else Unary(**written)
