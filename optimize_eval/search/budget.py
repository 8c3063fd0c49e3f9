"""How many calls a search makes: what a budget has to be at least, and that it is kept.

One unit is one evaluator's call about one candidate and one example; what is recorded already costs
nothing.
"""

from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.search.ending import Over, Why

ROUNDS = 3  # accepted proposals that the default has room for
LEAST_DEFAULT = 100


@frozen
class Needs:
    """What a search calls: the sizes of its parts, all of them counted in examples."""

    evaluators: int
    minibatch: int
    choosing: int  # examples that every accepted candidate is scored on
    is_apart: bool  # whether these are others than those that minibatches are of

    def calls(self, rounds: int) -> int:
        """Count the calls for the seed and so many accepted proposals."""
        # A minibatch of examples that choose, too, is not called again for its parent and its child.
        each = (2 * self.minibatch if self.is_apart else 0) + self.choosing
        return self.evaluators * (self.choosing + rounds * each)

    @property
    def floor(self) -> int:
        return self.calls(1)

    @property
    def default(self) -> int:
        return max(LEAST_DEFAULT, self.calls(ROUNDS))

    def choose(self, wanted: int | None) -> int:
        """Take the budget that is wanted; raises UsageError where it accepts not even one proposal."""
        if wanted is None:
            return self.default
        if wanted < self.floor:
            raise UsageError(
                f"--budget {wanted:,} is too small: one accepted proposal takes up to {self.floor:,} calls",
                hint=f"give at least {self.floor:,}; {self._parts()}",
            )
        return wanted

    def _parts(self) -> str:
        batch = f"2 × {self.minibatch} for the minibatch, " if self.is_apart else ""
        times = f", × {self.evaluators} evaluators" if self.evaluators > 1 else ""
        return f"{self.choosing:,} for the seed, {batch}{self.choosing:,} for the proposal{times}"


class Purse:
    """The budget of a search: calls are taken from it before they are made, so it is never exceeded."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.spent = 0

    @property
    def left(self) -> int:
        return self.limit - self.spent

    def take(self, calls: int) -> None:
        if calls > self.left:
            raise Over(
                Why.BUDGET,
                f"the budget is spent: {self.spent:,} of {self.limit:,} calls; the next step takes {calls:,}",
            )
        self.spent += calls
