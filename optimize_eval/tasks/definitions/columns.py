"""Columns that a task names, held against those that its rows have."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from optimize_eval.tasks.definitions.fields.context import NamedColumn, meant

_OF_ANY_ROW = frozenset(dir(dict))  # {{ sample.items }} is no column


def absent(
    named: Iterable[NamedColumn], rows: Sequence[Mapping[str, Any]], whose: str
) -> Iterator[NamedColumn]:
    """Give the columns that no row has, each with the reason; of no rows, none can be told."""
    there = {name: None for row in rows for name in row}
    for one in dict.fromkeys(named) if rows else ():
        if one.name not in there and one.name not in _OF_ANY_ROW:
            reason = f"{whose} has a field {one.name!r}{meant(one.name, [*there])}"
            yield replace(one, place=replace(one.place, reason=reason))
