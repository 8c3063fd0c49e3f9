"""What a reply took, by the field `usage` in the shapes in use; what it does not tell is None; pure."""

import math
from collections.abc import Mapping
from typing import Any

_COUNTS = {  # ours → where it may stand, the first that does counts
    "prompt_tokens": ("prompt_tokens",),
    "completion_tokens": ("completion_tokens",),
    "cached_tokens": ("prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens"),
    "reasoning_tokens": ("completion_tokens_details.reasoning_tokens",),
}


def counts_of(usage: object) -> dict[str, Any]:
    """Read the counts of tokens, and the cost where the server tells it.

    >>> counts_of({"prompt_tokens": 7, "cost": 0.01})["prompt_tokens"]
    7
    """
    counts = {name: _first([_count(usage, path) for path in paths]) for name, paths in _COUNTS.items()}
    cost = _at(usage, "cost")
    is_cost = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < math.inf
    return {**counts, "cost": float(cost) if is_cost else None}


def _count(usage: object, path: str) -> int | None:
    count = _at(usage, path)
    return count if type(count) is int and count >= 0 else None


def _at(value: object, path: str) -> Any:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _first(counts: list[int | None]) -> int | None:
    return next((count for count in counts if count is not None), None)
