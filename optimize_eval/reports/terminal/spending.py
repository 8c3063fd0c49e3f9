"""What models took, as lines for people: calls, tokens, money and seconds, model by model."""

from collections.abc import Sequence

from optimize_eval.findings.shapes import LatencyEntry
from optimize_eval.findings.summary_shape import SpendingTotal, SpendingTotals, Summary
from optimize_eval.findings.wording import count
from optimize_eval.reports.columns import wrapped

_MOST_MODELS = 6
_SMALL = 0.995  # dollars below which cents are too coarse


def of_models(spent: SpendingTotals | None, width: int) -> list[str]:
    """Tell the totals of each model; failed calls and former attempts included."""
    models = spent.models if spent else {}
    lines = [
        line
        for name, total in list(models.items())[:_MOST_MODELS]
        for line in wrapped(" ", f"{name}: {of_total(total)}", width)
    ]
    if len(models) > _MOST_MODELS:
        lines += wrapped(" ", f"… and {count(len(models) - _MOST_MODELS, 'more model')}", width)
    if spent and len(models) > 1:
        lines += wrapped(" ", f"all models: {of_total(spent.run)}", width)
    return lines


def of_times(summary: Summary, width: int) -> list[str]:
    """Tell how long a call of each evaluator that called models took."""
    names = summary.spent.evaluators if summary.spent else ()
    entries = [one for one in summary.latency if one.evaluator in names]
    return [line for one in entries[:_MOST_MODELS] for line in wrapped(" ", _time(one), width)]


def _time(one: LatencyEntry) -> str:
    typical = f"half of the calls within {one.p50:.2f} s, 95 % within {one.p95:.2f} s"
    return f"{one.evaluator} on {one.split}: {typical}"


def of_total(total: SpendingTotal) -> str:
    tokens = f"{total.prompt_tokens:,} + {total.completion_tokens:,} tokens"
    untold = total.without_tokens
    parts = [
        count(total.calls, "call"),
        tokens + (f" ({count(untold, 'call')} told none)" if untold else "") + _estimated(total),
        *_money(total),
        f"{total.seconds:,.1f} s",
    ]
    return ", ".join(parts)


def _estimated(total: SpendingTotal) -> str:
    return f" (an estimate for {count(total.estimated, 'call')}: characters ÷ 4)" if total.estimated else ""


def _money(total: SpendingTotal) -> Sequence[str]:
    unknown = total.without_cost
    if unknown == total.calls:
        return ()
    cost = total.cost
    money = f"${cost:,.2f}" if cost >= _SMALL else f"${cost:.4f}"
    return (money + (f" (the cost of {count(unknown, 'call')} is unknown)" if unknown else ""),)
