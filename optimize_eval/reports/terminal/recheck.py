"""What a recheck found, in words: how many answers are the same, which are not, and which did not come."""

from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.findings.rows import asked_with
from optimize_eval.run.recheck import Rechecked

_SHOWN = 10
_LONGEST = 200
_DIGITS = (3, 6, 17)  # the last are all that a float has
_HINT = "a nondeterministic or changed evaluator: --repeats averages what varies, --fresh asks all anew"


def render(told: Rechecked) -> str:
    """Write lines for people."""
    if not told.chosen:
        return "recheck: nothing is scored that could be asked again"
    stopped = f"; stopped before {told.chosen:,} were asked" if told.asked < told.chosen else ""
    lines = [f"recheck: {told.same:,} of {told.asked:,} answers are the same{stopped}"]
    lines += _some([f"{_place(one)}: {_change(one)}" for one in told.changed])
    lines += _some([f"{_place(one)}: {_failure(one)}" for one in told.failed])
    if told.changed:
        lines.append(f"  try: {_HINT}")
    return "\n".join(lines)


def _some(lines: Sequence[str]) -> list[str]:
    more = [f"  … and {len(lines) - _SHOWN:,} more, which --json lists"] if len(lines) > _SHOWN else []
    return [*(f"  {line}" for line in lines[:_SHOWN]), *more]


def _place(one: Mapping[str, Any]) -> str:
    line = "" if one["line"] is None else f":{one['line']}"
    repeat = f", repeat {one['repeat']}" if one["repeat"] > 1 else ""
    asked = asked_with(one["evaluator"], one["task_model"])
    return f"{asked} on {one['candidate']}, {one['split']}{line}{repeat}".replace("\n", " ")


def _change(one: Mapping[str, Any]) -> str:
    """Write scores with the fewest digits that show them to differ."""
    told = [(f"{one['before']:.{digits}g}", f"{one['after']:.{digits}g}") for digits in _DIGITS]
    before, after = next((pair for pair in told if pair[0] != pair[1]), told[-1])
    return f"{before} before, {after} now"


def _failure(one: Mapping[str, Any]) -> str:
    return f"failed ({one['kind']}): {one['message'][:_LONGEST]}".replace("\n", " ")
