"""What tokens of models cost: by a table of the user's, else by litellm's where that is installed.

A price is in dollars for a million tokens. What a server itself says of a call's cost wins over both.
"""

from collections.abc import Iterable
from dataclasses import replace
from importlib.util import find_spec

from optimize_eval.base.errors import UsageError
from optimize_eval.base.manners import Prices
from optimize_eval.base.spent import Usage

_A_MILLION = 1_000_000
_FREE = (0.0, 0.0)


def priced(usage: Usage, price: tuple[float, float] | None) -> Usage:
    """Say what a call cost where its server does not, as far as its tokens and their price are known."""
    if price is None or usage.cost is not None:
        return usage
    if price == _FREE:
        return replace(usage, cost=0.0)
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return usage
    cost = (usage.prompt_tokens * price[0] + usage.completion_tokens * price[1]) / _A_MILLION
    return replace(usage, cost=cost)


def known_prices(models: Iterable[str], prices: Prices) -> Prices:
    """Give the price of each model; raises UsageError that names those without one."""
    wanted = list(dict.fromkeys(models))
    missing = [model for model in wanted if model not in prices]
    prices_by_model = {**prices, **_of_litellm(missing)} if missing and find_spec("litellm") else prices
    if unknown := [model for model in wanted if model not in prices_by_model]:
        raise UsageError(
            f"--max-cost cannot be kept: no price is known for {', '.join(unknown)}",
            hint=f'give it in a --prices file: [prices] "{unknown[0]}" = {{input = 0.15, output = 0.6}}, '
            "in dollars for a million tokens",
        )
    return prices_by_model


def _of_litellm(models: Iterable[str]) -> Prices:
    from optimize_eval.models.litellm import table_of_prices  # noqa: PLC0415  it takes seconds to import

    table = table_of_prices()
    entries = {model: table.get(model) or table.get(model.partition("/")[2]) for model in models}
    return {
        model: (entry["input_cost_per_token"] * _A_MILLION, entry["output_cost_per_token"] * _A_MILLION)
        for model, entry in entries.items()
        if entry and {"input_cost_per_token", "output_cost_per_token"} <= entry.keys()
    }
