"""Parquet → examples, by pyarrow of the extra [data]; imported only where such a file is named.

A record is known by its number, and a value by the number of its column. Types that JSON has no value for are
refused by column, before any record is read.
"""

import math
import shlex
import sys
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from optimize_eval.base.errors import Problem
from optimize_eval.rows.example import Example, of_record

_INSTALL = f"{shlex.quote(sys.executable)} -m pip install 'pyarrow>=20'"
_ROWS = 1000  # that are made at a time
_PLAIN = (
    "is_null", "is_boolean", "is_integer", "is_floating", "is_decimal", "is_string", "is_large_string",
    "is_string_view", "is_date", "is_time", "is_timestamp",
)  # fmt: skip


def parse(path: str, data: bytes) -> list[Example | Problem]:
    """Read all records of a file, and all that is wrong with them."""
    if find_spec("pyarrow") is None:
        return [Problem(path=path, rule="no_reader", reason=f"Parquet is read by pyarrow: {_INSTALL}")]
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    try:
        file = parquet.ParquetFile(arrow.BufferReader(data))
        fields = list(file.schema_arrow)
        return [*_in_columns(path, arrow.types, fields)] or [*_records(path, file, fields)]
    except (arrow.ArrowException, OSError, ValueError) as error:
        reason = f"the file cannot be read as Parquet: {str(error).splitlines()[0]}"
        return [Problem(path=path, rule="bad_parquet", reason=reason)]


def _in_columns(path: str, types: Any, fields: Sequence[Any]) -> Iterator[Problem]:
    names = [field.name for field in fields]
    for column, field in enumerate(fields, 1):
        reason = ""
        if odd := _odd_type(types, field.type):
            reason = f"{field.name!r} is of type {odd}, which JSON has not: omit it, or make it a text"
        elif (first := names.index(field.name) + 1) < column:
            reason = f"the name {field.name!r} is that of column {first}, too"
        if reason:
            yield Problem(path=path, rule="bad_column", line=0, column=column, reason=reason)


def _odd_type(types: Any, type_: Any) -> str:
    """Find what cannot become JSON in a type; empty where all of it can."""
    if any(getattr(types, name)(type_) for name in _PLAIN if hasattr(types, name)):
        return ""
    if types.is_dictionary(type_):
        return _odd_type(types, type_.value_type)
    if types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        return _odd_type(types, type_.value_type)
    if types.is_struct(type_):
        inner = (_odd_type(types, type_.field(place).type) for place in range(type_.num_fields))
        return next(filter(None, inner), "")
    if types.is_map(type_) and types.is_string(type_.key_type):
        return _odd_type(types, type_.item_type)
    return str(type_)


def _records(path: str, file: Any, fields: Sequence[Any]) -> Iterator[Example | Problem]:
    number = 0
    for batch in file.iter_batches(_ROWS):
        for row in batch.to_pylist(maps_as_pydicts="strict"):
            number += 1
            wrong = [
                _not_finite(path, number, column, field.name)
                for column, field in enumerate(fields, 1)
                if _has_no_number(row[field.name])
            ]
            if wrong:
                yield from wrong
            else:
                yield of_record(number, _as_json(row), file_line=0)


def _not_finite(path: str, number: int, column: int, name: str) -> Problem:
    reason = f"{name!r} holds NaN or an infinite number, which JSON has not"
    return Problem(path=path, rule="bad_number", line=number, column=column, reason=reason)


def _has_no_number(value: Any) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case Decimal():
            return not value.is_finite()
        case dict():
            return any(map(_has_no_number, value.values()))
        case list():
            return any(map(_has_no_number, value))
    return False


def _as_json(value: Any) -> Any:
    """Make plain values: dates and times as ISO has them, decimals as numbers."""
    match value:
        case dict():
            return {key: _as_json(item) for key, item in value.items()}
        case list():
            return [_as_json(item) for item in value]
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
    return value
