"""What preflight found, as the table that people read and the JSON that programs do."""

from collections.abc import Sequence
from typing import Any

from optimize_eval.base.protocol import Skip
from optimize_eval.findings.documents import from_dict
from optimize_eval.findings.summary_shape import SpendingTotal
from optimize_eval.reports.columns import cut, wrapped
from optimize_eval.reports.inert import inert
from optimize_eval.reports.terminal.spending import of_total
from optimize_eval.run.preflight.examined import CheckOutcome, CheckStatus, Examined, score_of

SCHEMA = "optimize-eval.preflight.v1"

_NAME, _RESULT, _TIME = 14, 8, 8
_INDENT = " " * (1 + _NAME + _RESULT + _TIME)
_MARKS = {CheckStatus.FAIL: "✕", CheckStatus.WARN: "!"}


def render(examined: Sequence[Examined], data: str, *, width: int) -> str:
    """Lay out the whole outcome; a line to be pasted is never broken."""
    lines = [f" data     {data}", f" {'check':<{_NAME}}{'result':<{_RESULT}}{'time':<{_TIME}}detail"]
    lines.append(" " + "─" * (width - 2))
    for one in examined:
        lines += _evaluator(one, width)
    return "\n".join([*lines, *_spent(examined), *_plans(examined), _verdict(examined)])


def to_dict(examined: Sequence[Examined]) -> dict[str, Any]:
    return {"schema": SCHEMA, "evaluators": [_to_dict(one) for one in examined]}


def _evaluator(one: Examined, width: int) -> list[str]:
    time = _seconds(one.typical(0.5)) if one.seconds else "-"
    result = "ok" if one.is_ok else "FAILED"
    lines: list[str] = []
    name = cut(inert(one.spec.name, ci=False), _NAME - 1)
    for said in _details(one):
        head = _INDENT if lines else f" {name:<{_NAME}}{result:<{_RESULT}}{time:<{_TIME}}"
        lines += wrapped(head, said, width)
    for check in one.checks:
        if check.status in _MARKS and check.reproduce:
            lines.append(f"   {_MARKS[check.status]} {check.name}: try it: {check.reproduce}")
    return lines


def _details(one: Examined) -> list[str]:
    failed = [check.message for check in one.checks if check.status is CheckStatus.FAIL]
    warned = [f"! {check.name}: {check.message}" for check in one.checks if check.status is CheckStatus.WARN]
    return [
        *(failed or [_answered(one), *_passed(one)]),
        *warned,
        *_spoken(one),
        *_left_out(one),
        *_speed(one),
    ]


def _passed(one: Examined) -> list[str]:
    names = [check.name for check in one.checks if check.status is CheckStatus.PASS]
    return [f"passed: {', '.join(names)}"] if names else []


def _answered(one: Examined) -> str:
    if one.told or one.first is None:
        return one.told or "no answer"
    keys = ", ".join(map(str, one.first.side_info)) or "none"
    told = f"skipped: {one.first.why}" if isinstance(one.first, Skip) else score_of(one.first)
    skipped = sum(isinstance(result, Skip) for result in one.one_by_one)
    more = f"; {skipped} of {len(one.one_by_one)} calls skipped" if skipped else ""
    return f"{told}; side info: {keys}{more}"


def _spoken(one: Examined) -> list[str]:
    said = one.first.stderr.strip().split("\n")[-1] if one.first else ""
    return [f"on stderr: {said}"] if said else []


def _left_out(one: Examined) -> list[str]:
    names = [check.name for check in one.checks if check.message.startswith("left out: the budget")]
    return [f"not checked, the budget is used up: {', '.join(names)}"] if names else []


def _speed(one: Examined) -> list[str]:
    named = {"speed": "", "tokens": "tokens: "}
    passed = [check for check in one.checks if check.name in named and check.status is CheckStatus.PASS]
    return [f"{named[check.name]}{check.message}" for check in passed]


def _spent(examined: Sequence[Examined]) -> list[str]:
    """Say what the checks themselves took of models."""
    totals = [(one.spec.name, total) for one in examined if (total := one.spending.of_run)]
    return [f" spent    {name}: {of_total(from_dict(SpendingTotal, total))}" for name, total in totals]


def _plans(examined: Sequence[Examined]) -> list[str]:
    known = [one for one in examined if one.is_ok and one.estimate is not None]
    if not known:
        return []
    calls = sum(one.material.calls for one in examined if not one.told)
    replies = sum(one.material.calls for one in examined if one.told)
    seconds = sum(one.estimate or 0 for one in known)
    slots = examined[0].material.slots
    of_models = [f" replies  {replies:,}: each is made once, for all evaluators"] if replies else []
    return [f" plan     {calls:,} calls, about {_seconds(seconds)} with {slots} slots", *of_models]


def _verdict(examined: Sequence[Examined]) -> str:
    failed = sum(not one.is_ok for one in examined)
    if failed:
        what = "models and evaluators" if any(one.told for one in examined) else "evaluators"
        alone = "The model" if examined[0].told else "The evaluator"
        which = f"{failed} of {len(examined)} {what}" if len(examined) > 1 else alone
        return f" {which} failed; nothing was run."
    warned = sum(check.status is CheckStatus.WARN for one in examined for check in one.checks)
    return f" Ready to run{f', with {warned} warning' + 's' * (warned != 1) if warned else ''}."


def _to_dict(one: Examined) -> dict[str, Any]:
    return {
        "name": one.spec.name,
        "ok": one.is_ok,
        "checks": [_check(check) for check in one.checks],
        "seconds": {
            "p50": round(one.typical(0.5), 6) if one.seconds else None,
            "p95": round(one.typical(0.95), 6) if one.seconds else None,
        },
        **({"spent": spent} if (spent := one.spending.of_run) else {}),
        "estimate": {
            "calls": one.material.calls,
            "slots": one.material.slots,
            "seconds": None if one.estimate is None else round(one.estimate, 3),
            "tokens": one.tokens_of_run,
        },
    }


def _check(check: CheckOutcome) -> dict[str, Any]:
    return {
        "name": check.name,
        "status": str(check.status),
        "message": check.message,
        "reproduce": check.reproduce or None,
    }


def _seconds(seconds: float) -> str:
    if seconds >= 120:  # noqa: PLR2004  from two minutes on people think in minutes
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2f} s"  # noqa: PLR2004  two digits are enough
