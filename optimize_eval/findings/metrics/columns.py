"""Fields of rows as numbers or texts. What is null or not there is missing; booleans are 0 and 1."""

import json
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from optimize_eval.findings.metrics.shape import MetricFault, Row
from optimize_eval.tasks.definition import text_of

Value = TypeVar("Value")

_LONGEST = 60


def numbers(rows: Sequence[Row], *names: str) -> list[tuple[float, ...]]:
    """Read these fields of all rows that have all of them, as numbers."""
    return _read(rows, names, _number)


def values(rows: Sequence[Row], *names: str) -> list[tuple[Any, ...]]:
    """Read these fields of all rows that have all of them."""
    return _read(rows, names, lambda value, _name: value)


def texts(rows: Sequence[Row], *names: str) -> list[tuple[str, ...]]:
    """Read these fields of all rows that have all of them, as texts."""
    return _read(rows, names, lambda value, _name: text_of(value))


def is_numeric(rows: Sequence[Row], name: str) -> bool:
    """Return True if a field has numbers or booleans alone, and some."""
    values = [row[name] for row in rows if row.get(name) is not None]
    return bool(values) and all(isinstance(value, bool | int | float) for value in values)


def names_in(rows: Sequence[Row]) -> list[str]:
    """List the fields of all rows, in the order in which they come first."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _read(
    rows: Sequence[Row], names: Sequence[str], read: Callable[[Any, str], Value]
) -> list[tuple[Value, ...]]:
    _check(rows, names)
    whole = (row for row in rows if all(row.get(name) is not None for name in names))
    return [tuple(read(row[name], name) for name in names) for row in whole]


def _check(rows: Sequence[Row], names: Sequence[str]) -> None:
    """Refuse a field that is nowhere; of no rows at all, nothing can be said."""
    for name in names:
        if rows and not any(name in row for row in rows):
            there = ", ".join(map(repr, names_in(rows))) or "none"
            raise MetricFault(f"no row has a field {name!r}; there are {there}")


def _number(value: Any, name: str) -> float:
    if not isinstance(value, bool | int | float) or not math.isfinite(value):
        raise MetricFault(f"the field {name!r} holds {_shown(value)}, not a number")
    return float(value)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
