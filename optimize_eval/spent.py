"""What an answer took of language models: seconds of waiting, and what each of its calls used.

It travels with answers and with failures, so that what failed is counted, too. How it is summed up over a run
is aggregates'.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one call of a model used; what its server does not tell is None."""

    model: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None  # in dollars
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        told = {
            "model": self.model,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cost": self.cost,
            "seconds": round(self.seconds, 6),
        }
        return {key: value for key, value in told.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """The calls of models for one answer, and the seconds for which they waited for a turn."""

    waited: float = 0.0
    usages: tuple[Usage, ...] = ()

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(waited=self.waited + other.waited, usages=self.usages + other.usages)


NOTHING = Spent()
