"""Other people's programs as processes: a start with three pipes, and an end that leaves nothing behind.

The only user of spawn, which starts it. What goes through the pipes is one_shot's and worker's business, what
a status or an output *means* is said in exits, why a program did not start at all in not_started.
A program runs in its own session, so that its process group can be killed as one; what leaves the group
is found and ended by leftovers.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping

from optimize_eval.programs.leftovers import (
    CALL_VARIABLE,
    HAS_PIDFD,
    STUCK,
    Process,
    descendants,
    is_readable,
    sweep,
    sweep_starting,
)
from optimize_eval.programs.spawn import Program, spawn

POLL_WITHOUT_HANDLE = 0.01  # seconds between looks at a process that cannot be waited for in a poll

_HAS_WAITID = hasattr(os, "waitid")  # macOS has it from Python 3.13
_LOST = 256  # no status of a process


class NotStarted(Exception):
    """The operating system refused to start the program."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error


class Child:
    """One started program: our ends of its pipes, and the ways to end it.

    `stdin`, `stdout` and `stderr` are descriptors, `stdin` a non-blocking one; `handle` becomes readable when
    the program ends, or is -1 where the system has nothing of the kind. A closed one is -1.
    """

    __slots__ = ("_pid", "_status", "_tag", "_theirs", "handle", "stderr", "stdin", "stdout")

    def __init__(self, tag: str) -> None:
        """Start nothing yet: Ctrl-C may come at any instruction, and who has this can end what starts."""
        self._tag = tag
        self._pid = 0  # not known
        self._status: int | None = None  # how it ended, once it is reaped
        self._theirs = [-1, -1, -1]  # the program's ends of the pipes, until it has them
        self.stdin = self.stdout = self.stderr = self.handle = -1

    def start(
        self,
        program: Program,
        variables: Mapping[bytes, bytes],
        first: Callable[["Child"], None] = lambda _child: None,
    ) -> None:
        """Start; `first` is called when the pipes are there, before the program is. Raises NotStarted."""
        try:
            self._open_pipes()
            first(self)
            self._pid = spawn(program, {**variables, CALL_VARIABLE: os.fsencode(self._tag)}, self._theirs)
            self._open_handle()
        except OSError as error:
            self.close()
            raise NotStarted(error) from error
        self._close_theirs()

    def has_ended(self) -> bool:
        """Look without waiting and, where the system can, without reaping: the group keeps its number."""
        try:
            if _HAS_WAITID:
                return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            return self._status is not None or self._is_reaped(os.WNOHANG)
        except ChildProcessError:
            return True

    def await_end(self, seconds: float) -> bool:
        """Wait for the end at most so long; see has_ended about reaping."""
        if self.handle >= 0:
            return is_readable(self.handle, seconds)
        until = time.monotonic() + seconds
        while not (has_ended := self.has_ended()) and time.monotonic() < until:
            time.sleep(POLL_WITHOUT_HANDLE)
        return has_ended

    def signal_group(self, number: signal.Signals) -> None:
        if HAS_PIDFD and self._status is not None:
            return  # reaped: the number may be somebody else's by now
        try:
            os.killpg(self._pid, number)
        except (ProcessLookupError, PermissionError):  # macOS says EPERM of a group of zombies
            return

    def reap(self) -> int | None:
        """Kill what the ended program left in its group, then collect its status; None if that was lost.

        It is lost where the host ignores SIGCHLD or waits for all children.
        """
        # The order matters: until the leader is reaped, its group's number cannot belong to anybody else.
        self.signal_group(signal.SIGKILL)
        try:
            if self._status is None:  # else the pid may be another child's by now
                self._is_reaped()
        except ChildProcessError:
            self._status = _LOST
        return self.status

    def _is_reaped(self, options: int = 0) -> bool:
        pid, status = os.waitpid(self._pid, options)
        if pid:
            self._status = os.waitstatus_to_exitcode(status)
        return bool(pid)

    @property
    def status(self) -> int | None:
        """Give the status of a program that was reaped; None where that was lost."""
        return None if self._status == _LOST else self._status

    def descendants(self) -> list[Process]:
        return descendants(self._pid)

    def kill(self, seen: Iterable[Process] = ()) -> None:
        """End the group, and whatever else carries this call's tag or was seen below it."""
        if not self._pid:  # Ctrl-C came between the start and its being known here
            sweep_starting(self._tag)
            return
        below = [*seen, *self.descendants()] if self._status is None else [*seen]
        self.signal_group(signal.SIGKILL)
        if self.await_end(STUCK):
            self.reap()
        sweep(self._tag, below)

    def close_stdin(self) -> None:
        if self.stdin >= 0:
            fd, self.stdin = self.stdin, -1  # first: Ctrl-C in between must not let it be closed twice
            os.close(fd)

    def close(self) -> None:
        self._close_theirs()
        for fd in (self.stdin, self.stdout, self.stderr, self.handle):
            if fd >= 0:
                os.close(fd)
        self.stdin = self.stdout = self.stderr = self.handle = -1

    def _open_handle(self) -> None:
        if HAS_PIDFD:
            with contextlib.suppress(OSError):  # out of descriptors: the slower way works too
                self.handle = os.pidfd_open(self._pid)

    def _open_pipes(self) -> None:
        # os.pipe is close-on-exec from birth, so no other slot's child can inherit an end.
        self._theirs[0], self.stdin = os.pipe()
        self.stdout, self._theirs[1] = os.pipe()
        self.stderr, self._theirs[2] = os.pipe()
        os.set_blocking(self.stdin, False)

    def _close_theirs(self) -> None:
        while self._theirs:  # a line for both: Ctrl-C between them would leave one open
            os.close(self._theirs.pop()) if self._theirs[-1] >= 0 else self._theirs.pop()


def started(program: Program, tag: str, variables: Mapping[bytes, bytes]) -> Child:
    """Start a program that stays; Ctrl-C meanwhile leaves nothing of it. Raises NotStarted."""
    child = Child(tag)
    try:
        child.start(program, variables)
        return child  # noqa: TRY300  until it is given away, it is ours to end
    except NotStarted:
        raise
    except BaseException:
        child.kill()
        child.close()
        raise
