"""What calls of models took: the documents, and one of them in words."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from optimize_eval.base.documents import IF_ANY
from optimize_eval.base.frozen import frozen
from optimize_eval.findings.wording import count

_SMALL = 0.995  # dollars below which cents are too coarse


@frozen
class SpendingTotal:
    """What calls of models took."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    without_tokens: int
    cost: float
    without_cost: int
    seconds: float
    estimated: Annotated[int, IF_ANY] = 0  # calls whose tokens are estimates


@frozen
class SpendingTotals:
    """The same in all, and by who took it."""

    run: SpendingTotal
    models: Mapping[str, SpendingTotal]
    evaluators: Mapping[str, SpendingTotal]
    candidates: Mapping[str, SpendingTotal]


def total_in_words(total: SpendingTotal) -> str:
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
