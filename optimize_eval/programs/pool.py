"""Workers handed to slots: as many as calls need, and no more than there may be.

The second worker is started a moment after calls found the first one busy: many runs are over by then. One
that has not answered yet may still be loading libraries, as long as many calls take, and is given more time.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from optimize_eval.programs.worker import MakeLine, WorkerBroken, WorkerReply

FAREWELL = 2.0  # seconds that a worker has to end by itself once its stdin is closed
CLOSED = "the evaluator was closed"
PATIENCE = 0.05  # seconds, about as long as a worker takes to start
FIRST = 0.5  # seconds until the first answer


class WorkerLike(Protocol):
    """What a pool needs of a worker."""

    @property
    def is_dead(self) -> bool: ...
    @property
    def reason(self) -> str: ...
    def call(self, make_line: MakeLine, deadline: float) -> WorkerReply: ...
    def interrupt(self) -> None: ...
    def close_stdin(self) -> None: ...
    def close(self, deadline: float) -> None: ...


class Pool:
    """At most `size` workers, each with at most `window` calls in flight; thread-safe."""

    def __init__(
        self,
        start: Callable[[], WorkerLike],
        note: Callable[[WorkerBroken], None],
        *,
        size: int,
        window: int,
        patience: float = PATIENCE,
        first: float = FIRST,
    ) -> None:
        self._start = start
        self._note = note  # what broke a worker that owed nobody an answer
        self._size = size
        self._window = window
        self._usual_patience = patience
        self._most_patience = first  # the usual one, once a call has ended
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._busy: dict[WorkerLike, int] = {}  # worker → calls in flight
        self._starting = 0
        self._grows_at: float | None = None  # an instant of time.monotonic; None: one worker was enough yet
        self._is_closed = False
        self.breaks = 0  # workers that broke; one with several calls in flight is one

    def call(self, make_line: MakeLine, seconds: float) -> WorkerReply:
        """Call a worker, which then has so many seconds; the time until one is free does not count."""
        worker = self._take() or self._start_another()
        try:
            reply = worker.call(make_line, time.monotonic() + seconds)
            if worker.is_dead and self._count_break(worker):
                self._note(WorkerBroken(worker.reason))
        except WorkerBroken:
            self._count_break(worker)
            raise
        finally:
            self._give_back(worker)
        return reply

    def close(self) -> None:
        """End all workers at the same time; calls in flight are broken off, and their slots clean up."""
        with self._lock:
            self._is_closed = True
            idle = [worker for worker, calls in self._busy.items() if calls == 0]
            called = [worker for worker, calls in self._busy.items() if calls > 0]
            for worker in idle:
                del self._busy[worker]
            self._changed.notify_all()
        for worker in called:
            worker.interrupt()
        _end(idle)
        with self._lock:
            self._changed.wait_for(lambda: not self._busy and not self._starting, timeout=FAREWELL)

    def _take(self) -> WorkerLike | None:
        """Take a worker that has room; None is the right to start another."""
        with self._lock:
            while True:
                if self._is_closed:
                    raise WorkerBroken(CLOSED)
                worker = min(self._busy, key=self._busy.__getitem__, default=None)
                if worker is not None and self._busy[worker] == 0:
                    break
                has_room = len(self._busy) + self._starting < self._size
                patience = self._patience() if has_room else None
                if patience is not None and patience <= 0:
                    self._starting += 1
                    return None
                if worker is not None and self._busy[worker] < self._window:
                    break
                self._changed.wait(patience)
            self._busy[worker] += 1
            return worker

    def _patience(self) -> float:
        """Count the seconds for which a call is to wait for a worker before it starts another."""
        if not self._busy and not self._starting:
            return 0
        if self._grows_at is None:
            self._grows_at = time.monotonic() + self._most_patience
        return self._grows_at - time.monotonic()

    def _start_another(self) -> WorkerLike:
        worker = None
        try:
            worker = self._start()
            return worker
        finally:
            with self._lock:
                self._starting -= 1
                if worker is not None:
                    self._busy[worker] = 1  # also when closed meanwhile: who called gives it back
                self._changed.notify_all()

    def _count_break(self, worker: WorkerLike) -> bool:
        """Count a worker that broke, once; return True if it was not counted before."""
        with self._lock:
            is_new = self._busy.pop(worker, None) is not None
            self.breaks += is_new
            return is_new

    def _give_back(self, worker: WorkerLike) -> None:
        with self._lock:
            self._most_patience = self._usual_patience
            if self._grows_at is not None:
                self._grows_at = min(self._grows_at, time.monotonic() + self._usual_patience)
            if worker in self._busy:
                self._busy[worker] -= 1
            is_last = worker.is_dead or (self._is_closed and self._busy.get(worker) == 0)
            if is_last:
                self._busy.pop(worker, None)
            self._changed.notify_all()
        if is_last and self._is_closed:
            _end([worker])


def _end(workers: Sequence[WorkerLike]) -> None:
    for worker in workers:
        worker.close_stdin()
    deadline = time.monotonic() + FAREWELL
    for worker in workers:
        worker.close(deadline)
