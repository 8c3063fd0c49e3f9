"""What a metric gives: its numbers, how many rows they are of, and why others are not among these."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from optimize_eval.frozen import frozen

Row = Mapping[str, Any]  # a scorer's fields for one sample


@frozen
class Measured:
    """The results of one metric; a number that is not defined, such as 0/0, is None."""

    type: str
    values: Mapping[str, float | None] = field(default_factory=dict)
    n: int = 0  # rows that they are of
    missing: int = 0  # rows in which a field is null or not there
    left_out: int = 0  # rows with another answer than the two that count
    confusion: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # what is right → said → rows
    problem: str = ""  # why there are no values


class MetricFault(ValueError):
    """Why a metric cannot be computed of these rows."""
