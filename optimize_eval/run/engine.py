"""Where units are executed: slot threads that take units, call, and hand the records over.

`attempt` is called with units that are to be called together and returns their records; `done` is called
with each record, in the process that called `run`; `stop` ends the handing out of units. A record that
`crowded_out` knows as a call that this machine had no room for is not done: its unit is attempted again
with fewer calls in flight, and only where it was alone its record stands.

Slots that wait for an evaluator cost nothing, so at first all of them call. Once this process keeps a
processor busy, or together with the programs it starts all of them, further calls in flight only take time
from the others: half of the slots rest, down to two. They come back when there is time to spare.

Fair over lanes: a free slot serves the lane with the fewest calls in flight for its weight. A lane is not
given more calls than it can take, so that a slow evaluator never keeps slots from the others. Where more
calls in flight are of no use, pace lets slots rest.
"""

import os
import resource
import threading
import time
from array import array
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from optimize_eval.base.evaluator import Capacity
from optimize_eval.base.frozen import frozen

Record = TypeVar("Record")


@frozen
class Lane:
    """The units that one evaluator is to be called with, and how many of them it can take at the moment."""

    units: Sequence[int]
    capacity: Callable[[], Capacity]
    weight: float = 1.0


@frozen
class OnCluster:
    """How a cluster is reached, and how units are dealt out to its nodes."""

    address: str
    slots: int  # of a node
    chunk: int = 16  # units that travel together
    inflight: int = 2  # chunks that a node has at a time
    working_dir: str = ""  # a folder that nodes get a copy of; empty: they share ours


class CrowdedOut(NamedTuple):
    """A unit whose call found no room on this machine, and what there was too little of."""

    unit: int
    reason: str


def begun_apart(units: Sequence[int], place: int, many: int) -> Sequence[int]:
    """Let each of so many lanes over the same replies begin at another: none waits for another's call."""
    begin = len(units) * place // many
    return array("I", chain(units[begin:], units[:begin])) if begin else units


FEWEST = 2

_OWN = 0.8  # share of one processor from which the interpreter is the limit
_ALL = 0.85  # share of all processors
_SPARE = 0.75  # of these shares: below it more slots are of use
_MOMENT = 0.05  # seconds below which a measurement says little


class ProcessorTime(NamedTuple):
    """What a clock showed, and the processor seconds of this process alone and with its ended children."""

    at: float
    own: float
    all: float


def processor_time() -> ProcessorTime:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = own.ru_utime + own.ru_stime
    return ProcessorTime(time.monotonic(), seconds, seconds + children.ru_utime + children.ru_stime)


class Pace:
    """At the moment `slots` may call; `look`, called now and then, measures and decides again."""

    def __init__(self, slots: int, measure: Callable[[], ProcessorTime] = processor_time) -> None:
        self.slots = slots
        self.most = slots
        self._measure = measure
        self._last = measure()
        self._processors = processors()

    def look(self) -> None:
        now, last = self._measure(), self._last
        seconds = now.at - last.at
        if seconds < _MOMENT:
            return
        self._last = now
        own = (now.own - last.own) / seconds / _OWN
        everything = (now.all - last.all) / seconds / self._processors / _ALL
        busy = max(own, everything)
        if busy >= 1:
            self.slots = max(min(FEWEST, self.most), self.slots // 2)
        elif busy < _SPARE:
            self.slots = min(self.most, self.slots + self.slots // 2 + 1)

    def lower(self) -> None:
        """Take one slot away for good, unless it is the last."""
        self.most = max(1, self.most - 1)
        self.slots = min(self.slots, self.most)


def processors() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Arriving(Sequence[int]):
    """The units of a lane that come while it is served; what was handed out is forgotten. Thread-safe."""

    def __init__(self) -> None:
        self._gone = 0
        self._waiting: list[int] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Count all that ever came."""
        with self._lock:
            return self._gone + len(self._waiting)

    def __getitem__(self, part: Any) -> Any:
        """Hand the next ones out; a slice begins where the last one has ended."""
        with self._lock:
            many = part.stop - part.start
            taken, self._waiting = self._waiting[:many], self._waiting[many:]
            self._gone += len(taken)
            return taken

    def put(self, units: Sequence[int]) -> None:
        with self._lock:
            self._waiting += units

    def take_all(self) -> list[int]:
        """Take what was not handed out away again."""
        return self[0 : len(self)]  # type: ignore[no-any-return]


TICK = 0.1

_LOOK_AGAIN = 0.05  # seconds after which an idle slot looks whether a lane can take more by now


class LocalEngine:
    """So many slots; `tick` is called every 100 ms in the thread that runs.

    `note` is what people should know of how it went. While it `stays`, slots wait for units that are still to
    come; `wake` says that some have.
    """

    def __init__(
        self, slots: int, tick: Callable[[], None], stays: Callable[[], bool] = lambda: False
    ) -> None:
        self._wanted = self._slots = slots
        self._tick = tick
        self._stays = stays
        self._queues: Queues | None = None
        self.note = ""

    def wake(self) -> None:
        """Let slots that wait look again."""
        if self._queues:
            self._queues.wake()

    def run(
        self,
        lanes: Sequence[Lane],
        attempt: Callable[[Sequence[int]], Sequence[Record]],
        done: Callable[[Record], None],
        stop: Callable[[], bool],
        crowded_out: Callable[[Record], CrowdedOut | None] = lambda _record: None,
    ) -> None:
        """Return when every unit is done, or when those in flight are after `stop` said so."""
        queues = self._queues = Queues(lanes, self._slots, stop, self._stays)

        def serve() -> None:
            try:
                queue = None
                while taken := queues.take(queue):
                    queue, units = taken
                    for record in attempt(units):
                        if not queues.take_back(queue, crowded_out(record)):
                            done(record)
            except BaseException as error:  # noqa: BLE001  raised again in the thread that runs
                queues.fail(error)

        wanted = self._slots if self._stays() else min(self._slots, queues.left)
        threads = [threading.Thread(target=serve, name=f"slot-{n}", daemon=True) for n in range(wanted)]
        try:
            started = _start(threads)
            queues.settle_for(len(started), wanted)
            self._watch(started, queues)
        finally:
            self._remember(queues)

    def _remember(self, queues: "Queues") -> None:
        """Keep what this machine has room for, for the next run of units."""
        if queues.crowded:
            self._slots = queues.pace.most
            fewer = f"--concurrency was lowered from {self._wanted} to {self._slots}"
            self.note = f"{fewer}: {queues.crowded}; what found no room was called again (see ulimit -n, -u)"

    def _watch(self, threads: Sequence[threading.Thread], queues: "Queues") -> None:
        try:
            for thread in threads:
                while thread.is_alive() and not queues.error:
                    thread.join(TICK)
                    queues.pace.look()
                    self._tick()
        except BaseException as error:
            queues.fail(error)
            raise
        if queues.error:  # slots that still call end with their calls, which our caller breaks off
            raise queues.error


def _start(threads: Sequence[threading.Thread]) -> list[threading.Thread]:
    """Start what the system lets us start; one slot is enough."""
    started: list[threading.Thread] = []
    for thread in threads:
        try:
            thread.start()
        except RuntimeError:
            if not started:
                raise
            break
        started.append(thread)
    return started


class _Queue:
    """A lane, how far it was handed out, and its calls in flight."""

    __slots__ = ("again", "in_flight", "lane", "next")

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.next = 0
        self.again: list[int] = []  # units that were handed out in vain
        self.in_flight = 0

    @property
    def left(self) -> int:
        return len(self.lane.units) - self.next + len(self.again)

    @property
    def load(self) -> float:
        return self.in_flight / self.lane.weight

    def hand_out(self, most: int) -> Sequence[int]:
        """Give the next units, at most so many."""
        if self.again:
            return [self.again.pop()]
        units = self.lane.units[self.next : self.next + most]
        self.next += len(units)
        return units


class Queues:
    """What is still to be handed out; thread-safe."""

    def __init__(
        self,
        lanes: Sequence[Lane],
        slots: int,
        stop: Callable[[], bool],
        stays: Callable[[], bool] = lambda: False,
    ) -> None:
        self._queues = [_Queue(lane) for lane in lanes]
        self._slots = slots
        self._stop = stop
        self._stays = stays
        self.pace = Pace(slots)
        self._in_flight = 0
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self.error: BaseException | None = None
        self.crowded = ""  # what there was too little of

    @property
    def left(self) -> int:
        return sum(queue.left for queue in self._queues)

    def take(self, finished: _Queue | None = None) -> tuple[_Queue, Sequence[int]] | None:
        """Wait for units to call together; None when nothing is left to hand out.

        The room of a call that a slot has finished is filled by that slot, so no other slot is woken.
        """
        with self._lock:
            if finished:
                self.give_back(finished)
            while not (self.error or self._stop()) and ((queues := self._with_units()) or self._stays()):
                if self._in_flight < self.pace.slots and (taken := self._take_some(queues)):
                    return taken
                self._changed.wait(_LOOK_AGAIN)
            self._changed.notify_all()
            return None

    def wake(self) -> None:
        with self._lock:
            self._changed.notify_all()

    def settle_for(self, slots: int, wanted: int) -> None:
        """Go on with the slots that the system let us have."""
        if slots < wanted:
            self.crowded = "too many processes and threads"
            self.pace.most = self.pace.slots = slots

    def take_back(self, queue: _Queue, crowded_out: CrowdedOut | None) -> bool:
        """Put a unit that found no room back, and lower the slots; false where it was the only one."""
        if crowded_out is None:
            return False
        with self._lock:
            if self._in_flight <= 1:
                return False
            self.crowded = crowded_out.reason
            self.pace.lower()
            queue.again.append(crowded_out.unit)
            return True

    def give_back(self, queue: _Queue) -> None:
        queue.in_flight -= 1
        self._in_flight -= 1

    def _with_units(self) -> list[_Queue]:
        queues = [queue for queue in self._queues if queue.left]
        if len(queues) > 1:
            queues.sort(key=lambda queue: queue.load)
        return queues

    def fail(self, error: BaseException) -> None:
        with self._lock:
            self.error = self.error or error
            self._changed.notify_all()

    def _take_some(self, queues: Sequence[_Queue]) -> tuple[_Queue, Sequence[int]] | None:
        for queue in queues:
            capacity = queue.lane.capacity()
            if capacity.calls is None or queue.in_flight < capacity.calls:
                share = -(-queue.left // self._slots)  # at the end no slot has a batch while others have none
                units = queue.hand_out(min(capacity.batch, share))
                queue.in_flight += 1
                self._in_flight += 1
                return queue, units
        return None
