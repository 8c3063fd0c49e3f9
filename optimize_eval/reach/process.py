"""Other people's programs as processes: start, feed, listen, and an end that leaves nothing behind.

The only module that starts processes, and the only one that knows pidfd, /proc and the child subreaper;
each has a portable fallback. What a status or an output *means* is said in command; why a program did
not start at all, in not_started.

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
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

CALL_VARIABLE = b"OPTIMIZE_EVAL_CALL"
STDOUT_CAP = 8 * 1024 * 1024
STDERR_KEPT = 64 * 1024
GRACE = 0.5  # seconds between SIGTERM and SIGKILL
LINGER = 0.5  # seconds that stdout is read on after the program itself has ended

_QUICK = 0.005  # an output larger than a pipe holds waits so long for its first reader
_CHUNK = 16 * 1024  # larger buffers cost a trip to the system for their memory on every call
_LAST_READS = 4
_LONGEST_POLL = 3600.0
_POLL_WITHOUT_PIDFD = 0.01
_STUCK = 5.0  # a process that SIGKILL does not end in this time hangs in the kernel; it is left
_SWEEPS = 50
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


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended (as subprocess counts: a signal is negative) and what it wrote."""

    status: int
    stdout: bytes
    stderr: bytes


class NotStarted(Exception):
    """The operating system refused to start the program."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error


class _Cut(Exception):
    def __init__(self, stderr: bytes = b"") -> None:
        super().__init__()
        self.stderr = stderr


class Late(_Cut):
    """The deadline passed; the program and all it started were killed."""


class Flood(_Cut):
    """stdout went beyond STDOUT_CAP; the program and all it started were killed."""


def run(
    program: Program, payload: bytes, *, tag: str, variables: Mapping[bytes, bytes], deadline: float
) -> Ended:
    """Run a program once on a payload; raises NotStarted, Late or Flood.

    `tag` marks the processes of this call and must be unique; `variables` are added to the program's
    environment; `deadline` is an instant of time.monotonic.
    """
    child = Child(program, payload, tag, variables)
    try:
        child.listen(deadline)
        return Ended(child.reap(), bytes(child.stdout), child.stderr_tail())
    except Late:
        child.terminate()
        raise Late(child.stderr_tail()) from None
    except Flood:
        child.kill()
        raise Flood(child.stderr_tail()) from None
    except BaseException:
        child.kill()
        raise
    finally:
        child.close()


_Takers = dict[int, Callable[[int], bool]]  # descriptor → what takes its event and tells whether to go on


class Child:
    """One started program: its pipes, what it wrote so far, and the ways to end it."""

    __slots__ = (
        "_ended",
        "_handle",
        "_popen",
        "_rest",
        "_stderr",
        "_stdin",
        "_stdout",
        "_tag",
        "stderr",
        "stdout",
    )

    def __init__(self, program: Program, payload: bytes, tag: str, variables: Mapping[bytes, bytes]) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self._tag = tag
        self._rest = memoryview(payload)
        self._ended = False
        self._stdin = self._stdout = self._stderr = self._handle = -1
        theirs: list[int] = []
        try:
            self._open_pipes(theirs)
            self._feed()  # before the start: the usual payload fits the pipe and is done with
            self._popen = _popen(program, {**variables, CALL_VARIABLE: tag.encode()}, theirs)
        except OSError as error:
            self.close()
            raise NotStarted(error) from error
        except BaseException:
            self.close()
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        if _HAS_PIDFD:
            with contextlib.suppress(OSError):  # out of descriptors: the slower way works too
                self._handle = os.pidfd_open(self._popen.pid)

    def listen(self, deadline: float, *, linger: float = LINGER) -> None:
        """Feed and drain until the program has ended and stdout is read; raises Late or Flood."""
        self._wait_for_a_quick_end(deadline)
        poller, takers = self._watch()
        until = time.monotonic() + linger if self._ended else deadline
        while not self._ended or self._stdout in takers:
            had_ended = self._ended
            wait = until - time.monotonic()
            self._take_all(poller, takers, wait)
            if self._ended and not had_ended:
                until = time.monotonic() + linger
            elif wait <= 0 and not self._ended:
                raise Late
            elif wait <= 0:
                break
        if self._stderr in takers:
            self._drain_stderr()

    def reap(self) -> int:
        """Kill what the ended program left in its group, then collect its status."""
        # The order matters: until the leader is reaped, its group's number cannot belong to anybody else.
        self._signal(signal.SIGKILL)
        return self._popen.wait()

    def terminate(self) -> None:
        """Ask politely first: SIGTERM to the group, a moment of grace, then kill."""
        seen = _descendants(self._popen.pid)
        self._signal(signal.SIGTERM)
        with contextlib.suppress(Late, Flood):
            self.listen(time.monotonic() + GRACE, linger=0)
        self.kill(seen)

    def kill(self, seen: Iterable["_Process"] = ()) -> None:
        """End the group, and whatever else carries this call's tag or was seen below it."""
        below = [*seen, *_descendants(self._popen.pid)]
        self._signal(signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(_STUCK)
        sweep(self._tag, below)

    def close(self) -> None:
        for fd in (self._stdin, self._stdout, self._stderr, self._handle):
            if fd >= 0:
                os.close(fd)
        self._stdin = self._stdout = self._stderr = self._handle = -1

    def stderr_tail(self) -> bytes:
        return bytes(self.stderr[-STDERR_KEPT:])

    def _open_pipes(self, theirs: list[int]) -> None:
        # os.pipe is close-on-exec from birth, so no other slot's child can inherit an end.
        child_stdin, self._stdin = os.pipe()
        theirs.append(child_stdin)
        self._stdout, child_stdout = os.pipe()
        theirs.append(child_stdout)
        self._stderr, child_stderr = os.pipe()
        theirs.append(child_stderr)
        os.set_blocking(self._stdin, False)

    def _feed(self) -> bool:
        """Write what fits; tell whether more is to be written."""
        try:
            self._rest = self._rest[os.write(self._stdin, self._rest) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:  # it does not want its input, which alone is no error
            self._rest = self._rest[:0]
        if self._rest:
            return True
        os.close(self._stdin)
        self._stdin = -1
        return False

    def _wait_for_a_quick_end(self, deadline: float) -> None:
        """Sleep through the whole life of a short program: its answer waits in the pipe for one wake-up."""
        if self._handle >= 0 and self._stdin < 0:
            poller = select.poll()
            poller.register(self._handle, select.POLLIN)
            wait = min(deadline - time.monotonic(), _QUICK)
            self._ended = bool(poller.poll(_milliseconds(wait)))

    def _watch(self) -> tuple[select.poll, _Takers]:
        """Say for each of our ends what is to be done when it is ready."""
        takers: _Takers = {self._stdout: self._take_stdout, self._stderr: self._take_stderr}
        if self._handle >= 0 and not self._ended:
            takers[self._handle] = self._take_end
        poller = select.poll()
        for fd in takers:
            poller.register(fd, select.POLLIN)
        if self._stdin >= 0:
            takers[self._stdin] = self._take_room
            poller.register(self._stdin, select.POLLOUT)
        return poller, takers

    def _take_all(self, poller: select.poll, takers: _Takers, wait: float) -> None:
        longest = _LONGEST_POLL if self._handle >= 0 else _POLL_WITHOUT_PIDFD
        for fd, event in poller.poll(_milliseconds(min(wait, longest))):
            # POLLHUP alone: every writer is gone and the pipe is empty, so there is nothing to read.
            if event == select.POLLHUP or not takers[fd](event):
                del takers[fd]
                poller.unregister(fd)
        if self._handle < 0 and not self._ended:
            self._ended = self._popen.poll() is not None

    def _take_room(self, _event: int) -> bool:
        return self._feed()

    def _take_stdout(self, event: int) -> bool:
        data = os.read(self._stdout, _CHUNK)
        self.stdout += data
        if len(self.stdout) > STDOUT_CAP:
            raise Flood
        return _has_more(data, event)

    def _take_stderr(self, event: int) -> bool:
        data = os.read(self._stderr, _CHUNK)
        self.stderr += data
        if len(self.stderr) > 2 * STDERR_KEPT:
            del self.stderr[:-STDERR_KEPT]
        return _has_more(data, event)

    def _take_end(self, _event: int) -> bool:
        self._ended = True
        return False

    def _drain_stderr(self) -> None:
        """Take what is there now; a background child may hold stderr open for ever."""
        poller = select.poll()
        poller.register(self._stderr, select.POLLIN)
        for _ in range(_LAST_READS):
            events = poller.poll(0)
            if not events or not self._take_stderr(events[0][1]):
                return

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._popen.pid, number)
        except (ProcessLookupError, PermissionError):  # macOS says EPERM of a group of zombies
            return


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


def _milliseconds(seconds: float) -> int:
    return max(0, int(seconds * 1000) + 1)


def _has_more(data: bytes, event: int) -> bool:
    # With every writer gone (POLLHUP) a short read has emptied the pipe, which spares one more read.
    return bool(data) and not (event & select.POLLHUP and len(data) < _CHUNK)


class _Process(NamedTuple):
    """A row of the process table; pid and start time together name one process for ever."""

    pid: int
    started: bytes
    parent: int


def sweep(tag: str, seen: Iterable[_Process] = ()) -> None:
    """Kill every process that carries the tag (or one derived from it) or was seen, and see it gone."""
    known = {(process.pid, process.started) for process in seen}
    for _ in range(_SWEEPS):
        found = [p for p in _processes() if (p.pid, p.started) in known or _carries(p.pid, tag.encode())]
        if not found:
            return
        for process in found:
            _end(process)


def adopt_orphans() -> bool:
    """Make this whole process the parent of orphaned descendants, so that end_orphans() can find them all.

    Meant for a program that owns its process, as our command line does; false where the system cannot.
    """
    if not _HAS_PROC:
        return False
    import ctypes  # noqa: PLC0415  costs 10 ms that a plain --help should not pay

    return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def end_orphans() -> None:
    """Kill and reap every child of this process, one by one; only for one that called adopt_orphans()."""
    for _ in range(_SWEEPS):
        children = [process for process in _processes() if process.parent == os.getpid()]
        if not children:
            return
        for process in children:
            _end(process)


def _processes() -> Iterator[_Process]:
    if not _HAS_PROC:
        return
    for name in os.listdir("/proc"):  # noqa: PTH208  a Path for each process would double the cost
        if name.isdigit() and (process := _look_up(int(name))):
            yield process


def _look_up(pid: int) -> _Process | None:
    stat = _read(f"/proc/{pid}/stat")
    fields = stat.rpartition(b")")[2].split()  # the name before it may hold anything
    return _Process(pid, fields[19], int(fields[1])) if fields else None


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


def _descendants(pid: int) -> list[_Process]:
    children: dict[int, list[_Process]] = {}
    for process in _processes():
        children.setdefault(process.parent, []).append(process)
    found = children.get(pid, [])
    for process in found:  # grows while it is walked
        found.extend(children.get(process.pid, []))
    return found


def _end(process: _Process) -> None:
    """Kill exactly this process, wait until it is gone, and reap it if it had become a child of ours."""
    if not _HAS_PIDFD:
        with contextlib.suppress(OSError):
            os.kill(process.pid, signal.SIGKILL)
        return
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return
    try:
        found = _look_up(process.pid)
        if found and found.started == process.started:  # the parent may have changed, the process not
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            select.select([handle], [], [], _STUCK)
            os.waitpid(process.pid, os.WNOHANG)
    except OSError:  # gone already, not ours to kill, or not a child of ours
        return
    finally:
        os.close(handle)
