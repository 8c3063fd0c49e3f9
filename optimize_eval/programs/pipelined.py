"""A worker that may get several calls at once, and answers them in any order.

Slots write their lines and wait; a reader thread hands each answer to its slot. A deadline that passes while
several answers are owed blames nobody: it breaks the worker, and all are called again.
"""

import os
import select
import signal
import threading
import time
from typing import Any

from optimize_eval.programs.one_shot import GRACE, DeadlinePassed, milliseconds
from optimize_eval.programs.process import Child
from optimize_eval.programs.worker import SILENT, MakeLine, OutputLines, WorkerBroken, WorkerReply, identified

_AWHILE = 3600.0


class _Waiting:
    """A slot that waits for its answer; `done` is held until there is one, or none will come."""

    __slots__ = ("answer", "done", "had_company", "stderr")

    def __init__(self) -> None:
        self.answer: dict[str, Any] | None = None
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
                    self._hand_over(*identified(line))
                self._lines.fill(_AWHILE)
        except WorkerBroken as broken:
            self._end(str(broken))

    def _end(self, reason: str) -> None:
        if self._is_closing:
            self._child.reap()
        self._break(reason)
        with self._writing:
            self._child.close()

    def _hand_over(self, identity: str, answer: dict[str, Any]) -> None:
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
