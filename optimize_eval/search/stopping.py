"""How a search ends: why, what budget it has, and when it has had enough.

One unit is one evaluator's call about one candidate and one example; what is recorded already costs
nothing.
"""

import threading
import time
from collections.abc import Iterable
from enum import StrEnum

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.retries_and_caps import Caps
from optimize_eval.base.spent import Spending
from optimize_eval.run.host import Stop


class Why(StrEnum):
    """Why a search ended; most are good ends."""

    BUDGET = "budget"
    PLATEAU = "plateau"  # --early-stop
    PERFECT = "perfect"
    NOTHING_TO_TEACH = "nothing_to_teach"
    NO_NEW_TEXT = "no_new_text"
    PROPOSER = "proposer"
    EVALUATOR = "evaluator"
    TIME = "time"
    COST = "cost"
    INTERRUPTED = "interrupted"


FAILED = frozenset({Why.PROPOSER, Why.EVALUATOR})
PAUSED = frozenset({Why.TIME, Why.COST, Why.INTERRUPTED})  # nothing is wrong: the same command goes on


class Over(BaseException):
    """The search ends here. Not an Exception, all of which GEPA catches to go on."""

    def __init__(self, why: Why, sentence: str) -> None:
        super().__init__(sentence)
        self.why = why
        self.sentence = sentence


class OwnError(BaseException):
    """An error of ours on its way through GEPA; it is raised again, as it was, behind that."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


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
                f"{self.spent:,} of {self.limit:,} calls are used, and the next step needs {calls:,}",
            )
        self.spent += calls


WINDOW = 10  # proposals
THRESHOLD = 0.005  # of the range of scores
ON_ABOVE = 30  # calls of the budget

_LEAST = 1e-12  # a gain of rounding is none


class Meter:
    """What calls of models took, by whoever made them: in this session, which may have a budget, and in all.

    Evaluators and proposers call from several threads.
    """

    def __init__(self, caps: Caps | None = None) -> None:
        self.caps = caps or Caps()
        self._lock = threading.Lock()
        self.session, self.search = Spending(), Spending()

    @property
    def over(self) -> str:
        """Say which cap is reached; empty where none is."""
        return self.caps.words

    def take(
        self, name: str, usages: Iterable[JsonMapping], candidate: str = "", *, is_earlier: bool = False
    ) -> None:
        """Count calls of models that somebody made, in an earlier session or in this one."""
        usages, who = list(usages), {"evaluator": name, "candidate": candidate}
        if not usages:
            return
        with self._lock:
            for spending in (self.search,) if is_earlier else (self.search, self.session):
                spending.take(who, usages)

    def check(self) -> None:
        if self.over:
            raise Over(Why.COST, self.over)

    def to_dict(self) -> JsonDict | None:
        """Give the totals of the search; None where no model was called."""
        totals = self.search.to_dict()
        return totals and {**totals, "candidates": {}}  # by whom is enough


def cut_off(stop: Stop, where: str, meter: Meter) -> Over:
    """Say why what was in flight was not waited for: money, somebody, or the clock stops the search."""
    if meter.over:
        return Over(Why.COST, meter.over)
    if stop.is_out_of_time:
        return Over(Why.TIME, f"the time is up{where} (--max-time)")
    return Over(Why.INTERRUPTED, f"interrupted{where}")


@frozen
class EarlyStop:
    """End once the best mean grew by less than the threshold over so many proposals."""

    window: int = WINDOW
    threshold: float = THRESHOLD


@frozen
class SearchLimits:
    """How long a search may go on; may change when it is continued."""

    budget: int
    early: EarlyStop | None = None
    ends_at: float | None = None  # an instant of time.monotonic, by when the final sweep is to be done, too
    final_calls: int = 0


class Brakes:
    """Looked at before every step of a search; `check` raises Over."""

    def __init__(
        self,
        limits: SearchLimits,
        stop: Stop,
        purse: Purse,
        meter: Meter,
        *,
        idle: int,
        perfect: float | None,
    ) -> None:
        """Take what may end a search; `idle` is how many iterations may propose nothing."""
        self._limits = limits
        self._stop = stop
        self._purse = purse
        self._meter = meter
        self._began = time.monotonic()
        self._most_idle = idle
        self._perfect = perfect
        self._best: list[float] = []  # after each proposal that was scored
        self._lowest = self._highest = 0.0
        self._idle = 0

    def begin(self, seed: float) -> None:
        self._best = [seed]
        self._lowest = self._highest = seed

    def note_proposal(self, best: float) -> None:
        """Note that a proposal was scored, and what the best mean is now."""
        self._best.append(best)
        self._highest = max(self._highest, best)

    def count_request(self) -> None:
        """Note that a proposer replied."""
        self._idle = 0

    def note_iteration(self) -> None:
        """Note an iteration; one in which nothing is proposed has nothing to teach."""
        self._idle += 1

    def check(self) -> None:
        self.check_limits()
        if self._perfect is not None and self._best and self._best[-1] >= self._perfect:
            raise Over(Why.PERFECT, "the best candidate has the highest possible score on every example")
        if self._idle > self._most_idle:
            raise Over(
                Why.NOTHING_TO_TEACH,
                "every example to learn from already has the highest possible score",
            )
        early = self._limits.early
        if early and self._has_stalled(early):
            window, gain = early.window, early.threshold
            raise Over(
                Why.PLATEAU,
                f"the last {window} proposals raised the best mean by less than {gain:g} of the range "
                "(--no-early-stop continues)",
            )

    def check_limits(self) -> None:
        if self._stop.is_requested:
            raise cut_off(self._stop, "", self._meter)
        self._meter.check()
        ends_at = self._limits.ends_at
        if ends_at is not None and time.monotonic() + self._time_of_the_final() >= ends_at:
            raise Over(Why.TIME, "the time is up, except for the final sweep (--max-time)")

    def _time_of_the_final(self) -> float:
        """Guess how long the final sweep takes, by what calls took so far."""
        spent = self._purse.spent
        return self._limits.final_calls * (time.monotonic() - self._began) / spent if spent else 0.0

    def _has_stalled(self, early: EarlyStop) -> bool:
        if len(self._best) <= early.window:
            return False
        span = 1.0 if self._perfect is not None else self._highest - self._lowest
        return self._best[-1] - self._best[-1 - early.window] < max(early.threshold * span, _LEAST)
