"""What a reply took, by the field `usage` in the shapes in use; what it does not tell is None; pure."""

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import orjson

from optimize_eval.http.client import SUCCESS, Response
from optimize_eval.spent import Usage

_COUNTS = {  # ours → where it may stand, the first that does counts
    "prompt_tokens": ("prompt_tokens",),
    "completion_tokens": ("completion_tokens",),
    "cached_tokens": ("prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens"),
    "reasoning_tokens": ("completion_tokens_details.reasoning_tokens",),
}
_OF_A_CALL = ("prompt_tokens", "completion_tokens", "cost")


def counts_of(usage: object) -> dict[str, Any]:
    """Read the counts of tokens, and the cost where the server tells it.

    >>> counts_of({"prompt_tokens": 7, "cost": 0.01})["prompt_tokens"]
    7
    """
    counts = {name: _first([_count(usage, path) for path in paths]) for name, paths in _COUNTS.items()}
    cost = _at(usage, "cost")
    is_cost = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < math.inf
    return {**counts, "cost": float(cost) if is_cost else None}


def usage_of(response: Response, model: str) -> Usage:
    """Read what a call used that gave no reply; one that the server refused used nothing."""
    if response.status not in SUCCESS:
        return Usage(model=model, prompt_tokens=0, completion_tokens=0, cost=0.0)
    body: Any = None
    with suppress(orjson.JSONDecodeError):
        body = orjson.loads(response.body)
    counts = counts_of(_at(body, "usage"))
    return Usage(model=model, **{name: counts[name] for name in _OF_A_CALL})


def _count(usage: object, path: str) -> int | None:
    count = _at(usage, path)
    return count if type(count) is int and count >= 0 else None


def _at(value: object, path: str) -> Any:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _first(counts: list[int | None]) -> int | None:
    return next((count for count in counts if count is not None), None)
