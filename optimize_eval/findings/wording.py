"""Numbers and marks as words of a verdict: the same digits everywhere."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.protocol import ScoreRange

if TYPE_CHECKING:
    from optimize_eval.base.spent import SpendingTotal
    from optimize_eval.findings.summary_parts import Row
    from optimize_eval.statistics.differences import Margin

MINUS = "\N{MINUS SIGN}"

_FEW_DIGITS = 1000.0
_TINY = 0.0005
_MOST_NAMED = 3
_SMALL = 0.995  # dollars below which cents are too coarse
ROUNDING = 1e-12  # what is smaller is what sums leave


def number(value: float | None) -> str:
    """Write a number with three decimals, or with fewer digits where it is large or tiny."""
    if value is None:
        return "unknown"
    if abs(value) < ROUNDING:
        value = 0.0
    if value and abs(value) < _TINY:
        text = f"{value:.1g}"
    else:
        text = f"{value:.3f}" if abs(value) < _FEW_DIGITS else f"{value:.4g}"
    return text.replace("-", MINUS)


def signed(value: float | None) -> str:
    text = number(value)
    return text if value is None or text.startswith(MINUS) else f"+{text}"


def interval(ci: Sequence[float], write: Callable[[float], str] = signed) -> str:
    return f"{write(ci[0])} to {write(ci[1])}"


def possible_interval(ci: Sequence[float], score_range: str) -> Sequence[float]:
    """Leave out what two scores from 0 to 1 cannot differ by: over few pairs, t reaches beyond it."""
    return (max(-1.0, ci[0]), min(1.0, ci[1])) if score_range == ScoreRange.UNIT else ci


def interval90(margin: "Margin") -> str:
    """Write what a margin is held against; Student's t, which rare losses escape, is named."""
    return f"90 % CI {interval(margin.ci90)}{' by t' if margin.is_by_t else ''}"


UNITS = ("@cost", "@latency")  # measures whose scores are dollars and seconds, below zero


def in_units(measure: str, before: float, after: float) -> str:
    """Write how two scores of a measure differ, as people count money and time.

    >>> in_units("@cost", -0.0039, -0.0057), in_units("@latency", -0.240, -0.245)
    ('$3.9 → $5.7 per 1,000 calls', '5 ms slower')
    """
    if measure == "@cost":
        return f"${_two(-1000 * before)} → ${_two(-1000 * after)} per 1,000 calls"
    seconds = abs(after - before)
    amount = f"{_two(seconds)} s" if seconds >= 1 else f"{_two(1000 * seconds)} ms"
    return f"{amount} {'slower' if after < before else 'faster'}"


def _two(value: float) -> str:
    return f"{value:.2g}" if abs(value) < 100 else f"{value:,.0f}"  # noqa: PLR2004  two digits at least


def p_value(p: float | None) -> str:
    if p is None:
        return "p unknown"
    return f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"  # noqa: PLR2004  three decimals


def count(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"


def left_out_by(rules: Mapping[str, int]) -> str:
    """Name the rules that left rows out, each with its rows where there are several, the most first."""
    if len(rules) == 1:
        return f"left out by {next(iter(rules))}"
    most_first = sorted(rules.items(), key=lambda one: -one[1])
    return f"left out by {', '.join(f'{rule} {rows:,}' for rule, rows in most_first)}"


def percent(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


_CUT_OFF = "length"


def reply_marks(facts: JsonMapping) -> Iterator[str]:
    """Say what a reader of a reply has to know, and who gave it where its server says so."""
    if facts.get("refused") is True:
        yield "refused"
    if facts.get("finish_reason") == _CUT_OFF:
        yield "cut off"
    if facts.get("empty") is True:
        yield "empty"
    if isinstance(who := facts.get("answered_by"), str):
        yield f"by {who}"


RUNNING = "running"

_HOW = {
    RUNNING: "it is running",
    "killed": "it was killed",
    "time": "its time was up (--max-time)",
    "cost": "its money was used up (--max-cost)",
}


def ahead_so_far(best: str | None, best_mean: float, seed: str, seed_mean: float) -> str:
    """Say which candidate is ahead, None where that is the seed itself."""
    if best is None:
        return f"Unfinished: no candidate is ahead of {seed} so far ({number(seed_mean)} in the search)"
    return (
        f"Unfinished: {best} is ahead of {seed} so far ({number(best_mean)} to {number(seed_mean)} in the "
        "search), without a final sweep"
    )


def how_far(calls: int, budget: int, status: str, sentence: str) -> str:
    """Say how many calls are done, and why it is no more; `sentence` is how the search itself said so."""
    how = _HOW.get(status) or sentence or status
    return f"Unfinished search: {calls:,} of at most {budget:,} calls done; {how}"


def evaluator_label(evaluator: str, task_model: str | None) -> str:
    """Name an evaluator and, where there is one, the task model of its calls."""
    return evaluator if task_model is None else f"{evaluator} with {task_model}"


class ScoredPlace(Protocol):
    """Whose scores something is about."""

    @property
    def evaluator(self) -> str: ...

    @property
    def candidate(self) -> str: ...

    @property
    def task_model(self) -> str | None: ...


def place_of_scores(where: ScoredPlace) -> str:
    """Name whose scores these are: an evaluator's, of a candidate, with a task model where there is one."""
    model = f" with {where.task_model}" if where.task_model else ""
    return f"{where.evaluator} on {where.candidate}{model}"


def failed_in_short(rows: "Sequence[Row]") -> str:
    """Say in a few words how many calls of a run failed, and whose they were; empty where none did."""
    failed = {
        f"{evaluator_label(row.evaluator, row.task_model)} on {row.candidate}": many
        for row in rows
        if (many := sum(split.failed for split in row.splits.values()))
    }
    return failures_in_short(
        failed, sum(split.scored + split.failed for row in rows for split in row.splits.values())
    )


def failures_in_short(failed: Mapping[str, int], calls: int) -> str:
    """Say how many calls failed, those with most of them first."""
    if not (many := sum(failed.values())):
        return ""
    most = sorted(failed, key=lambda name: -failed[name])
    whose = [f"{name} {failed[name]:,}" if len(most) > 1 else name for name in most[:_MOST_NAMED]]
    whose += [f"{len(most) - _MOST_NAMED:,} more"] if len(most) > _MOST_NAMED else []
    return f"; {many:,} of {count(calls, 'call')} failed ({', '.join(whose)})"


def total_in_words(total: "SpendingTotal") -> str:
    """Say what calls of models took."""
    tokens = f"{total.prompt_tokens:,} + {total.completion_tokens:,} tokens"
    untold = total.without_tokens
    parts = [
        count(total.calls, "call"),
        tokens + (f" ({count(untold, 'call')} told none)" if untold else "") + _estimated(total),
        *_money(total),
        f"{total.seconds:,.1f} s",
    ]
    return ", ".join(parts)


def _estimated(total: "SpendingTotal") -> str:
    return f" (an estimate for {count(total.estimated, 'call')}: characters ÷ 4)" if total.estimated else ""


def _money(total: "SpendingTotal") -> Sequence[str]:
    unknown = total.without_cost
    if unknown == total.calls:
        return ()
    cost = total.cost
    money = f"${cost:,.2f}" if cost >= _SMALL else f"${cost:.4f}"
    return (money + (f" (the cost of {count(unknown, 'call')} is unknown)" if unknown else ""),)
