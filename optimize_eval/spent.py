"""What an answer took of language models: seconds of waiting, and what each of its calls used.

It travels with answers and with failures, so that what failed is counted, too. Spending sums up what the
records of a run say, those that newer ones have taken the place of included.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

from optimize_eval.frozen import frozen


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

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        return cls(
            **{key: value for key, value in written.items() if key != "of"}, is_of_reply="of" in written
        )

    def to_dict(self) -> dict[str, Any]:
        fields = {
            "model": self.model,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cost": self.cost,
            "seconds": round(self.seconds, 6),
            "of": _REPLY if self.is_of_reply else None,
            "output": self.output or None,
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
        return replace(self, usages=tuple(replace(one, is_of_reply=True) for one in self.usages))


NOTHING = Spent()
_REPLY = "reply"


def is_of_reply(usage: Mapping[str, Any]) -> bool:
    """Return True if a call that a record lists made the reply that the record is about."""
    return usage.get("of") == _REPLY


class Spending:
    """What records took of models: in all, by model, by evaluator and by candidate.

    What a reply took counts for no evaluator: which of them wants it first is an accident.
    """

    def __init__(self) -> None:
        self._totals: dict[str, dict[str, dict[str, Any]]] = {
            "run": {},
            **{axis: {} for axis in _AXES.values()},
        }

    def take(self, record: Mapping[str, Any], usages: Iterable[Mapping[str, Any]]) -> None:
        """Count the calls that a record lists."""
        for usage in usages:
            model = {"model": usage["model"]}
            names = [
                (axis, {**record, **model}[key])
                for key, axis in _AXES.items()
                if not (key == "evaluator" and is_of_reply(usage))
            ]
            for axis, name in (("run", ""), *names):
                _add(self._totals[axis].setdefault(name, dict(_NONE)), usage)

    @property
    def cost(self) -> float:
        return float(self._of_run["cost"])

    @property
    def tokens(self) -> int:
        return int(self._of_run["prompt_tokens"] + self._of_run["completion_tokens"])

    def to_dict(self) -> dict[str, Any] | None:
        """Give the totals; None where no model was called."""
        if not self._of_run["calls"]:
            return None
        fields = {
            axis: {name: _rounded(total) for name, total in totals.items()}
            for axis, totals in self._totals.items()
        }
        return {**fields, "run": fields["run"][""]}

    @property
    def of_run(self) -> dict[str, Any] | None:
        """Give the total alone."""
        return _rounded(self._of_run) if self._of_run["calls"] else None

    @property
    def _of_run(self) -> Mapping[str, Any]:
        return self._totals["run"].get("", _NONE)


def _add(total: dict[str, Any], usage: Mapping[str, Any]) -> None:
    is_told = "prompt_tokens" in usage and "completion_tokens" in usage
    total["calls"] += 1
    total["without_tokens"] += not is_told
    total["without_cost"] += "cost" not in usage
    for key in _ADDED:
        total[key] += usage.get(key, 0)


def _rounded(total: Mapping[str, Any]) -> dict[str, Any]:
    return {key: round(value, 9) if isinstance(value, float) else value for key, value in total.items()}


_AXES = {"model": "models", "evaluator": "evaluators", "candidate": "candidates"}  # key of a record → totals
_ADDED = ("prompt_tokens", "completion_tokens", "cost", "seconds")
_NONE: Mapping[str, Any] = {
    "calls": 0,
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "without_tokens": 0,
    "cost": 0.0,
    "without_cost": 0,
    "seconds": 0.0,
}
