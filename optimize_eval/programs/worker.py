"""Programs kept alive between calls, lines in, lines out, and how they are handed to slots.

A Worker gets one call at a time, from the slot that holds it; a Window is a program that takes several: slots
write their lines and wait, and a reader thread hands each its answer.
Whatever does not answer what was sent breaks the worker; what to do then is decided by command. A deadline
that passes while several answers are owed blames nobody: it breaks the worker, and all are called again.

A Pool has as many as calls need, and no more than there may be. The second worker is started a moment after
calls found the first one busy: many runs are over by then. One that has not answered yet may still be loading
libraries, as long as many calls take, and is given more time.
"""

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from optimize_eval.base.documents import JsonDict
from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import ANSWER_CAP
from optimize_eval.base.protocol import decode_answer
from optimize_eval.programs.leftovers import is_readable
from optimize_eval.programs.one_shot import GRACE, DeadlinePassed, Tail, milliseconds
from optimize_eval.programs.process import POLL_WITHOUT_HANDLE, Child

SILENT = "it did not answer in time: does it flush each answer?"
TRUSTED = 2  # answers, after which a late one is late for its payload's sake

_CHUNK = 64 * 1024
_MOST_CHUNKS = 16  # of stderr, that are read of a program that is gone
_MOMENT = 0.2  # a process that was seen to close its pipes takes so long at most to be seen as ended

MakeLine = Callable[[str], bytes]  # identity → the line of a call under it


class WorkerReply(NamedTuple):
    """A decoded answer, and what the worker had written to stderr by then."""

    answer: JsonDict
    stderr: bytes


class WorkerBroken(Exception):  # its text is the reason
    """The worker cannot be trusted any more and was killed; what it was sent is unanswered.

    `status` is that of a program which ended by itself, if it is known; `stdout` and `stderr` begin and end
    with what nobody had read.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.stdout = self.stderr = b""
        self.status: int | None = None


class OutputLines:
    """The output of a living program as whole lines, and the tail of its stderr."""

    __slots__ = ("_buffer", "_child", "_poller", "_searched", "stderr")

    def __init__(self, child: Child) -> None:
        self._child = child
        self._buffer = bytearray()
        self._searched = 0
        self.stderr = Tail()
        self._poller = select.poll()
        for fd in (child.stdout, child.stderr, child.handle):
            if fd >= 0:
                self._poller.register(fd, select.POLLIN)

    def watch_stdin(self) -> None:
        """Notice when the program closes its stdin; only for who closes our end in the same thread."""
        self._poller.register(self._child.stdin, 0)

    def next(self) -> bytes | None:
        """Take the next whole line out of what has come, if there is one."""
        end = self._buffer.find(b"\n", self._searched)
        if end < 0:
            self._searched = len(self._buffer)
            if self._searched > ANSWER_CAP:
                raise WorkerBroken(f"it wrote a line of more than {ANSWER_CAP // 2**20} MiB")
            return None
        if end > ANSWER_CAP:
            raise WorkerBroken(f"it wrote a line of more than {ANSWER_CAP // 2**20} MiB")
        line = bytes(self._buffer[: end + 1])
        del self._buffer[: end + 1]
        self._searched = 0
        return line

    def rest(self) -> bytes:
        """Take what has come and is no whole line, and the rest of stderr; wait for nothing."""
        self._take_rest_of_stderr()
        if is_readable(self._child.stdout, 0):
            self._buffer += os.read(self._child.stdout, _CHUNK)
        return bytes(self._buffer[:_CHUNK])

    def _take_rest_of_stderr(self) -> None:
        fd = self._child.stderr
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        for _ in range(_MOST_CHUNKS):
            events = dict(poller.poll(0))
            if fd not in events or not self.stderr.take(fd, events[fd]):
                break

    def fill(self, seconds: float, *, or_room: bool = False) -> None:
        """Wait for output, at most so long, or with `or_room` until stdin takes more; raises WorkerBroken."""
        if or_room:
            self._poller.register(self._child.stdin, select.POLLOUT)
        seconds = seconds if self._child.handle >= 0 else min(seconds, POLL_WITHOUT_HANDLE)
        events = dict(self._poller.poll(milliseconds(seconds)))
        if or_room:
            self._poller.register(self._child.stdin, 0)
        self._take_in(events)

    def _take_in(self, events: dict[int, int]) -> None:
        child = self._child
        if child.stderr in events and not self.stderr.take(child.stderr, events[child.stderr]):
            self._poller.unregister(child.stderr)
        if child.stdout in events:
            data = os.read(child.stdout, _CHUNK)
            if not data:
                raise WorkerBroken("it ended" if child.await_end(_MOMENT) else "it closed its stdout")
            self._buffer += data
        elif child.stdin in events and events[child.stdin] & select.POLLERR:
            raise WorkerBroken("it ended" if child.await_end(_MOMENT) else "it closed its stdin")
        elif child.handle in events or (child.handle < 0 and child.has_ended()):
            raise WorkerBroken("it ended")


class Worker:
    """One living program that gets one call at a time.

    Before it has given `trusted` answers, it breaks where one is late: it may never flush.
    """

    __slots__ = ("_asked", "_child", "_lines", "_trusted", "is_dead")
    reason = ""  # one that gets one call at a time breaks while it owes an answer

    def __init__(self, child: Child, *, trusted: int = 0) -> None:
        self._child = child
        self._lines = OutputLines(child)
        self._lines.watch_stdin()
        self._asked = 0
        self._trusted = trusted
        self.is_dead = False

    def call(self, make_line: MakeLine, deadline: float) -> WorkerReply:
        """Send a line and wait; raises DeadlinePassed or WorkerBroken, and the worker is gone then."""
        self._asked += 1
        identity = str(self._asked)
        try:
            self._write(make_line(identity), deadline)
            while (line := self._lines.next()) is None:
                self._lines.fill(_seconds_left(deadline))
            return self._reply(answer_to(line, identity))
        except DeadlinePassed:
            broken = WorkerBroken(SILENT) if self._asked <= self._trusted else None
            self._kill(broken)
            raise broken or DeadlinePassed(bytes(self._lines.stderr)) from None
        except WorkerBroken as broken:
            self._kill(broken)
            raise
        except BaseException:
            self._kill()
            raise

    def interrupt(self) -> None:
        """Kill the program from another thread; the one that calls it notices and cleans up."""
        self._child.signal_group(signal.SIGKILL)

    def close_stdin(self) -> None:
        """Close stdin: the sign to end."""
        self._child.close_stdin()

    def close(self, deadline: float) -> None:
        """See it ended: by itself until the deadline, then by SIGTERM, then by SIGKILL."""
        if self.is_dead:
            return
        if self._child.await_end(deadline - time.monotonic()) or self._ends_on_request():
            self._child.reap()
        else:
            self._child.kill()
        self.is_dead = True
        self._child.close()

    def _ends_on_request(self) -> bool:
        self._child.signal_group(signal.SIGTERM)
        return self._child.await_end(GRACE)

    def _reply(self, answer: JsonDict) -> WorkerReply:
        stderr = bytes(self._lines.stderr)
        self._lines.stderr.clear()
        return WorkerReply(answer, stderr)

    def _write(self, line: bytes, deadline: float) -> None:
        """Write a line, reading meanwhile, so that full pipes on both sides block nobody."""
        rest = memoryview(line)
        while rest:
            try:
                rest = rest[os.write(self._child.stdin, rest) :]
            except BlockingIOError:
                self._lines.fill(_seconds_left(deadline), or_room=True)
            except OSError as error:
                raise WorkerBroken("it ended") from error

    def _kill(self, broken: WorkerBroken | None = None) -> None:
        self.is_dead = True
        has_ended = broken is not None and self._child.has_ended()
        self._child.kill()
        if broken:
            broken.stdout = self._lines.rest()
            broken.stderr = bytes(self._lines.stderr)
            broken.status = self._child.status if has_ended else None
        self._child.close()


def identify(line: bytes) -> tuple[str, JsonDict]:
    """Read a worker's line: whose answer it is, and the answer; noise is WorkerBroken."""
    try:
        answer = decode_answer(line, source="a line on stdout")
    except EvaluationError as error:
        raise WorkerBroken(error.message) from error
    identity = answer.get("_id")
    if not isinstance(identity, str):
        raise WorkerBroken("it answered without the _id that it was given")
    return identity, answer


def answer_to(line: bytes, identity: str) -> JsonDict:
    echoed, answer = identify(line)
    if echoed != identity:
        raise WorkerBroken(f"it answered {echoed!r} when {identity!r} was sent")
    return answer


def _seconds_left(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise DeadlinePassed
    return seconds


_AWHILE = 3600.0


class _Waiting:
    """A slot that waits for its answer; `done` is held until there is one, or none will come."""

    __slots__ = ("answer", "done", "had_company", "stderr")

    def __init__(self) -> None:
        self.answer: JsonDict | None = None
        self.stderr = b""
        self.had_company = False  # others were in flight at some time: then a late answer is nobody's fault
        self.done = threading.Lock()
        self.done.acquire()


class Window:
    """One living program with several payloads in flight; `trusted` as a Worker's."""

    def __init__(self, child: Child, *, trusted: int = 0) -> None:
        self._child = child
        self._lines = OutputLines(child)
        self._state = threading.Lock()  # guards what follows
        self._asked = 0
        self._answered = 0
        self._trusted = trusted
        self._waiting: dict[str, _Waiting] = {}
        self._broken = ""
        self._is_closing = False
        self._writing = threading.Lock()  # held while stdin is used: no line inside another, no closed one
        self._reader = threading.Thread(target=self._read, name="optimize-eval worker", daemon=True)
        self._reader.start()

    @property
    def is_dead(self) -> bool:
        return bool(self._broken)

    @property
    def reason(self) -> str:
        """What broke it, also where nobody waited for an answer."""
        return self._broken

    def call(self, make_line: MakeLine, deadline: float) -> WorkerReply:
        """Send a line and wait; raises DeadlinePassed or WorkerBroken, and the worker is gone then."""
        identity, waiting = self._enlist()
        try:
            self._write(make_line(identity), deadline)
            in_time = waiting.done.acquire(timeout=max(0.0, deadline - time.monotonic()))
        except DeadlinePassed:
            in_time = False
        except WorkerBroken as broken:  # it may have been broken while this was written: that is why, then
            self._break(str(broken))
            raise WorkerBroken(self._broken) from broken
        except BaseException as error:
            self._break(str(error) or "a payload could not be written whole")
            raise
        if not in_time:
            self._give_up(identity, waiting)
        if waiting.answer is None:
            raise WorkerBroken(self._broken)
        return WorkerReply(waiting.answer, waiting.stderr)

    def interrupt(self) -> None:
        """Kill the program from another thread; those that call it are woken."""
        self._break("the evaluator was closed")

    def close_stdin(self) -> None:
        """Close stdin: the sign to end."""
        with self._state:
            self._is_closing = True
        with self._writing:
            self._child.close_stdin()

    def close(self, deadline: float) -> None:
        """See it ended: by itself until the deadline, then by SIGTERM, then by SIGKILL."""
        self._reader.join(max(0.0, deadline - time.monotonic()))
        if self._reader.is_alive():
            self._child.signal_group(signal.SIGTERM)
            self._reader.join(GRACE)
        if self._reader.is_alive():
            self._child.kill()
            self._reader.join()

    def _enlist(self) -> tuple[str, _Waiting]:
        with self._state:
            if self._broken:
                raise WorkerBroken(self._broken)
            self._asked += 1
            identity, waiting = str(self._asked), _Waiting()
            self._waiting[identity] = waiting
            for other in self._waiting.values():
                other.had_company = other.had_company or len(self._waiting) > 1
            return identity, waiting

    def _write(self, line: bytes, deadline: float) -> None:
        if not self._writing.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise DeadlinePassed
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[self._write_some(rest, deadline) :]
        finally:
            self._writing.release()

    def _write_some(self, rest: memoryview, deadline: float) -> int:
        try:
            return os.write(self._child.stdin, rest)
        except BlockingIOError:
            _await_room(self._child.stdin, deadline)
            return 0
        except OSError as error:
            raise WorkerBroken("it ended") from error

    def _give_up(self, identity: str, waiting: _Waiting) -> None:
        """Alone in flight a late payload is a timeout; in company it only breaks the worker.

        So it does before the worker has given some answers.
        """
        with self._state:
            if identity not in self._waiting:
                return  # the answer came in this very moment, or the worker broke
            is_trusted = self._answered >= self._trusted
        self._break("an answer was late while several were owed" if is_trusted else SILENT)
        if is_trusted and not waiting.had_company:
            raise DeadlinePassed(bytes(self._lines.stderr))

    def _break(self, reason: str) -> None:
        """Kill the program and wake every slot; the reader thread then closes the pipes."""
        with self._state:
            first, self._broken = not self._broken, self._broken or reason
            waiting, self._waiting = self._waiting, {}
        if first:
            self._child.kill()
        for slot in waiting.values():
            slot.done.release()

    def _read(self) -> None:
        """Hand answers to slots until the program ends or breaks (the reader thread)."""
        try:
            while True:
                while (line := self._lines.next()) is not None:
                    self._hand_over(*identify(line))
                self._lines.fill(_AWHILE)
        except WorkerBroken as broken:
            self._end(str(broken))

    def _end(self, reason: str) -> None:
        if self._is_closing:
            self._child.reap()
        self._break(reason)
        with self._writing:
            self._child.close()

    def _hand_over(self, identity: str, answer: JsonDict) -> None:
        with self._state:
            waiting = self._waiting.pop(identity, None)
            self._answered += 1
            is_last = not self._waiting
        if waiting is None:
            raise WorkerBroken(f"it answered {identity!r}, which was not sent")
        waiting.answer = answer
        waiting.stderr = bytes(self._lines.stderr)
        if is_last:
            self._lines.stderr.clear()
        waiting.done.release()


def _await_room(stdin: int, deadline: float) -> None:
    left = deadline - time.monotonic()
    poller = select.poll()
    poller.register(stdin, select.POLLOUT)
    if left <= 0:
        raise DeadlinePassed
    poller.poll(milliseconds(left))


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
