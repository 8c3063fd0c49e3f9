"""What a reply took, by the field `usage` in the shapes in use; what it does not tell is None; pure."""

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import orjson

from optimize_eval.http.client import SUCCESS, Response

Counts = Mapping[str, Any]


def counts_of(usage: object) -> Counts:
    """Read the counts of tokens, and the cost where the server tells it.

    >>> counts_of({"prompt_tokens": 7, "cost": 0.01})["prompt_tokens"]
    7
    """
    told = _table(usage)
    cached = _count(told.get("prompt_tokens_details"), "cached_tokens")
    return {
        "prompt_tokens": _count(told, "prompt_tokens"),
        "completion_tokens": _count(told, "completion_tokens"),
        "cached_tokens": _count(told, "prompt_cache_hit_tokens") if cached is None else cached,
        "reasoning_tokens": _count(told.get("completion_tokens_details"), "reasoning_tokens"),
        "cost": _cost(told.get("cost")),
    }


def counts_in(response: Response) -> Counts:
    """Read what a call used that gave no reply; one that the server refused used nothing."""
    if response.status not in SUCCESS:
        return counts_of({"prompt_tokens": 0, "completion_tokens": 0, "cost": 0})
    body: Any = None
    with suppress(orjson.JSONDecodeError):
        body = orjson.loads(response.body)
    return counts_of(_table(body).get("usage"))


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(table: object, key: str) -> int | None:
    count = table.get(key) if isinstance(table, dict) else None
    return count if type(count) is int and count >= 0 else None


def _cost(cost: Any) -> float | None:
    is_number = isinstance(cost, int | float) and not isinstance(cost, bool)
    return float(cost) if is_number and 0 <= cost < math.inf else None
