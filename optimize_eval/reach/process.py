"""Other people's programs as processes: a start with three pipes, and an end that leaves nothing behind.

The only module that starts processes, and the only one that knows pidfd, /proc and the child subreaper;
where they are missing, a program ends with its process group and no further. What goes through the
pipes is one_shot's and worker's business, what a status or an output *means* is said in verdict, why a
program did not start at all in not_started.
A program runs in its own session, so that its process group can be killed as one. What leaves the group
(setsid) is found by the environment variable CALL_VARIABLE or by having been seen as a descendant. What
leaves the group and clears its environment is caught only where adopt_orphans() was called.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

CALL_VARIABLE = b"OPTIMIZE_EVAL_CALL"
POLL_WITHOUT_HANDLE = 0.01  # seconds between looks at a process that cannot be waited for in a poll

_LOST = 255  # only for Popen, so that it does not wait for a process that is gone
_STUCK = 5.0  # a process that SIGKILL does not end in this time hangs in the kernel; it is left
_SWEEPS = 200
_PR_SET_CHILD_SUBREAPER = 36


def _pidfd_works() -> bool:
    """Probe once: old kernels and some containers refuse what Python offers."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


_HAS_PIDFD = _pidfd_works()
_HAS_PROC = sys.platform == "linux"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to start: found once, started for every call."""

    argv: tuple[str, ...]
    executable: str
    cwd: str | None
    environment: Mapping[bytes, bytes]


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

    __slots__ = ("_popen", "_tag", "handle", "stderr", "stdin", "stdout")

    def __init__(
        self, program: Program, tag: str, variables: Mapping[bytes, bytes], first: Callable[["Child"], None]
    ) -> None:
        """Start; `first` is called when the pipes are there, before the program is."""
        self._tag = tag
        self.stdin = self.stdout = self.stderr = self.handle = -1
        theirs: list[int] = []
        try:
            self._open_pipes(theirs)
            first(self)
            self._popen = _popen(program, {**variables, CALL_VARIABLE: os.fsencode(tag)}, theirs)
            self._open_handle()
        except OSError as error:
            self.close()
            raise NotStarted(error) from error
        except BaseException:  # Ctrl-C, maybe between the start and its being known here
            self.close()
            sweep(tag)
            raise
        finally:
            for fd in theirs:
                os.close(fd)

    def has_ended(self) -> bool:
        """Look without waiting and, where the system can, without reaping: the group keeps its number."""
        try:
            found: Any = os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        except AttributeError:  # macOS has waitid from Python 3.13
            found = self._popen.poll()
        return found is not None

    def await_end(self, seconds: float) -> bool:
        """Wait for the end at most so long; see has_ended about reaping."""
        if self.handle >= 0:
            return _is_readable(self.handle, seconds)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(max(0.0, seconds))
        return self._popen.returncode is not None

    def signal_group(self, number: signal.Signals) -> None:
        if _HAS_PIDFD and self._popen.returncode is not None:
            return  # reaped: the number may be somebody else's by now
        try:
            os.killpg(self._popen.pid, number)
        except (ProcessLookupError, PermissionError):  # macOS says EPERM of a group of zombies
            return

    def reap(self) -> int | None:
        """Kill what the ended program left in its group, then collect its status; None if that was lost.

        It is lost where the host ignores SIGCHLD or waits for all children; Popen.wait would say 0 then.
        """
        # The order matters: until the leader is reaped, its group's number cannot belong to anybody else.
        self.signal_group(signal.SIGKILL)
        if self._popen.returncode is not None:  # reaped before: the pid may be another child's by now
            return self._popen.returncode
        try:
            status = os.waitstatus_to_exitcode(os.waitpid(self._popen.pid, 0)[1])
        except ChildProcessError:
            self._popen.returncode = _LOST
            return None
        self._popen.returncode = status
        return status

    def descendants(self) -> list["Process"]:
        return _descendants(self._popen.pid)

    def kill(self, seen: Iterable["Process"] = ()) -> None:
        """End the group, and whatever else carries this call's tag or was seen below it."""
        below = [*seen, *self.descendants()] if self._popen.returncode is None else [*seen]
        self.signal_group(signal.SIGKILL)
        if self.await_end(_STUCK):
            self.reap()
        sweep(self._tag, below)

    def close_stdin(self) -> None:
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1

    def close(self) -> None:
        for fd in (self.stdin, self.stdout, self.stderr, self.handle):
            if fd >= 0:
                os.close(fd)
        self.stdin = self.stdout = self.stderr = self.handle = -1

    def _open_handle(self) -> None:
        if _HAS_PIDFD:
            with contextlib.suppress(OSError):  # out of descriptors: the slower way works too
                self.handle = os.pidfd_open(self._popen.pid)

    def _open_pipes(self, theirs: list[int]) -> None:
        # os.pipe is close-on-exec from birth, so no other slot's child can inherit an end.
        child_stdin, self.stdin = os.pipe()
        theirs.append(child_stdin)
        self.stdout, child_stdout = os.pipe()
        theirs.append(child_stdout)
        self.stderr, child_stderr = os.pipe()
        theirs.append(child_stderr)
        os.set_blocking(self.stdin, False)


def _popen(program: Program, variables: Mapping[bytes, bytes], pipes: list[int]) -> subprocess.Popen[bytes]:
    stdin, stdout, stderr = pipes
    # start_new_session keeps vfork; preexec_fn, user= and the like would fall back to a slow fork.
    return subprocess.Popen(
        program.argv,
        executable=program.executable,
        cwd=program.cwd,
        env={**program.environment, **variables},
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def _is_readable(fd: int, seconds: float) -> bool:
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(max(0, int(seconds * 1000))))


class Process(NamedTuple):
    """A row of the process table; pid and start time together name one process for ever."""

    pid: int
    started: bytes
    parent: int


def sweep(tag: str, seen: Iterable[Process] = ()) -> None:
    """Kill every process that carries the tag (or one derived from it) or was seen, and see it gone."""
    known = {(process.pid, process.started) for process in seen}
    for _ in range(_SWEEPS):
        found = [p for p in _processes() if (p.pid, p.started) in known or _carries(p.pid, os.fsencode(tag))]
        if not found:
            return
        _end(found)


def adopt_orphans() -> bool:
    """Make this whole process the parent of orphaned descendants, so that end_orphans() can find them all.

    Meant for a program that owns its process, as our command line does; false where the system cannot.
    """
    if not _HAS_PROC:
        return False
    import ctypes  # noqa: PLC0415  costs 10 ms that a plain --help should not pay

    return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def own_children() -> frozenset[Process]:
    return frozenset(process for process in _processes() if process.parent == os.getpid())


def end_orphans(spared: frozenset[Process]) -> None:
    """Kill and reap every other child of this process; only for one that called adopt_orphans()."""
    for _ in range(_SWEEPS):
        orphans = own_children() - spared
        if not orphans:
            return
        _end([*orphans, *(below for orphan in orphans for below in _descendants(orphan.pid))])


def reap_adopted() -> None:
    """Collect adopted processes that have ended; what we start leads a session and is left to who waits."""
    for process in own_children() if _HAS_PROC else ():
        fields = _read(f"/proc/{process.pid}/stat").rpartition(b")")[2].split()
        if fields[:1] == [b"Z"] and int(fields[3]) != process.pid:
            with contextlib.suppress(OSError):
                os.waitpid(process.pid, os.WNOHANG)


def _processes() -> Iterator[Process]:
    if not _HAS_PROC:
        return
    for name in os.listdir("/proc"):  # noqa: PTH208  a Path for each process would double the cost
        if name.isdigit() and (process := _look_up(int(name))):
            yield process


def _look_up(pid: int) -> Process | None:
    stat = _read(f"/proc/{pid}/stat")
    fields = stat.rpartition(b")")[2].split()  # the name before it may hold anything
    if not fields or (fields[0] == b"Z" and int(fields[1]) != os.getpid()):
        return None  # gone, or dead and not ours to reap
    return Process(pid, fields[19], int(fields[1]))


def _carries(pid: int, tag: bytes) -> bool:
    environment = b"\0" + _read(f"/proc/{pid}/environ")
    entry = b"\0" + CALL_VARIABLE + b"=" + tag
    return entry + b"\0" in environment or entry + b"." in environment


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123  see _processes
            return file.read()
    except OSError:  # ended meanwhile, or not ours to read
        return b""


def _descendants(pid: int) -> list[Process]:
    children: dict[int, list[Process]] = {}
    for process in _processes():
        children.setdefault(process.parent, []).append(process)
    found = children.get(pid, [])
    for process in found:  # grows while it is walked
        found.extend(children.get(process.pid, []))
    return found


def _end(processes: list[Process]) -> None:
    """Kill exactly these processes, wait until they are gone, and reap those that had become our children."""
    with contextlib.ExitStack() as handles:
        for process in processes:  # all are told before one is waited for, or forks outrun us
            _kill(process, handles)


def _kill(process: Process, handles: contextlib.ExitStack) -> None:
    if not _HAS_PIDFD:
        with contextlib.suppress(OSError):
            os.kill(process.pid, signal.SIGKILL)
        return
    with contextlib.suppress(OSError):  # gone already, or not ours to kill
        handle = os.pidfd_open(process.pid)
        handles.callback(_see_gone, handle, process.pid)
        found = _look_up(process.pid)
        if found and found.started == process.started:  # the parent may have changed, the process not
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            handles.callback(_is_readable, handle, _STUCK)


def _see_gone(handle: int, pid: int) -> None:
    os.close(handle)
    with contextlib.suppress(OSError):  # not a child of ours
        os.waitpid(pid, os.WNOHANG)
