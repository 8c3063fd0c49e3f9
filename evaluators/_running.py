"""A program in its sandbox, as those see it who started it: lines to it, lines from it, and its end.

Nothing outlives `close`: a killed PID namespace takes all with it; elsewhere orphans come back to this
process, which kills every child that it does not know.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from _layers import LINUX

if TYPE_CHECKING:
    from _sandbox import Limits

_TAIL, _SHARED = 2048, 64 << 20
_NOW_AND_THEN = 0.1  # seconds
_MOST_FILES = 4096


class Refused(Exception):
    """Why nothing is started."""


class Stopped(Exception):
    """Why the program has nothing more to say."""


class Running:
    """A program in its sandbox: lines to its stdin, lines from its stdout, the end of its stderr."""

    def __init__(
        self, process: subprocess.Popen[bytes], limits: Limits, running: set[int], first: bytes, folder: str
    ) -> None:
        """Take a process; `running` are all of the same sandbox that have not been closed.

        A folder on disk that it may write to is looked at now and then, and removed in the end.
        """
        self._process, self._limits, self._running, self._unsent = process, limits, running, first
        self._folder, self._look_at = folder, 0.0
        self._unread, self._read, self._ended, self.tail = bytearray(), 0, False, b""
        self._deadline, self._most = time.monotonic() + 20, limits.output
        self._in, self._out, self._err = (
            cast("IO[bytes]", stream) for stream in (process.stdin, process.stdout, process.stderr)
        )
        os.set_blocking(self._in.fileno(), False)
        self._poll = select.poll()
        self._poll.register(1, 0)  # tells when nobody reads this process's own answers any more
        for stream in (self._out, self._err):
            self._poll.register(stream, select.POLLIN)

    def ready(self) -> list[str]:
        """Wait until it has closed itself in, and tell by which layers; from here its time runs."""
        try:
            line = self.line().decode()
        except Stopped as stopped:
            line = f"it {stopped}"
        self._deadline = time.monotonic() + self._limits.seconds
        word, *layers = line.split()
        if word != "enclosed":
            raise Refused(f"the sandbox did not start: {line} {self.tail.decode(errors='replace').strip()}")
        return layers

    def share(self, deadline: float) -> None:
        """Let it end when another one does; what it writes is for that one, whatever the size."""
        self._deadline, self._most = deadline, max(self._most, _SHARED)

    @property
    def deadline(self) -> float:
        return self._deadline

    def send(self, line: bytes) -> None:
        self._unsent += line + b"\n"

    def line(self) -> bytes:
        """Wait for its next line."""
        while (end := self._unread.find(b"\n")) < 0:
            if self._ended:
                raise Stopped(self._end())
            self._exchange()
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
        return line

    def rest(self) -> tuple[bytes, int]:
        """Wait for its end: what it wrote, and its exit status."""
        while not self._ended:
            self._exchange()
        return bytes(self._unread), self._status()

    def close(self) -> None:
        """End it and everything that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        self._drain_tail()
        for stream in (self._in, self._out, self._err):
            with contextlib.suppress(OSError):
                stream.close()
        self._running.discard(self._process.pid)
        if LINUX:
            _sweep(self._running)
        if self._folder:
            _remove(self._folder)

    def _exchange(self) -> None:
        """Write and read what can be written and read, and wait for it until the deadline."""
        self._write()
        self._look()
        left = self._deadline - time.monotonic()
        ready = dict(self._poll.poll(max(0, min(left, _NOW_AND_THEN) if self._folder else left) * 1000))
        if left <= 0:
            raise Stopped(f"ran out of time ({self._limits.seconds:g} s)")
        if 1 in ready:
            raise SystemExit(1)
        if self._err.fileno() in ready and not self._drain_tail():
            self._poll.unregister(self._err)
        if self._out.fileno() in ready:
            came = os.read(self._out.fileno(), 1 << 16)
            self._unread += came
            self._read += len(came)
            self._ended = not came
        if self._read > self._most:
            raise Stopped(f"wrote more than {self._most >> 10} KiB")

    def _look(self) -> None:
        """Stop it where the folder that is on disk holds more than one in memory would."""
        if self._folder and (now := time.monotonic()) >= self._look_at:
            self._look_at = now + _NOW_AND_THEN
            if _holds_more(self._folder, self._limits.scratch):
                raise Stopped(f"wrote more than {self._limits.scratch >> 20} MiB into its folder")

    def _write(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._in.fileno(), self._unsent[: 1 << 16]) :]
        except BlockingIOError:
            pass
        except OSError:  # it reads no more
            self._unsent = b""
        if self._unsent:
            self._poll.register(self._in, select.POLLOUT)
        else:
            with contextlib.suppress(KeyError):
                self._poll.unregister(self._in)

    def _drain_tail(self) -> bool:
        if not select.select([self._err], [], [], 0)[0]:
            return True
        came = os.read(self._err.fileno(), 1 << 16)
        self.tail = (self.tail + came)[-_TAIL:]
        return bool(came)

    def _status(self) -> int:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(max(0.0, self._deadline - time.monotonic()))
        raise Stopped(f"ran out of time ({self._limits.seconds:g} s)")

    def _end(self) -> str:
        while self._deadline > time.monotonic() and select.select([self._err], [], [], 0.05)[0]:
            if not self._drain_tail():
                break
        return f"ended with status {self._status()}"


def _holds_more(folder: str, most: int) -> bool:
    """Return True if a folder has more bytes or files than it may; nothing in it is believed or followed."""
    size, files, folders = 0, 0, [folder]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                size, files = size + entry.stat(follow_symlinks=False).st_blocks * 512, files + 1
                if size > most or files > _MOST_FILES:
                    return True
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    return False


def _remove(folder: str) -> None:
    """Remove a folder, however deep: what is in a folder within comes up first."""
    with contextlib.suppress(OSError):
        while entries := [*os.scandir(folder)]:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)  # noqa: PTH108  for each of thousands
                    continue
                os.chmod(entry.path, 0o700)  # noqa: PTH101
                for inner in [*os.scandir(entry.path)]:
                    os.rename(inner.path, f"{folder}/{os.urandom(12).hex()}")  # noqa: PTH104
                os.rmdir(entry.path)  # noqa: PTH106
        os.rmdir(folder)  # noqa: PTH106


def _sweep(spared: set[int]) -> None:
    """Kill what has come back to this process; all is stopped before, so that nothing is born."""
    stopped: set[int] = set()
    while found := _below(os.getpid(), spared) - stopped:
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGSTOP)
        stopped |= found
    for pid in stopped:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    while left := _children(os.getpid()) - spared:
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _below(pid: int, spared: set[int]) -> set[int]:
    return {one for child in _children(pid) - spared for one in (child, *_below(child, spared))}


def _children(pid: int) -> set[int]:
    with contextlib.suppress(OSError):
        tasks = Path(f"/proc/{pid}/task").iterdir()
        return {int(child) for task in tasks for child in (task / "children").read_text().split()}
    return set()
