"""What nodes of a cluster ask their driver, and what it answers: the run has one of each.

That is replies of models, which the driver writes down; what was spent, which it counts; and turns at
servers, so many a minute and so many at once, and how long a server that had no room is left alone. On a
node, a Drivers… with the same methods stands in for each of these.
"""

import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from itertools import count
from typing import Any, NamedTuple

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.frozen import change
from optimize_eval.base.retries_and_caps import Caps, GivenUp, Manners, Pacer, Queue
from optimize_eval.base.spent import NOTHING, Usage
from optimize_eval.models.turns import Rate, Room, full_in_words, rate_at, room_of
from optimize_eval.models.under_test import Output, Prompt

_KEPT = 4096  # replies that a node remembers, for the next evaluators of them
_LOOK_AGAIN = 0.25  # seconds after which a call that waits looks whether it was stopped
_OF_USE = 4  # calls of a node that wait for room
_UNCOUNTED = -1  # the round of a call that no one has to have room for

Server = tuple[str, str]  # where it is, and the model there


class Ask(NamedTuple):
    """A question, which an Answer of this number follows; 0: none does."""

    number: int
    what: str
    values: tuple[Any, ...]


class Answer(NamedTuple):
    """What a node has asked for."""

    number: int
    value: Any


class Limited(NamedTuple):
    """A model takes only so many calls at once: from now on each asks for room."""

    server: Server


# On a node


class Driver:
    """The driver, as a node asks it; thread-safe."""

    def __init__(self, emit: Callable[[Ask], None]) -> None:
        self._emit = emit
        self._numbers = count(1)
        self._asked: dict[int, Future[Any]] = {}
        self._is_gone = False

    def ask(self, what: str, *values: object) -> Any:
        """Wait for an answer; raises GivenUp where none will come any more."""
        return self.begin(what, *values).result()

    def begin(self, what: str, *values: object) -> Future[Any]:
        """Ask, and wait for no answer yet."""
        number, answer = next(self._numbers), Future[Any]()
        self._asked[number] = answer
        if self._is_gone:
            raise GivenUp
        self._emit(Ask(number, what, values))
        return answer

    def tell(self, what: str, *values: object) -> None:
        self._emit(Ask(0, what, values))

    def take(self, answer: Answer) -> None:
        if asked := self._asked.pop(answer.number, None):
            asked.set_result(answer.value)

    def leave(self) -> None:
        """Let nobody wait for an answer."""
        self._is_gone = True
        while self._asked:
            with suppress(KeyError):
                self._asked.popitem()[1].set_exception(GivenUp())


class DriversOutputs:
    """Replies that the driver has, in place of Outputs; the latest are remembered."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._latest: OrderedDict[bytes, Output] = OrderedDict()

    def __contains__(self, key: bytes) -> bool:
        return key in self._latest or bool(self._driver.ask("has", key))

    def find(self, key: bytes) -> Output | None:
        output: Output | None = self._latest.get(key) or self._driver.ask("find", key)
        return output

    def settle(self, key: bytes) -> bool:
        return key not in self._latest and bool(self._driver.ask("settle", key))

    def owe(self, key: bytes) -> None:
        self._latest.pop(key, None)
        self._driver.tell("owe", key)

    def keep(self, key: bytes, model: str, prompt: Prompt, output: Output) -> None:
        self._driver.tell("keep", key, model, prompt, output)
        self._latest[key] = change(output, spent=NOTHING)  # which who made it says
        if len(self._latest) > _KEPT:
            with suppress(KeyError):
                self._latest.popitem(last=False)

    def close(self) -> None:
        """Nothing of it is here."""


class DriversCaps(Caps):
    """The driver's caps: it counts what is spent, and says when they are reached."""

    def __init__(self, limits: JsonMapping, driver: Driver) -> None:
        super().__init__(**limits)
        self._driver = driver
        self._is_over = False
        self._gates: dict[Server, DriversRoom] = {}

    @property
    def is_over(self) -> bool:
        return self._is_over

    def end(self) -> None:
        self._is_over = True

    def take(self, usage: Usage, who: str, *, is_reply: bool = True) -> None:
        self._driver.tell("take", usage, who, is_reply)

    def pacer(self, base: str) -> Pacer:
        return DriversTurns(self._driver, base)

    def gate(self, base: str, model: str) -> "DriversRoom":
        return self._gates.setdefault((base, model), DriversRoom(self._driver, (base, model)))

    def limit(self, limited: Limited) -> None:
        """Let each call of a model ask for room from now on."""
        self.gate(*limited.server).is_limited = True


class DriversTurns:
    """Turns at a server that the driver gives, as nodes share its requests and tokens a minute."""

    def __init__(self, driver: Driver, base: str) -> None:
        self._driver = driver
        self._base = base

    def reserve(self, manners: Manners, guess: float, now: float) -> tuple[float, float]:
        wait, tokens = self._driver.ask("reserve", self._base, manners, guess)
        return now + wait, tokens

    def settle(self, manners: Manners, taken: float, used: int | None) -> None:
        if manners.tpm:
            self._driver.tell("settle turn", self._base, manners, taken, used)


class DriversRoom:
    """Room at a server that all nodes share; as long as there is enough for everybody, nobody asks."""

    refusals = 0  # which the driver counts

    def __init__(self, driver: Driver, server: Server) -> None:
        self._driver = driver
        self._server = server
        self._lock = threading.Lock()
        self._waiting = self._inside = 0
        self.is_limited = False

    def queue(self, _who: str, _patience: float) -> Queue | None:
        """Leave it to the driver to tell who waits."""
        return None

    def capacity(self, most: int | None) -> int | None:
        """Tell how many calls are of use: a few may wait for room, other slots are for others."""
        return self._inside + _OF_USE if self._waiting else most

    def enter(self, most: int | None, is_stopped: Callable[[], bool]) -> tuple[int, float]:
        """Wait for room, where it is short; returns the round's number, and the seconds that it took."""
        if most is None and not self.is_limited:
            return _UNCOUNTED, 0.0
        began = time.monotonic()
        self._count(waiting=1)
        try:
            number = self._wait(self._driver.begin("enter", self._server, most), is_stopped)
        finally:
            self._count(waiting=-1)
        self._count(inside=1)
        return number, time.monotonic() - began

    def leave(self, number: int, *, has_got_in: bool) -> None:
        if number != _UNCOUNTED:
            self._count(inside=-1)
            self._driver.tell("leave", self._server, has_got_in)

    def refuse(self, number: int, wait: float, patience: float, why: str = "") -> bool:
        """Tell of a refusal; false where patience is used up."""
        if number != _UNCOUNTED:
            self._count(inside=-1)
        return bool(self._driver.ask("refuse", self._server, number, wait, patience, why))

    def wake(self) -> None:
        """Let those that wait look by themselves."""

    def _count(self, waiting: int = 0, inside: int = 0) -> None:
        with self._lock:
            self._waiting += waiting
            self._inside += inside

    def _wait(self, answer: Future[int], is_stopped: Callable[[], bool]) -> int:
        while True:
            try:
                return answer.result(_LOOK_AGAIN)
            except TimeoutError:
                if is_stopped():
                    answer.add_done_callback(self._give_back)
                    raise GivenUp from None

    def _give_back(self, answer: Future[int]) -> None:
        if not answer.exception():
            self._driver.tell("leave", self._server, False)  # noqa: FBT003  by its place


# At the driver


class Rates:
    """How many calls and tokens a minute each server takes, over all nodes."""

    def __init__(self) -> None:
        self._rates: dict[str, Rate] = {}  # this keeps them

    def reserve(self, base: str, manners: Manners, guess: float) -> tuple[float, float]:
        """Give a node a turn, as seconds from now: clocks of machines differ."""
        now = time.monotonic()
        start, tokens = self._rate(base).reserve(manners, guess, now)
        return start - now, tokens

    def settle(self, base: str, manners: Manners, taken: float, used: int | None) -> None:
        self._rate(base).settle(manners, taken, used)

    def _rate(self, base: str) -> Rate:
        return self._rates.setdefault(base, rate_at(base))


class Waiting(NamedTuple):
    """A call of a node that waits for room."""

    node: Hashable
    number: int
    most: int | None


class Rooms:
    """How many calls at once each model takes, over all nodes."""

    def __init__(self, answer: Callable[[Hashable, Answer], None]) -> None:
        self._answer = answer
        self._rooms: dict[Server, Room] = {}
        self._waiting: dict[Server, deque[Waiting]] = {}
        self._inside: Counter[tuple[Hashable, Server]] = Counter()
        self._patience: dict[Server, float] = {}
        self.limited: dict[Server, Limited] = {}

    def enter(self, node: Hashable, number: int, server: Server, most: int | None) -> None:
        self._room(server)
        self._waiting[server].append(Waiting(node, number, most))
        self._let_in(server)

    def leave(self, node: Hashable, server: Server, has_got_in: bool) -> None:  # noqa: FBT001  by its place
        self._inside[node, server] -= 1
        self._room(server).leave(0, has_got_in=has_got_in)
        self._let_in(server)

    def refuse(
        self, node: Hashable, busy: int, server: Server, number: int, wait: float, patience: float, why: str
    ) -> bool:
        """Take a refusal of a call of some node, where so many calls are under way at all of them."""
        room = self._room(server)
        self._patience[server] = patience
        self.limited[server] = Limited(server)
        if number == _UNCOUNTED:
            return room.refuse_another(busy, wait, patience, why)
        self._inside[node, server] -= 1
        return room.refuse(number, wait, patience, why)

    def let_in(self) -> None:
        """Let those in that wait, as far as there is room by now."""
        for server, waiting in self._waiting.items():
            if waiting:
                self._let_in(server)

    def forget(self, node: Hashable) -> None:
        """Give the room of a node that is lost to others."""
        for server, waiting in self._waiting.items():
            self._waiting[server] = deque(call for call in waiting if call.node != node)
            for _ in range(self._inside.pop((node, server), 0)):
                self._rooms[server].leave(0, has_got_in=False)

    @property
    def queues(self) -> Iterator[Queue]:
        """Tell who waits at the moment as a server has no room."""
        for server, room in self._rooms.items():
            room.waiting = len(self._waiting[server])
            if queue := room.queue(server[1], self._patience.get(server, 0.0)):
                yield queue

    @property
    def notes(self) -> Iterator[str]:
        for (_, model), room in self._rooms.items():
            if note := full_in_words(model, room.refusals):
                yield note

    def _room(self, server: Server) -> Room:
        if server not in self._rooms:
            self._rooms[server] = room_of(*server)
            self._waiting[server] = deque()
        return self._rooms[server]

    def _let_in(self, server: Server) -> None:
        room, waiting = self._rooms[server], self._waiting[server]
        while waiting and (number := room.try_enter(waiting[0].most)) is not None:
            call = waiting.popleft()
            self._inside[call.node, server] += 1
            self._answer(call.node, Answer(call.number, number))
