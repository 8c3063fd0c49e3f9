"""Filters that templates have besides those of Jinja."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any


def fromjson(text: str) -> Any:
    return json.loads(text)


def json_escape(text: Any) -> str:
    """Write a text as JSON does, without its quotes."""
    return json.dumps(str(text), ensure_ascii=False)[1:-1]


def zipped(first: Iterable[Any], *others: Iterable[Any]) -> list[list[Any]]:
    return [list(row) for row in zip(first, *others, strict=False)]


def merge(first: Mapping[str, Any], *others: Mapping[str, Any]) -> dict[str, Any]:
    """Put objects together; of a key in several, the last one counts."""
    merged = dict(first)
    for other in others:
        merged.update(other)
    return merged


def regex_replace(text: Any, pattern: str, by: str = "", count: int = 0, *, ignorecase: bool = False) -> str:
    return re.sub(pattern, by, str(text), count=count, flags=re.IGNORECASE if ignorecase else 0)


FILTERS = {
    "fromjson": fromjson,
    "json_escape": json_escape,
    "zip": zipped,
    "merge": merge,
    "regex_replace": regex_replace,
}
