"""What a recheck found, in words: how many scores are the same, which changed, and which calls failed."""

from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.findings.documents import from_dict
from optimize_eval.findings.rows import evaluator_label
from optimize_eval.findings.summary_shape import SpendingTotal
from optimize_eval.reports.terminal.spending import of_total
from optimize_eval.run.recheck import Rechecked

_SHOWN = 10
_LONGEST = 200
_DIGITS = (3, 6, 17)  # the last are all that a float has
_HINT = (
    "a nondeterministic or changed evaluator: --repeats averages what varies, --fresh calls everything again"
)


def render(result: Rechecked) -> str:
    """Write lines for people."""
    if not result.chosen:
        return "recheck: nothing is scored that could be called again"
    stopped = f"; stopped before {result.chosen:,} were called" if result.asked < result.chosen else ""
    lines = [f"recheck: {result.same:,} of {result.asked:,} scores are the same{stopped}"]
    lines += _some([f"{_place(one)}: {_change(one)}" for one in result.changed])
    lines += _some([f"{_place(one)}: {_failure(one)}" for one in result.failed])
    if result.spent:
        lines.append(
            f"  it took {of_total(from_dict(SpendingTotal, result.spent))}, which the totals include"
        )
    if result.changed:
        lines.append(f"  try: {_HINT}")
    return "\n".join(lines)


def _some(lines: Sequence[str]) -> list[str]:
    more = [f"  … and {len(lines) - _SHOWN:,} more, which --json lists"] if len(lines) > _SHOWN else []
    return [*(f"  {line}" for line in lines[:_SHOWN]), *more]


def _place(one: Mapping[str, Any]) -> str:
    line = "" if one["line"] is None else f":{one['line']}"
    repeat = f", repeat {one['repeat']}" if one["repeat"] > 1 else ""
    label = evaluator_label(one["evaluator"], one["task_model"])
    return f"{label} on {one['candidate']}, {one['split']}{line}{repeat}".replace("\n", " ")


def _change(one: Mapping[str, Any]) -> str:
    """Write scores with the fewest digits that show them to differ; a call that skips now has none."""
    if one["after"] is None:
        return f"{one['before']:.{_DIGITS[0]}g} before, skipped now: {one['message'][:_LONGEST]}".replace(
            "\n", " "
        )
    pairs = [(f"{one['before']:.{digits}g}", f"{one['after']:.{digits}g}") for digits in _DIGITS]
    before, after = next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])
    return f"{before} before, {after} now"


def _failure(one: Mapping[str, Any]) -> str:
    return f"failed ({one['kind']}): {one['message'][:_LONGEST]}".replace("\n", " ")
