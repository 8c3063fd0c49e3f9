"""What programs left behind: found in the process table, and ended, each of them and nobody else.

The only module that knows pidfd, /proc and the child subreaper; where they are missing, a program ends with
its process group and no further. What leaves the group (setsid) is found by the environment variable
CALL_VARIABLE or by having been seen as a descendant. What leaves the group and clears its environment is
caught only where adopt_orphans() was called.
A sweep looks at the process table once for all that it ends, and holds one descriptor at a time.
"""

import contextlib
import errno
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import partial
from io import FileIO
from typing import NamedTuple, TypeVar

CALL_VARIABLE = b"OPTIMIZE_EVAL_CALL"
STUCK = 5.0  # a process that SIGKILL does not end in this time hangs in the kernel; it is left

_SWEEPS = 200
_PR_SET_CHILD_SUBREAPER = 36
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE})
_PATIENCE = 100  # tries to get a descriptor
_A_MOMENT = 0.01  # seconds between them

_Opened = TypeVar("_Opened")
_put_off: ContextVar[list[str] | None] = ContextVar("tags of sweeps that are put off", default=None)


def _pidfd_works() -> bool:
    """Probe once: old kernels and some containers refuse what Python offers."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


HAS_PIDFD = _pidfd_works()
HAS_PROC = sys.platform == "linux"


class Process(NamedTuple):
    """A row of the process table; pid and start time together name one process for ever."""

    pid: int
    started: bytes
    parent: int

    @property
    def at(self) -> int:
        """When it started, in a unit of the system."""
        return int(self.started)


@contextlib.contextmanager
def at_once() -> Iterator[None]:
    """Let the sweeps that this thread asks for within be one."""
    tags: list[str] = []
    given = _put_off.set(tags)
    try:
        yield
    finally:
        _put_off.reset(given)
        if tags:
            _sweep(tags, ())


def sweep(tag: str, seen: Iterable[Process] = ()) -> None:
    """Kill every process that carries the tag (or one derived from it) or was seen, and see it gone."""
    put_off = _put_off.get()
    if put_off is None or seen:
        _sweep([tag], seen)
    else:
        put_off.append(tag)


def sweep_starting(tag: str) -> None:
    """Sweep what was started a moment ago: until the system has laid it out, it carries no tag yet."""
    until = time.monotonic() + STUCK
    while any(map(_is_starting, own_children())) and time.monotonic() < until:
        time.sleep(_A_MOMENT)
    sweep(tag)


def _is_starting(process: Process) -> bool:
    state = _read(f"/proc/{process.pid}/stat").rpartition(b")")[2].split()[:1]
    return state not in ([], [b"Z"]) and not _read(f"/proc/{process.pid}/environ")


def _sweep(tags: Iterable[str], seen: Iterable[Process]) -> None:
    known = {(process.pid, process.started) for process in seen}
    entries = [b"\0" + CALL_VARIABLE + b"=" + os.fsencode(tag) for tag in tags]
    we = _look_up(os.getpid())
    oldest = we.at if we else 0  # what we started is no older
    for _ in range(_SWEEPS):
        remaining = [
            p
            for p in _processes()
            if (p.pid, p.started) in known or (p.at >= oldest and _carries(p.pid, entries))
        ]
        if not remaining:
            return
        _end(remaining)


def adopt_orphans() -> bool:
    """Make this whole process the parent of orphaned descendants, so that end_orphans() can find them all.

    Meant for a program that owns its process, as our command line does; false where the system cannot.
    """
    if not HAS_PROC:
        return False
    import ctypes  # noqa: PLC0415  costs 10 ms that a plain --help should not pay

    return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def own_children() -> frozenset[Process]:
    return frozenset(process for process in _processes() if process.parent == os.getpid())


def end_orphans(spared: frozenset[Process]) -> None:
    """Kill and reap every other child of this process; only for one that called adopt_orphans()."""
    for _ in range(_SWEEPS):
        table = [*_processes()]
        orphans = [p for p in table if p.parent == os.getpid() and p not in spared]
        if not orphans:
            return
        _end(_with_descendants(orphans, table))


def reap_adopted() -> None:
    """Collect adopted processes that have ended; what we start leads a session and is left to who waits."""
    for process in own_children() if HAS_PROC else ():
        fields = _read(f"/proc/{process.pid}/stat").rpartition(b")")[2].split()
        if fields[:1] == [b"Z"] and int(fields[3]) != process.pid:
            with contextlib.suppress(OSError):
                os.waitpid(process.pid, os.WNOHANG)


def descendants(pid: int) -> list[Process]:
    """List the children of a process and all below them."""
    table = [*_processes()]
    return _with_descendants([process for process in table if process.parent == pid], table)


def is_readable(fd: int, seconds: float) -> bool:
    """Wait until a descriptor has something to say."""
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(max(0, int(seconds * 1000))))


def _with_descendants(roots: list[Process], table: Iterable[Process]) -> list[Process]:
    children: dict[int, list[Process]] = {}
    for process in table:
        children.setdefault(process.parent, []).append(process)
    family = [*roots]
    for process in family:  # grows while it is walked
        family.extend(children.get(process.pid, []))
    return family


def _processes() -> Iterator[Process]:
    if not HAS_PROC:
        return
    names = _patiently(partial(os.listdir, "/proc"))  # a Path for each process would double the cost
    for name in names:
        if name.isdigit() and (process := _look_up(int(name))):
            yield process


def _look_up(pid: int) -> Process | None:
    stat = _read(f"/proc/{pid}/stat")
    fields = stat.rpartition(b")")[2].split()  # the name before it may hold anything
    if not fields or (fields[0] == b"Z" and int(fields[1]) != os.getpid()):
        return None  # gone, or dead and not ours to reap
    return Process(pid, fields[19], int(fields[1]))


def _carries(pid: int, entries: Iterable[bytes]) -> bool:
    environment = b"\0" + _read(f"/proc/{pid}/environ")
    return any(entry + end in environment for entry in entries for end in (b"\0", b"."))


def _read(path: str) -> bytes:
    try:
        with _patiently(partial(FileIO, path)) as file:
            return file.read()
    except OSError as error:  # ended meanwhile, or not ours to read
        if error.errno in _NO_ROOM:
            raise
        return b""


def _patiently(open_it: Callable[[], _Opened]) -> _Opened:
    """Open something; where descriptors are missing, wait for those that calls in flight give back."""
    for _ in range(_PATIENCE):
        try:
            return open_it()
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
        time.sleep(_A_MOMENT)
    return open_it()


def _end(processes: list[Process]) -> None:
    """Kill exactly these processes, wait until they are gone, and reap those that had become our children."""
    for process in processes:  # all are told before one is waited for, or forks outrun us
        _kill(process)
    for process in processes if HAS_PIDFD else ():
        _see_gone(process)


def _kill(process: Process) -> None:
    if not HAS_PIDFD:
        with contextlib.suppress(OSError):
            os.kill(process.pid, signal.SIGKILL)
        return
    with _hold(process) as handle, contextlib.suppress(OSError):  # not ours to kill
        if handle is not None:
            signal.pidfd_send_signal(handle, signal.SIGKILL)


def _see_gone(process: Process) -> None:
    with _hold(process) as handle:
        if handle is not None:
            is_readable(handle, STUCK)
            with contextlib.suppress(OSError):  # not a child of ours
                os.waitpid(process.pid, os.WNOHANG)


@contextlib.contextmanager
def _hold(process: Process) -> Iterator[int | None]:
    """Hold a handle of exactly this process; None where it is gone."""
    try:
        handle = _patiently(partial(os.pidfd_open, process.pid))
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise
        yield None
        return
    try:
        # After the handle was opened, not before: between the two the number could pass to another process,
        # and the handle would be of that one.
        now = _look_up(process.pid)
        yield handle if now and now.started == process.started else None  # the parent may have changed
    finally:
        os.close(handle)


if __name__ == "__main__":  # of a command that was killed: programs.process
    sweep(sys.argv[1])
