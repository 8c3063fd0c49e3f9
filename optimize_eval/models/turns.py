"""Turns at a server: who calls it when, and for how long it is left alone where it has no room.

All models of a process that call one server share its requests and tokens per minute (Rate), those that call
one model there its room (Room). A wait counts neither towards a call's deadline nor as an attempt.
"""

import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar
from weakref import WeakValueDictionary

from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.manners import GivenUp, Manners, Queue
from optimize_eval.base.spent import Spent

_MINUTE = 60.0
_LONGEST_PAUSE = 60.0  # where the server does not say how long
_SHORTEST_PAUSE = 0.005  # where it says less than that; twice as long each time
_LONGEST_FLOOR = 1.0
_JITTER = 0.25
_MOST_DOUBLINGS = 16
_A_STEP = 10  # calls that have to get through for one more at a time
_LOOK_AGAIN = 0.25  # seconds after which a waiting call looks whether it was stopped

_Reply = TypeVar("_Reply")


class NoRoom(EvaluationError):
    """The server has no room at the moment; `wait` is for how many seconds, None where it does not say."""

    wait: float | None = None


class Rate:
    """Requests and tokens per minute, evenly: a call is given the instant at which it may start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next_call = self._next_token = 0.0
        self._usual = 0.0  # tokens of a call, as far as known

    def reserve(self, manners: Manners, guess: float, now: float) -> tuple[float, float]:
        """Give the instant of the start, and the tokens that the call is taken to need."""
        with self._lock:
            tokens = self._usual or guess
            start = max(now, self._next_call, self._next_token)
            self._next_call = start + (_MINUTE / manners.rpm if manners.rpm else 0.0)
            self._next_token = start + (tokens * _MINUTE / manners.tpm if manners.tpm else 0.0)
            return start, tokens

    def settle(self, manners: Manners, taken: float, used: int | None) -> None:
        """Correct what was taken for the call's tokens by what it used."""
        if used is None or not manners.tpm:
            return
        with self._lock:
            self._next_token += (used - taken) * _MINUTE / manners.tpm
            self._usual = (self._usual or used) * 0.9 + used * 0.1


class Room:
    """How many calls at once a model takes: half as many after a refusal, one more after ten that got in."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._waiting = 0
        self._limit: int | None = None
        self._in_flight = 0
        self._rests_until = 0.0
        self._round = 0  # refusals of one burst halve once
        self._got_in = 0
        self._busy_since: float | None = None  # since the last call that got in
        self.refusals = 0
        self._why = ""  # the last refusal

    def queue(self, who: str, patience: float) -> Queue | None:
        """Tell who waits while the server is left alone."""
        now, since = time.monotonic(), self._busy_since
        if not self._waiting or since is None or now >= self._rests_until:
            return None
        return Queue(
            who=who,
            why=self._why,
            calls=self._waiting,
            next_in=self._rests_until - now,
            gives_up_in=max(0.0, since + patience - now),
        )

    def capacity(self, most: int | None) -> int | None:
        """Tell how many calls it is of use to make at the moment."""
        if self._rests_until and time.monotonic() < self._rests_until:
            return 0
        if self._limit is None or most is None:
            return most if self._limit is None else self._limit
        return min(self._limit, most)

    def enter(self, most: int | None, is_stopped: Callable[[], bool]) -> tuple[int, float]:
        """Wait for room; returns the number of the round, and how many seconds that took."""
        began: float | None = None
        with self._lock:
            while not is_stopped():
                limit = self.capacity(most)
                if limit is None or self._in_flight < limit:
                    self._in_flight += 1
                    return self._round, 0.0 if began is None else time.monotonic() - began
                now = time.monotonic()
                began = now if began is None else began
                self._wait(self._rests_until - now)
            raise GivenUp

    def wake(self) -> None:
        """Let those that wait look again."""
        with self._lock:
            self._changed.notify_all()

    def leave(self, *, has_got_in: bool) -> None:
        with self._lock:
            self._in_flight -= 1
            if has_got_in:
                self._busy_since = None
                self._got_in += 1
                if self._limit is not None and self._got_in % _A_STEP == 0:
                    self._limit += 1
            if self._waiting:
                self._changed.notify_all()

    def refuse(self, number: int, wait: float, patience: float, why: str = "") -> bool:
        """Take a refusal of a call of that round, and rest; false where patience is used up."""
        now = time.monotonic()
        with self._lock:
            self.refusals += 1
            self._why = why
            if number == self._round:
                self._round += 1
                self._limit = max(1, self._in_flight // 2)
            self._in_flight -= 1
            is_new = self._busy_since is None or now - self._rests_until > patience  # idle since then
            since = self._busy_since = now if is_new else self._busy_since or now
            if now + wait - since > patience:
                return False
            self._rests_until = max(self._rests_until, now + wait)
            self._changed.notify_all()
            return True

    def _wait(self, rest: float) -> None:
        self._waiting += 1
        try:
            self._changed.wait(min(rest, _LOOK_AGAIN) if rest > 0 else _LOOK_AGAIN)
        finally:
            self._waiting -= 1


class _Turn(NamedTuple):
    number: int
    waited: float
    tokens: float = 0.0


class Turns:
    """One model's turns; `through` may be called from several threads."""

    def __init__(self, base: str, model: str, manners: Manners) -> None:
        self._manners = manners
        self._model = model
        with _SHARING:
            self._rate = _RATES.setdefault(base, Rate())
            self._room = _ROOMS.setdefault((base, model), Room())
        self._stopped = threading.Event()

    @property
    def note(self) -> str:
        """Say how often the server had no room, and how long its longest wait was."""
        many = self._room.refusals
        return (
            f"{self._model} was full {many:,} time{'s' * (many != 1)}; its calls waited for it"
            if many
            else ""
        )

    @property
    def capacity(self) -> int | None:
        return self._room.capacity(self._manners.concurrency)

    @property
    def queues(self) -> Sequence[Queue]:
        """Tell who waits at the moment as the server has no room; mostly nobody."""
        queue = self._room.queue(self._model, self._manners.patience)
        return [queue] if queue else ()

    def through(
        self, send: Callable[[float], _Reply], guess: float, used: Callable[[_Reply], int | None]
    ) -> tuple[_Reply, float]:
        """Call `send` with the seconds waited so far, until there is room; returns these, too.

        A failure says in `spent` how long it waited.
        """
        waited, refusals = 0.0, 0
        while True:
            turn = self._take(guess)
            waited += turn.waited
            try:
                reply = send(waited)
            except NoRoom as refusal:
                wait = _pause(refusal.wait, refusals)
                refusals += 1
                jittered = wait * (1 + random.uniform(0, _JITTER))  # noqa: S311  no secret
                if not self._room.refuse(turn.number, jittered, self._manners.patience, refusal.message):
                    refusal.spent += Spent(waited=waited)
                    raise _out_of_patience(refusal, wait, self._manners.patience) from None
                continue
            except BaseException as error:
                self._room.leave(has_got_in=False)
                if isinstance(error, EvaluationError):
                    error.spent += Spent(waited=waited)
                raise
            self._room.leave(has_got_in=True)
            self._rate.settle(self._manners, turn.tokens, used(reply))
            return reply, waited

    def stop(self) -> None:
        """Let nobody wait any more."""
        self._stopped.set()
        self._room.wake()

    def _take(self, guess: float) -> _Turn:
        number, waited = self._room.enter(self._manners.concurrency, self._stopped.is_set)
        if not (self._manners.rpm or self._manners.tpm):
            return _Turn(number, waited)
        now = time.monotonic()
        start, tokens = self._rate.reserve(self._manners, guess, now)
        if self._stopped.wait(start - now):
            self._room.leave(has_got_in=False)
            raise GivenUp
        return _Turn(number, waited + start - now, tokens)


def _pause(wait: float | None, refusals: int) -> float:
    """Take the server's wait, and at least a growing moment: some waits are useless."""
    doubled = 2.0 ** min(refusals, _MOST_DOUBLINGS)
    if wait is None:
        return min(_LONGEST_PAUSE, doubled)
    return max(wait, min(_LONGEST_FLOOR, _SHORTEST_PAUSE * doubled))


def _out_of_patience(refusal: NoRoom, wait: float, patience: float) -> NoRoom:
    refusal.message += f"; waiting {wait:.0f} s would exceed --patience {patience:g}s"
    return refusal


_SHARING = threading.Lock()
_RATES: WeakValueDictionary[str, Rate] = WeakValueDictionary()
_ROOMS: WeakValueDictionary[tuple[str, str], Room] = WeakValueDictionary()
