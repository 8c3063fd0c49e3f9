"""Rules about rows, as they are written: what is compared with what. Who examines rows stands elsewhere."""

from collections.abc import Sequence

from optimize_eval.frozen import frozen

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
