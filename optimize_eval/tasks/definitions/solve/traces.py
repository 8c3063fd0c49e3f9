"""Traces that several scorers of a task share: each is made once, and forgotten when all of them have it.

Only so many are kept, and so much of them; what is forgotten before is made again of the replies that are
written down.
"""

import threading
from collections.abc import Callable, Hashable
from dataclasses import replace

from optimize_eval.base.spent import NOTHING, Spent
from optimize_eval.models.shared import Flight, stays
from optimize_eval.tasks.definitions.solve.trace import Trace

_MOST = 1 << 14
_MOST_LETTERS = 1 << 25  # in messages
_BESIDE = 1000  # letters that a trace has beside its messages, or so


class _Kept:
    """A trace that is made or was, by how many more it is wanted, and its letters."""

    __slots__ = ("flight", "size", "wanted")

    def __init__(self, wanted: int) -> None:
        self.flight = Flight[Trace]()
        self.wanted = wanted
        self.size = 0


class Traces:
    """The traces of one task; thread-safe."""

    def __init__(self, scorers: int, most: int = _MOST) -> None:
        self._scorers = scorers
        self._most = most
        self._lock = threading.Lock()
        self._kept: dict[Hashable, _Kept] = {}
        self._owed: dict[Hashable, Spent] = {}  # what no record has said yet
        self._size = 0  # of all that are kept

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, key: Hashable, make: Callable[[], Trace]) -> Trace:
        """Give a trace, made by whoever wants it first; a failure is shared, too."""
        with self._lock:
            kept = self._kept.get(key)
            if is_mine := kept is None:
                kept = self._kept[key] = _Kept(self._scorers)
            kept.wanted -= 1
            if not kept.wanted:
                self._forget(key, kept)
        trace = self._made(key, kept, make) if is_mine else kept.flight.result()
        owed = self._owed.pop(key, None)
        return replace(trace, spent=owed + trace.spent) if owed else trace

    def owe(self, key: Hashable, spent: Spent) -> None:
        """Take back what was spent on a trace, as no record will say it; who is given it next will."""
        with self._lock:
            self._owed[key] = self._owed.get(key, NOTHING) + spent

    def _made(self, key: Hashable, kept: _Kept, make: Callable[[], Trace]) -> Trace:
        try:
            trace = make()
        except BaseException as error:
            if not stays(error):
                with self._lock:
                    self._forget(key, kept)
            kept.flight.land(error)
            raise
        if kept.wanted:
            self._weigh(key, kept, trace)
        kept.flight.land(trace)
        return trace

    def _weigh(self, key: Hashable, kept: _Kept, trace: Trace) -> None:
        """Count what is kept, and forget the oldest where that is too much."""
        size = _BESIDE + sum(len(message["content"]) for message in trace.messages)
        with self._lock:
            if self._kept.get(key) is kept:
                kept.size = size
                self._size += size
            while len(self._kept) > self._most or self._size > _MOST_LETTERS:
                oldest = next(iter(self._kept))
                self._forget(oldest, self._kept[oldest])

    def _forget(self, key: Hashable, kept: _Kept) -> None:
        if self._kept.get(key) is kept:
            del self._kept[key]
            self._size -= kept.size
