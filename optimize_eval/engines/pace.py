"""How many slots are of use: fewer where processors are the limit, as more would only be in each other's way.

Slots that wait for an evaluator cost nothing, so at first all of them call. Once this process keeps a
processor busy, or together with the programs it starts all of them, further calls in flight only take time
from the others: half of the slots rest, down to two. They come back when there is time to spare.
"""

import os
import resource
import time
from collections.abc import Callable
from typing import NamedTuple

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


def spent() -> ProcessorTime:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = own.ru_utime + own.ru_stime
    return ProcessorTime(time.monotonic(), seconds, seconds + children.ru_utime + children.ru_stime)


class Pace:
    """At the moment `slots` may call; `look`, called now and then, measures and decides again."""

    def __init__(self, slots: int, measure: Callable[[], ProcessorTime] = spent) -> None:
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
