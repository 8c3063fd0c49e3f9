"""One process for one payload: feed it, drain it within limits, and see it ended with all it started."""

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from optimize_eval.base.evaluator import ANSWER_CAP
from optimize_eval.programs.process import POLL_WITHOUT_HANDLE, Child, NotStarted, Program

STDERR_KEPT = 64 * 1024
GRACE = 0.5  # seconds between SIGTERM and SIGKILL
LINGER = 0.5  # seconds that stdout is read on after the program itself has ended

_QUICK = 0.005  # an output larger than a pipe holds waits so long for its first reader
_CHUNK = 16 * 1024  # larger buffers cost a trip to the system for their memory on every call
_LAST_READS = 128
_LONGEST_POLL = 3600.0


@dataclass(frozen=True, slots=True)
class Exit:
    """How a program ended (as subprocess counts: a signal is negative; None: unknown) and what it wrote."""

    status: int | None
    stdout: bytes
    stderr: bytes
    is_held: bool = False  # something that it left behind held stdout, which was waited for in vain


class _Cut(Exception):
    def __init__(self, stderr: bytes = b"") -> None:
        super().__init__()
        self.stderr = stderr


class DeadlinePassed(_Cut):
    """The deadline passed; the program and all it started were killed."""


class OutputTooLarge(_Cut):
    """stdout went beyond ANSWER_CAP; the program and all it started were killed."""


class Tail:
    """The last STDERR_KEPT bytes that came through a pipe."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept = bytearray()

    def take(self, fd: int, event: int) -> bool:
        """Read what is there; return True if more may come."""
        data = os.read(fd, _CHUNK)
        self._kept += data
        if len(self._kept) > 2 * STDERR_KEPT:
            del self._kept[:-STDERR_KEPT]
        return has_more(data, event)

    def clear(self) -> None:
        self._kept.clear()

    def __bytes__(self) -> bytes:
        return bytes(self._kept[-STDERR_KEPT:])


def run(
    program: Program, payload: bytes, *, tag: str, variables: Mapping[bytes, bytes], deadline: float
) -> Exit:
    """Run a program once on a payload; raises NotStarted, DeadlinePassed or OutputTooLarge.

    `tag` marks the processes of this call and must be unique; `variables` are added to the program's
    environment; `deadline` is an instant of time.monotonic.
    """
    call = _Call(payload)
    child = Child(tag)
    try:
        child.start(program, variables, call.feed)  # fed before the start: the usual payload fits the pipe
        _listen(child, call, deadline)
        return Exit(child.reap(), bytes(call.stdout), bytes(call.stderr), call.is_held)
    except (NotStarted, DeadlinePassed):
        raise
    except BaseException as error:
        child.kill()
        if isinstance(error, OutputTooLarge):
            raise OutputTooLarge(bytes(call.stderr)) from None
        raise
    finally:
        child.close()


def _listen(child: Child, call: "_Call", deadline: float) -> None:
    try:
        call.listen(child, deadline)
    except DeadlinePassed:
        _terminate(child, call)
        raise DeadlinePassed(bytes(call.stderr)) from None


def _terminate(child: Child, call: "_Call") -> None:
    """Be polite first: SIGTERM to the group, a moment of grace, then kill."""
    seen = child.descendants()
    child.signal_group(signal.SIGTERM)
    with contextlib.suppress(DeadlinePassed, OutputTooLarge):
        until = time.monotonic() + GRACE
        call.listen(child, until, last=until)
    child.kill(seen)


_Takers = dict[int, Callable[[int], bool]]  # descriptor → what takes its event and returns True to go on


class _Call:
    """What is still to be written, what came so far, and whether the program has ended."""

    __slots__ = ("_ended", "_rest", "is_held", "stderr", "stdout")

    def __init__(self, payload: bytes) -> None:
        self.stdout = bytearray()
        self.stderr = Tail()
        self._rest = memoryview(payload)
        self._ended = False
        self.is_held = False

    def feed(self, child: Child) -> None:
        """Write what fits; close stdin when all went, or nobody wants it any more, which is no error."""
        try:
            self._rest = self._rest[os.write(child.stdin, self._rest) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._rest = self._rest[:0]
        if not self._rest:
            child.close_stdin()

    def listen(self, child: Child, deadline: float, *, last: float | None = None) -> None:
        """Feed and drain until the program has ended and stdout is read.

        Raises DeadlinePassed or OutputTooLarge. After the end of the program itself, stdout is read for
        LINGER more, or until `last`.
        """
        self._await_quick_end(child, deadline)
        poller, takers = self._watch(child)
        until = (last or time.monotonic() + LINGER) if self._ended else deadline
        while not self._ended or child.stdout in takers:
            had_ended = self._ended
            wait = until - time.monotonic()
            self._take_all(child, poller, takers, wait)
            if self._ended and not had_ended:
                until = last or time.monotonic() + LINGER
            elif wait <= 0 and not self._ended:
                raise DeadlinePassed
            elif wait <= 0:
                self.is_held = True
                break
        if child.stderr in takers:
            self._drain_stderr(child)

    def _await_quick_end(self, child: Child, deadline: float) -> None:
        """Sleep through the whole life of a short program: its answer waits in the pipe for one wake-up."""
        if child.handle >= 0 and child.stdin < 0:
            poller = select.poll()
            poller.register(child.handle, select.POLLIN)
            self._ended = bool(poller.poll(milliseconds(min(deadline - time.monotonic(), _QUICK))))

    def _watch(self, child: Child) -> tuple[select.poll, _Takers]:
        """Say for each of our ends what is to be done when it is ready."""
        poller = select.poll()
        takers: _Takers = {
            child.stdout: lambda event: self._take_stdout(child.stdout, event),
            child.stderr: lambda event: self.stderr.take(child.stderr, event),
        }
        if child.handle >= 0 and not self._ended:
            takers[child.handle] = self._take_end
        for fd in takers:
            poller.register(fd, select.POLLIN)
        if child.stdin >= 0:
            takers[child.stdin] = lambda _event: self._take_room(child)
            poller.register(child.stdin, select.POLLOUT)
        return poller, takers

    def _take_all(self, child: Child, poller: select.poll, takers: _Takers, wait: float) -> None:
        wait = wait if child.handle >= 0 else min(wait, POLL_WITHOUT_HANDLE)
        for fd, event in poller.poll(milliseconds(wait)):
            # POLLHUP alone: every writer is gone and the pipe is empty, so there is nothing to read.
            if event == select.POLLHUP or not takers[fd](event):
                del takers[fd]
                poller.unregister(fd)
        if child.handle < 0 and not self._ended:
            self._ended = child.has_ended()

    def _take_stdout(self, fd: int, event: int) -> bool:
        data = os.read(fd, _CHUNK)
        self.stdout += data
        if len(self.stdout) > ANSWER_CAP:
            raise OutputTooLarge
        return has_more(data, event)

    def _take_room(self, child: Child) -> bool:
        self.feed(child)
        return child.stdin >= 0

    def _take_end(self, _event: int) -> bool:
        self._ended = True
        return False

    def _drain_stderr(self, child: Child) -> None:
        """Take what is there now; a background child may hold stderr open for ever."""
        poller = select.poll()
        poller.register(child.stderr, select.POLLIN)
        for _ in range(_LAST_READS):
            events = poller.poll(0)
            if not events or not self.stderr.take(child.stderr, events[0][1]):
                return


def milliseconds(seconds: float) -> int:
    """Convert for poll, which cannot wait for months; whoever waits longer polls again."""
    return max(0, int(min(seconds, _LONGEST_POLL) * 1000) + 1)


def has_more(data: bytes, event: int) -> bool:
    """Return True if a pipe may still give something after a read of at most _CHUNK bytes."""
    # With every writer gone (POLLHUP) a short read has emptied the pipe, which spares one more read.
    return bool(data) and not (event & select.POLLHUP and len(data) < _CHUNK)
