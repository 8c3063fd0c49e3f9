"""What models took, added up a second time from the calls that records list."""

import math
from typing import Any

_SUMS = ("prompt_tokens", "completion_tokens", "cost", "seconds")


_OF_REPLY = ("of", "reply")  # of a call that made a reply, which counts for no evaluator


def spent_of(calls: list[dict[str, Any]]) -> dict[str, Any]:
    axes = {"models": "model", "evaluators": "evaluator", "candidates": "candidate"}
    told: dict[str, Any] = {
        axis: {name: _total([call for call in theirs if call[key] == name]) for name in _names(theirs, key)}
        for axis, key in axes.items()
        for theirs in [[call for call in calls if key != "evaluator" or _OF_REPLY not in call.items()]]
    }
    return {"run": _total(calls), **told}


def _names(calls: list[dict[str, Any]], key: str) -> list[Any]:
    return sorted({call[key] for call in calls})


def _total(calls: list[dict[str, Any]]) -> dict[str, Any]:
    tokens = ("prompt_tokens", "completion_tokens")
    estimated = sum("estimated" in call for call in calls)
    return {
        "calls": len(calls),
        "without_tokens": sum(any(key not in call for key in tokens) for call in calls),
        "without_cost": sum("cost" not in call for call in calls),
        **{key: math.fsum(call.get(key, 0) for call in calls) for key in _SUMS},
        **({"estimated": estimated} if estimated else {}),
    }
