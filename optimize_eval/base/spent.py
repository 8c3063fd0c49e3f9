"""What an answer took of language models: seconds of waiting, and what each of its calls used.

It travels with answers and with failures, so that what failed is counted, too. Spending sums up what the
records of a run say, those that newer ones have taken the place of included.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Self

from optimize_eval.base.documents import IF_ANY, JsonDict, JsonMapping, to_dict
from optimize_eval.base.frozen import change, frozen


@frozen
class Usage:
    """What one call of a model used; what its server does not tell is None."""

    model: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None  # in dollars
    seconds: float = 0.0
    is_of_reply: bool = False  # it made a reply that evaluators score, and is none of theirs
    output: str = ""  # that reply's key, where a record is of several replies
    estimated: bool = False  # tokens by the characters of its texts, as its server does not tell them

    @classmethod
    def from_dict(cls, written: JsonMapping) -> Self:
        """Read what `to_dict` wrote."""
        return cls(
            **{key: value for key, value in written.items() if key != "of"}, is_of_reply="of" in written
        )

    def to_dict(self) -> JsonDict:
        fields = {
            "model": self.model,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cost": self.cost,
            "seconds": round(self.seconds, 6),
            "of": _REPLY if self.is_of_reply else None,
            "output": self.output or None,
            "estimated": self.estimated or None,
        }
        return {key: value for key, value in fields.items() if value is not None}


@frozen
class Spent:
    """The calls of models for one answer, and the seconds for which they waited for a turn."""

    waited: float = 0.0
    usages: tuple[Usage, ...] = ()

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(waited=self.waited + other.waited, usages=self.usages + other.usages)

    @property
    def of_reply(self) -> "Spent":
        """The same, as what a reply took that evaluators score."""
        usages = tuple(change(usage, is_of_reply=True) for usage in self.usages)
        return Spent(waited=self.waited, usages=usages) if usages else self

    def for_reply(self, key: str) -> "Spent":
        """Give the same with the key of the reply in each call that made it."""
        usages = (change(u, output=u.output or key) if u.is_of_reply else u for u in self.usages)
        return Spent(waited=self.waited, usages=tuple(usages))


NOTHING = Spent()


def counts_of(usage: object) -> JsonDict:
    """Read the counts of tokens in a table `usage` in the shapes in use, and the cost where it is told.

    >>> counts_of({"prompt_tokens": 7, "cost": 0.01})["prompt_tokens"]
    7
    """
    table = usage if isinstance(usage, dict) else {}
    cached = _count(table.get("prompt_tokens_details"), "cached_tokens")
    return {
        "prompt_tokens": _count(table, "prompt_tokens"),
        "completion_tokens": _count(table, "completion_tokens"),
        "cached_tokens": _count(table, "prompt_cache_hit_tokens") if cached is None else cached,
        "reasoning_tokens": _count(table.get("completion_tokens_details"), "reasoning_tokens"),
        "cost": _cost(table.get("cost")),
    }


def _count(table: object, key: str) -> int | None:
    count = table.get(key) if isinstance(table, dict) else None
    return count if type(count) is int and count >= 0 else None


def _cost(cost: Any) -> float | None:
    is_number = isinstance(cost, int | float) and not isinstance(cost, bool)
    return float(cost) if is_number and 0 <= cost < math.inf else None


_REPLY = "reply"


def is_of_reply(usage: JsonMapping) -> bool:
    """Return True if a call that a record lists made the reply that the record is about."""
    return usage.get("of") == _REPLY


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


class SpentTotal:
    """What calls took that are being counted."""

    __slots__ = (
        "calls",
        "completion_tokens",
        "cost",
        "estimated",
        "prompt_tokens",
        "seconds",
        "without_cost",
        "without_tokens",
    )

    def __init__(self) -> None:
        self.calls = self.prompt_tokens = self.completion_tokens = self.without_tokens = self.without_cost = 0
        self.estimated = 0
        self.cost = self.seconds = 0.0

    def take(self, usage: JsonMapping) -> None:
        prompt, completion, cost = map(usage.get, ("prompt_tokens", "completion_tokens", "cost"))
        self.calls += 1
        self.prompt_tokens += prompt or 0
        self.completion_tokens += completion or 0
        self.without_tokens += prompt is None or completion is None
        self.estimated += usage.get("estimated") is True
        self.cost += cost or 0.0
        self.without_cost += cost is None
        self.seconds += usage.get("seconds", 0.0)

    def add(self, other: "SpentTotal") -> None:
        for key in SpentTotal.__slots__:
            setattr(self, key, getattr(self, key) + getattr(other, key))

    @property
    def total(self) -> SpendingTotal:
        counts = {key: getattr(self, key) for key in SpentTotal.__slots__}
        return SpendingTotal(**counts | {"cost": round(self.cost, 9), "seconds": round(self.seconds, 9)})


class Spending:
    """What records took of models: in all, by model, by evaluator and by candidate.

    What a reply took counts for no evaluator: which of them wants it first is an accident.
    """

    def __init__(self) -> None:
        self._run = SpentTotal()
        self._shares: dict[_Share, SpentTotal] = {}

    def take(self, record: JsonMapping, usages: Iterable[JsonMapping]) -> None:
        """Count the calls that a record lists."""
        for usage in usages:
            evaluator = None if is_of_reply(usage) else record["evaluator"]
            share = usage["model"], evaluator, record["candidate"]
            if share not in self._shares:
                self._shares[share] = SpentTotal()
            self._shares[share].take(usage)
            self._run.take(usage)

    @property
    def totals(self) -> SpendingTotals | None:
        """Give what they took; None where no model was called."""
        if not self._run.calls:
            return None
        models, evaluators, candidates = map(self._by, range(3))  # the names of a share
        return SpendingTotals(
            run=self._run.total, models=models, evaluators=evaluators, candidates=candidates
        )

    def to_dict(self) -> JsonDict | None:
        return to_dict(totals) if (totals := self.totals) else None

    @property
    def of_run(self) -> SpendingTotal | None:
        """Give the total alone."""
        return self._run.total if self._run.calls else None

    def _by(self, axis: int) -> dict[str, SpendingTotal]:
        """Add up the shares by one of their names."""
        totals: dict[str, SpentTotal] = {}
        for names, share in self._shares.items():
            if (name := names[axis]) is not None:
                totals.setdefault(name, SpentTotal()).add(share)
        return {name: total.total for name, total in totals.items()}


_Share = tuple[str, str | None, str]  # model, evaluator and candidate


_A_MILLION = 1_000_000
_FREE = (0.0, 0.0)


def with_cost(usage: Usage, price: tuple[float, float] | None) -> Usage:
    """Say what a call cost where its server does not, as far as its tokens and their price are known."""
    if price is None or usage.cost is not None:
        return usage
    if price == _FREE:
        return change(usage, cost=0.0)
    if usage.prompt_tokens is None or usage.completion_tokens is None:
        return usage
    cost = (usage.prompt_tokens * price[0] + usage.completion_tokens * price[1]) / _A_MILLION
    return change(usage, cost=cost)
