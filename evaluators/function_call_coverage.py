#!/usr/bin/env python3
"""Function calls: the fraction of the required calls that the candidate makes; 1 where none is required.

The candidate is a JSON list of calls, each a name or {"name": …, "arguments": {…}}, or the message of a chat
model that has them as `tool_calls`. What is required is the example's field `function_calls`, else its
targets, written alike; without arguments any will do. A call counts once, and required calls with arguments
choose first. `--variant in_order`: all_required_calls_made also wants them in that order.
"""

import json

from _metric import TARGETS, Answer, Asked, Fault, kind, run

Call = tuple[str, object]  # a name, and its arguments, if any are told


def read_call(said: object) -> Call:
    if isinstance(said, str):
        return said, None
    if isinstance(said, dict):
        call = said.get("function", said)  # chat models wrap what they call
        if isinstance(call, dict) and isinstance(call.get("name"), str):
            told = call.get("arguments")
            return call["name"], json.loads(told) if isinstance(told, str) else told  # models write a text
    raise ValueError(f"a call is no name and has none: {kind(said)}")


def read_calls(said: object) -> list[Call]:
    listed = (said.get("tool_calls") or []) if isinstance(said, dict) and "name" not in said else said
    return [read_call(one) for one in (listed if isinstance(listed, list) else [listed])]


def same(one: object, other: object) -> bool:
    """Compare JSON values: true is not 1, and 1.0 is 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def fits(made: Call, required: Call) -> bool:
    return made[0] == required[0] and (required[1] is None or same(made[1] or {}, required[1]))


def missing_calls(made: list[Call], required: list[Call]) -> list[Call]:
    left, missing = list(made), []
    for wanted in sorted(required, key=lambda call: call[1] is None):
        place = next((place for place, call in enumerate(left) if fits(call, wanted)), None)
        if place is None:
            missing.append(wanted)
        else:
            del left[place]
    return missing


def in_order(made: list[Call], required: list[Call]) -> bool:
    later = iter(made)
    return all(any(fits(call, wanted) for call in later) for wanted in required)


def function_call_coverage(asked: Asked) -> Answer:
    try:
        required = read_calls(asked.find())
    except ValueError as error:
        raise Fault(f"the required calls cannot be read: {error}") from error
    try:
        made, problem = read_calls(json.loads(asked.candidate)), {}
    except ValueError as error:
        made, problem = [], {"problem": f"the candidate is no list of calls: {error}"}
    missing = missing_calls(made, required)
    count = len(required) - len(missing)
    coverage = count / len(required) if required else 1.0
    is_ordered = asked.options["variant"] == "any_order" or in_order(made, required)
    return {
        "score": coverage,
        "all_required_calls_made": not missing and is_ordered,
        "required_calls_coverage": coverage,
        "num_required_calls_made": count,
        "num_required_calls_not_made": len(missing),
        "num_unrequired_calls": len(made) - count,
        "num_required_calls_total": len(required),
        "missing": [name for name, _ in missing],
        **problem,
    }


if __name__ == "__main__":
    run(
        function_call_coverage,
        fields=("function_calls", *TARGETS),
        variants=("any_order", "in_order"),
    )
