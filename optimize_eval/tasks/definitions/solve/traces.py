"""Traces that several scorers of a task share: each is made once, and forgotten when all of them have it.

Only so many are kept, and so much of them; what is forgotten before is made again of the replies that are
written down.
"""

import threading
from collections.abc import Callable, Hashable
from copy import copy
from dataclasses import replace

from optimize_eval.errors import EvaluationError, FailureKind
from optimize_eval.retrying import GivenUp
from optimize_eval.spent import NOTHING, Spent
from optimize_eval.tasks.definitions.solve.trace import Trace

_MOST = 1 << 14
_MOST_LETTERS = 1 << 25  # in messages
_BESIDE = 1000  # letters that a trace has beside its messages, or so


class _Flight:
    """A trace that is made, and then what came of it."""

    __slots__ = ("error", "is_over", "size", "trace", "wanted")

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted  # by how many more
        self.size = 0
        self.is_over = threading.Event()
        self.trace: Trace | None = None
        self.error: BaseException | None = None

    def result(self) -> Trace:
        """Wait for who makes it; what it took is counted there."""
        self.is_over.wait()
        if self.trace is not None:
            return replace(self.trace, spent=NOTHING) if self.trace.spent.usages else self.trace
        if not isinstance(self.error, EvaluationError):
            raise GivenUp
        error = copy(self.error)
        error.spent = NOTHING
        raise error


class Traces:
    """The traces of one task; thread-safe."""

    def __init__(self, scorers: int, most: int = _MOST) -> None:
        self._scorers = scorers
        self._most = most
        self._lock = threading.Lock()
        self._flights: dict[Hashable, _Flight] = {}
        self._owed: dict[Hashable, Spent] = {}  # what no record has said yet
        self._size = 0  # of all that are kept

    def __len__(self) -> int:
        return len(self._flights)

    def of(self, key: Hashable, make: Callable[[], Trace]) -> Trace:
        """Give a trace, made by whoever wants it first; a failure is shared, too."""
        with self._lock:
            flight = self._flights.get(key)
            if is_mine := flight is None:
                flight = self._flights[key] = _Flight(self._scorers)
            flight.wanted -= 1
            if not flight.wanted:
                self._forget(key, flight)
        trace = self._made(key, flight, make) if is_mine else flight.result()
        owed = self._owed.pop(key, None)
        return replace(trace, spent=owed + trace.spent) if owed else trace

    def owe(self, key: Hashable, spent: Spent) -> None:
        """Take back what was spent on a trace, as no record will say it; who is given it next will."""
        with self._lock:
            self._owed[key] = self._owed.get(key, NOTHING) + spent

    def _made(self, key: Hashable, flight: _Flight, make: Callable[[], Trace]) -> Trace:
        try:
            trace = flight.trace = make()
        except BaseException as error:
            flight.error = copy(error)
            if not _stays(error):
                with self._lock:
                    self._forget(key, flight)
            raise
        else:
            if flight.wanted:
                self._weigh(key, flight, trace)
            return trace
        finally:
            flight.is_over.set()

    def _weigh(self, key: Hashable, flight: _Flight, trace: Trace) -> None:
        """Count what is kept, and forget the oldest where that is too much."""
        size = _BESIDE + sum(len(message["content"]) for message in trace.messages)
        with self._lock:
            if self._flights.get(key) is flight:
                flight.size = size
                self._size += size
            while len(self._flights) > self._most or self._size > _MOST_LETTERS:
                oldest = next(iter(self._flights))
                self._forget(oldest, self._flights[oldest])

    def _forget(self, key: Hashable, flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
            self._size -= flight.size


def _stays(error: BaseException) -> bool:
    """Return True if a failure is the task's or a model's, not this machine's or the session's."""
    return isinstance(error, EvaluationError) and not error.no_room and error.kind is not FailureKind.INTERNAL
