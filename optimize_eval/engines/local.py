"""The engine of this machine: slot threads that take units, call, and hand the records over.

Fair over lanes: a free slot serves the lane with the fewest calls in flight for its weight. A lane is not
given more calls than it can take, so that a slow evaluator never keeps slots from the others. Where more
calls in flight are of no use, pace lets slots rest.
"""

import threading
from collections.abc import Callable, Sequence

from optimize_eval.engines import CrowdedOut, Lane, Record
from optimize_eval.engines.pace import Pace

TICK = 0.1

_LOOK_AGAIN = 0.05  # seconds after which an idle slot looks whether a lane can take more by now


class LocalEngine:
    """So many slots; `tick` is called every 100 ms in the thread that runs."""

    def __init__(self, slots: int, tick: Callable[[], None]) -> None:
        self._wanted = self._slots = slots
        self._tick = tick
        self.note = ""

    def run(
        self,
        lanes: Sequence[Lane],
        attempt: Callable[[Sequence[int]], Sequence[Record]],
        done: Callable[[Record], None],
        stop: Callable[[], bool],
        crowded_out: Callable[[Record], CrowdedOut | None] = lambda _record: None,
    ) -> None:
        queues = Queues(lanes, self._slots, stop)

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

        wanted = min(self._slots, queues.left)
        threads = [threading.Thread(target=serve, name=f"slot-{n}", daemon=True) for n in range(wanted)]
        try:
            started = _started(threads)
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


def _started(threads: Sequence[threading.Thread]) -> list[threading.Thread]:
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

    def __init__(self, lanes: Sequence[Lane], slots: int, stop: Callable[[], bool]) -> None:
        self._queues = [_Queue(lane) for lane in lanes]
        self._slots = slots
        self._stop = stop
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
            while not (self.error or self._stop()) and (queues := self._with_units()):
                if self._in_flight < self.pace.slots and (taken := self._take_some(queues)):
                    return taken
                self._changed.wait(_LOOK_AGAIN)
            self._changed.notify_all()
            return None

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
