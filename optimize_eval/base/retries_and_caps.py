"""How calls of models are held back: retries, what a session may spend, how servers are treated.

One object is shared by all that calls models in a session, so that a cap holds inside a unit that makes many
calls, too. What was spent in all sessions is the journal's business.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Protocol, TypeVar

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.spent import NOTHING, Spent, Usage

FIRST_PAUSE = 0.1  # seconds before the second attempt; each further pause is twice as long

Pause = Callable[[float], None]  # waits so many seconds, or raises something of its own to give up

_Answer = TypeVar("_Answer")


class GivenUp(Exception):
    """A call was not made, or not once more, because the run stops.

    `spent` is what was spent on models before that, and `output` the key of a reply that was to be scored.
    """

    def __init__(self) -> None:
        super().__init__()
        self.spent: Spent = NOTHING
        self.output = ""


def until_answered(
    call: Callable[[float], _Answer], deadline: float, retries: int, pause: Pause = time.sleep
) -> tuple[_Answer, Spent, int]:
    """Call until there is an answer, a failure that another call cannot fix, or no time or attempt left.

    `call` is given the deadline, which seconds of waiting put off: for a turn at a server, or for what is
    scored. Beside the answer stands what was spent in vain before, and how many calls were made; a failure
    has that in its `spent` and `attempts`.
    """
    number, in_vain = 1, NOTHING
    while True:
        try:
            return call(deadline), in_vain, number
        except GivenUp as given_up:
            given_up.spent = in_vain + given_up.spent
            raise
        except EvaluationError as error:
            deadline += error.spent.waited + error.before
            in_vain = error.spent = in_vain + error.spent
            error.attempts = number
            wait = max(FIRST_PAUSE * 2 ** (number - 1), error.retry_after or 0.0)
            if number > retries or error.retry_after is None or time.monotonic() + wait >= deadline:
                raise
            number += 1
        try:
            pause(wait)
        except GivenUp as given_up:
            given_up.spent = in_vain
            raise


def wait_after_batch(
    error: EvaluationError, timeout: float, seconds: float, retries: int, pause: Pause
) -> float | None:
    """Wait until what failed in a batch, as one of calls that took so many seconds, may be called alone.

    Gives the time that this call has, as if the first had been made singly, too; None where none is made.
    """
    wait = error.retry_after if retries else None
    if wait is None or wait >= timeout:
        return None
    pause(max(FIRST_PAUSE, wait))
    return max(FIRST_PAUSE, timeout - seconds - wait)


class Pacer(Protocol):
    """Who gives turns at a server: so many requests and tokens a minute."""

    def reserve(self, manners: "Manners", guess: float, now: float) -> tuple[float, float]:
        """Give the instant of the start, and the tokens that the call is taken to need."""
        ...

    def settle(self, manners: "Manners", taken: float, used: int | None) -> None:
        """Correct what was taken for the call's tokens by what it used."""
        ...


class Gate(Protocol):
    """How many calls at once a model takes at its server, and how long that is left alone."""

    @property
    def refusals(self) -> int:
        """How often the server had no room."""
        ...

    def queue(self, who: str, patience: float) -> "Queue | None":
        """Tell who waits while the server is left alone."""
        ...

    def capacity(self, most: int | None) -> int | None:
        """Tell how many calls it is of use to make at the moment."""
        ...

    def enter(self, most: int | None, is_stopped: Callable[[], bool]) -> tuple[int, float]:
        """Wait for room; returns the number of the round, and how many seconds that took."""
        ...

    def leave(self, number: int, *, has_got_in: bool) -> None:
        """End a call of that round."""
        ...

    def refuse(self, number: int, wait: float, patience: float, why: str = "") -> bool:
        """Take a refusal of a call of that round, and rest; false where patience is used up."""
        ...

    def wake(self) -> None:
        """Let those that wait look again."""
        ...


LETTERS = 4  # of a token, as an estimate


class Caps:
    """Caps on dollars and tokens, or none; thread-safe. Calls in flight may go beyond them."""

    def __init__(
        self, most_cost: float | None = None, most_tokens: int | None = None, *, estimates: bool = False
    ) -> None:
        """Make caps; with `estimates` tokens that a server does not tell are counted by characters."""
        self._most_cost = most_cost
        self._most_tokens = most_tokens
        self._estimates = estimates
        self._lock = threading.Lock()
        self._calls = self._tokens = 0
        self._cost = 0.0
        self._untold = ""  # who does not tell what a cap is about
        self.needs_estimates = False  # without them, a cap cannot be kept

    @property
    def limits(self) -> JsonMapping:
        """Give what another process makes the same caps of."""
        return {
            "most_cost": self._most_cost,
            "most_tokens": self._most_tokens,
            "estimates": self._estimates,
        }

    @property
    def is_over(self) -> bool:
        """Return True if no call may begin any more."""
        return bool(
            self._untold
            or (self._most_cost is not None and self._cost >= self._most_cost)
            or (self._most_tokens is not None and self._tokens >= self._most_tokens)
        )

    @property
    def words(self) -> str:
        """Say which cap is reached or cannot be kept; empty where none is."""
        if self._untold:
            calls = f"{self._calls:,} call{'s' * (self._calls != 1)} made"
            return f"the cap cannot be kept: {self._untold}; {calls}"
        if self._most_cost is not None and self._cost >= self._most_cost:
            return f"over budget: ${self._cost:,.4f} are spent (--max-cost {self._most_cost:g})"
        if self._most_tokens is not None and self._tokens >= self._most_tokens:
            return f"over budget: {self._tokens:,} tokens are used (--max-tokens-total {self._most_tokens})"
        return ""

    @property
    def count_all(self) -> bool:
        """Return True if also calls count that tell nothing: they may break a cap, or are estimated."""
        return self._estimates or self._most_cost is not None or self._most_tokens is not None

    def pacer(self, base: str) -> Pacer | None:  # noqa: ARG002  as on nodes of a cluster
        """Give who gives turns at a server, if that is another process; None: this one."""
        return None

    def gate(self, base: str, model: str) -> Gate | None:  # noqa: ARG002  as on nodes of a cluster
        """Give who gives room at a server, if that is another process; None: this one."""
        return None

    def ask(self) -> None:
        """Raise GivenUp where no call may begin any more."""
        if self.is_over:
            raise GivenUp

    def estimated(self, usage: Usage, sent: int, said: int) -> Usage:
        """Fill in tokens that are not told, if they are to be estimated, by the characters of both texts."""
        if not self._estimates or not _lacks_tokens(usage):
            return usage
        prompt, completion = usage.prompt_tokens, usage.completion_tokens
        return replace(
            usage,
            prompt_tokens=-(-sent // LETTERS) if prompt is None else prompt,
            completion_tokens=-(-said // LETTERS) if completion is None else completion,
            estimated=True,
        )

    def take(self, usage: Usage, who: str, *, is_reply: bool = True) -> None:
        """Count a call; a reply has to tell what a cap is about."""
        with self._lock:
            self._calls += 1
            self._cost += usage.cost or 0.0
            self._tokens += (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)
            lacking = self._lacking(usage) if is_reply and not self._untold else ""
            if lacking:
                self._untold = f"{who} tells no {lacking}"
                self.needs_estimates = lacking == "tokens"

    def _lacking(self, usage: Usage) -> str:
        if self._most_tokens is not None and _lacks_tokens(usage):
            return "tokens"
        if self._most_cost is not None and usage.cost is None:
            return "tokens" if _lacks_tokens(usage) else "cost"
        return ""


def _lacks_tokens(usage: Usage) -> bool:
    return usage.prompt_tokens is None or usage.completion_tokens is None


PATIENCE = 600.0  # seconds

Prices = Mapping[str, tuple[float, float]]  # of the prompt and of the completion, by PROVIDER/MODEL


@frozen
class Manners:
    """How servers are treated: how often they are called, how long one may be full; and what calls cost."""

    patience: float = PATIENCE
    rpm: float | None = None
    tpm: float | None = None
    concurrency: int | None = None
    prices: Prices = field(default_factory=dict)
    seeks_prices: bool = False  # where these lack one


@frozen
class Queue:
    """Calls that wait for a server which has no room."""

    who: str  # the model
    why: str  # as the server said
    calls: int
    next_in: float  # seconds
    gives_up_in: float

    def __str__(self) -> str:
        calls = f"{self.calls:,} call{'s' * (self.calls != 1)} wait{'s' * (self.calls == 1)}"
        times = f"next try in {self.next_in:,.0f} s, gives up in {self.gives_up_in:,.0f} s (--patience)"
        return f"waiting: {self.why}; {calls}; {times}"
