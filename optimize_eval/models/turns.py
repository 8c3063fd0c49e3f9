"""Turns at a server: who calls it when, how long it is left alone, and what calls cost.

All models of a process that call one server share its requests and tokens per minute (Rate), those that call
one model there its room (Room). A wait counts neither towards a call's deadline nor as an attempt.

A price is in dollars for a million tokens. What a server itself says of a call's cost wins over both.
"""

import math
import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from typing import NamedTuple, TypeVar
from weakref import WeakValueDictionary

from optimize_eval.base.errors import EvaluationError, UsageError
from optimize_eval.base.retries_and_caps import Caps, Gate, GivenUp, Manners, Pacer, Prices, Queue
from optimize_eval.base.spent import Spent
from optimize_eval.models.providers import table_of_prices

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
        self.waiting = 0
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
        if not self.waiting or since is None or now >= self._rests_until:
            return None
        return Queue(
            who=who,
            why=self._why,
            calls=self.waiting,
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
                if (number := self._let_in(most)) is not None:
                    return number, 0.0 if began is None else time.monotonic() - began
                now = time.monotonic()
                began = now if began is None else began
                self._wait(self._rests_until - now)
            raise GivenUp

    def try_enter(self, most: int | None) -> int | None:
        """Give the number of the round, or None where there is no room."""
        with self._lock:
            return self._let_in(most)

    def _let_in(self, most: int | None) -> int | None:
        limit = self.capacity(most)
        if limit is not None and self._in_flight >= limit:
            return None
        self._in_flight += 1
        return self._round

    def wake(self) -> None:
        """Let those that wait look again."""
        with self._lock:
            self._changed.notify_all()

    def leave(self, _number: int, *, has_got_in: bool) -> None:
        with self._lock:
            self._in_flight -= 1
            if has_got_in:
                self._busy_since = None
                self._got_in += 1
                if self._limit is not None and self._got_in % _A_STEP == 0:
                    self._limit += 1
            if self.waiting:
                self._changed.notify_all()

    def refuse_another(self, busy: int, wait: float, patience: float, why: str = "") -> bool:
        """Take a refusal of a call that nobody had counted, when so many were under way."""
        with self._lock:
            self._in_flight += 1
            if self._limit is None:
                self._round += 1
                self._limit = max(1, busy // 2)
        return self.refuse(-1, wait, patience, why)

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
        self.waiting += 1
        try:
            self._changed.wait(min(rest, _LOOK_AGAIN) if rest > 0 else _LOOK_AGAIN)
        finally:
            self.waiting -= 1


class _Turn(NamedTuple):
    number: int
    waited: float
    tokens: float = 0.0


class Turns:
    """One model's turns; `through` may be called from several threads."""

    def __init__(self, base: str, model: str, manners: Manners) -> None:
        self._manners = manners
        self._model = model
        self._base = base
        self._rate: Pacer = rate_at(base)
        self._room: Gate = room_of(base, model)
        self._stopped = threading.Event()

    @property
    def note(self) -> str:
        """Say how often the server had no room, and how long its longest wait was."""
        return full_in_words(self._model, self._room.refusals)

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
                self._room.leave(turn.number, has_got_in=False)
                if isinstance(error, EvaluationError):
                    error.spent += Spent(waited=waited)
                raise
            self._room.leave(turn.number, has_got_in=True)
            self._rate.settle(self._manners, turn.tokens, used(reply))
            return reply, waited

    def follow(self, caps: Caps) -> None:
        """Take turns where the caps are kept, if that is another process."""
        self._rate = caps.pacer(self._base) or self._rate
        self._room = caps.gate(self._base, self._model) or self._room

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
            self._room.leave(number, has_got_in=False)
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


def rate_at(base: str) -> Rate:
    """Give the one rate of a server."""
    with _SHARING:
        return _RATES.setdefault(base, Rate())


def room_of(base: str, model: str) -> Room:
    """Give the one room of a model at a server."""
    with _SHARING:
        return _ROOMS.setdefault((base, model), Room())


def full_in_words(model: str, refusals: int) -> str:
    """Say how often a server had no room; mostly it had."""
    times = f"{refusals:,} time{'s' * (refusals != 1)}"
    return f"{model} was full {times}; its calls waited for it" if refusals else ""


_LONGEST = 10_000_000.0  # seconds
_FIRST_EPOCH = 1e8  # a larger number is an instant, not a span
_FIRST_IN_MS = 1e11
_PARTS = re.compile(r"(?<!\d)(\d++(?:\.\d++)?)(ms|us|µs|ns|d|h|m|s)")
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_THROUGH_LITELLM = "llm_provider-"  # how it passes on what a provider sent
_RESET = re.compile(r"(x-)?ratelimit-reset(-.+)?|anthropic-ratelimit-.+-reset")


def wait_in(headers: Mapping[str, str]) -> float | None:
    """Find the wait that headers tell, their names in lower case; None where they tell none.

    What the server asks for wins over when its limits are whole again: that may be much later. Of several
    waits of a kind the longest counts. A limit whose own `remaining` is above 0 is not what stood in the way.

    >>> wait_in({"retry-after": "2", "x-ratelimit-reset-requests": "1m2.5s"})
    2.0
    """
    now = time.time()
    wanted = max(_waits_in(headers, now), default=None)
    return max(_resets(headers, now), default=None) if wanted is None else wanted


def _waits_in(headers: Mapping[str, str], now: float) -> Iterator[float]:
    for name, text in headers.items():
        match name.removeprefix(_THROUGH_LITELLM):
            case "retry-after":
                yield from _span(text.strip(), now)
            case "retry-after-ms":
                yield from (wait / 1000 for wait in _span(text.strip(), now))


def _resets(headers: Mapping[str, str], now: float) -> Iterator[float]:
    for name, text in headers.items():
        if _RESET.fullmatch(name.removeprefix(_THROUGH_LITELLM)) and not _has_room(headers, name):
            yield from _span(text.strip(), now)


def _has_room(headers: Mapping[str, str], reset: str) -> bool:
    with suppress(ValueError):
        return float(headers.get(reset.replace("reset", "remaining"), "0")) > 0
    return False


def _span(text: str, now: float) -> Iterator[float]:
    """Read seconds, an instant as a number or a date, or a span such as 6m0s."""
    for read in (_number, _parts, _iso_date, _http_date):
        with suppress(ValueError, OverflowError):
            wait = read(text, now)
            yield max(0.0, min(wait, _LONGEST))
            return


def _number(text: str, now: float) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    if number > _FIRST_IN_MS:
        return number / 1000 - now
    return number - now if number > _FIRST_EPOCH else number


def _parts(text: str, _now: float) -> float:
    parts = _PARTS.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(text)
    return math.fsum(float(number) * _SECONDS[unit] for number, unit in parts)


def _iso_date(text: str, now: float) -> float:
    instant = datetime.fromisoformat(text)
    return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp() - now


def _http_date(text: str, now: float) -> float:
    return parsedate_to_datetime(text).timestamp() - now


_A_MILLION = 1_000_000


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
    table = table_of_prices()
    entries = {model: table.get(model) or table.get(model.partition("/")[2]) for model in models}
    return {
        model: (entry["input_cost_per_token"] * _A_MILLION, entry["output_cost_per_token"] * _A_MILLION)
        for model, entry in entries.items()
        if entry and {"input_cost_per_token", "output_cost_per_token"} <= entry.keys()
    }
