"""A program behind a Unix socket: a payload as a line in, its answer as a line out, as with one kept alive.

The server is the user's: nothing is started or ended here. There is one connection, on which one line at a
time is answered, unless `--workers` or an answer's `_capabilities.concurrency` allows more. One on which
anything went wrong is not used again.
"""

import os
import select
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic

from optimize_eval.base.checks import seconds_given
from optimize_eval.base.errors import EvaluationError, FailureKind, UsageError
from optimize_eval.base.evaluator import ANSWER_CAP, Capacity, EvaluatorSpec, check_text
from optimize_eval.base.protocol import NO_CAPABILITIES, decode_answer
from optimize_eval.programs.codec import AnswerT, Contract, QuestionT, call_singly
from optimize_eval.programs.one_shot import milliseconds

_LONGEST_PATH = 103  # bytes, on macOS; Linux takes a few more
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class UnixSocket:
    """A socket's path, as it was written."""

    kind: ClassVar[str] = "unix"
    path: str

    def __post_init__(self) -> None:
        check_text("socket", self.path)


class _EndedEarly(Exception):
    """The server ended the connection before it had answered."""

    def __init__(self, *, has_begun: bool) -> None:
        super().__init__()
        self.has_begun = has_begun


class _SocketConnection:
    """One connection, on which one line at a time is sent and answered."""

    def __init__(self, path: str, deadline: float) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(max(0.001, deadline - time.monotonic()))
        self._buffer = bytearray()
        self._count = 0
        try:
            self._socket.connect(path)
        except BaseException:
            self._socket.close()
            raise
        self._socket.settimeout(0)

    @property
    def is_clean(self) -> bool:
        return not self._buffer

    def next_identity(self) -> str:
        self._count += 1
        return str(self._count)

    def exchange(self, line: bytes, deadline: float) -> bytes:
        """Send a line, reading meanwhile, and give the line that answers it."""
        rest = memoryview(line)
        while rest or b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            can_read, can_write = self._wait(left, writes=bool(rest))
            if can_read:
                self._take_in()
            elif can_write:
                rest = self._sent(rest)
        answer, _, self._buffer = self._buffer.partition(b"\n")
        return bytes(answer)

    def interrupt(self) -> None:
        """End it from another thread; the one that waits for an answer notices."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._socket.close()

    def _wait(self, seconds: float, *, writes: bool) -> tuple[bool, bool]:
        """Wait until it can be read, which its end is too, or written."""
        poller = select.poll()
        poller.register(self._socket, select.POLLIN | (select.POLLOUT if writes else 0))
        event = next((found for _, found in poller.poll(milliseconds(seconds))), 0)
        return bool(event & ~select.POLLOUT), bool(event & select.POLLOUT)

    def _take_in(self) -> None:
        try:
            data = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            raise _EndedEarly(has_begun=bool(self._buffer))
        self._buffer += data
        if len(self._buffer) > ANSWER_CAP + _CHUNK:
            raise EvaluationError(
                FailureKind.OUTPUT_TOO_LARGE,
                f"more than {ANSWER_CAP // 2**20} MiB in one line",
                hint="answer with one JSON object on a line; put bulky output elsewhere and name its place",
            )

    def _sent(self, rest: memoryview) -> memoryview:
        try:
            return rest[self._socket.send(rest) :]
        except BlockingIOError:
            return rest
        except OSError:  # it reads no more, but may have answered
            return rest[:0]


class SocketProgram(Generic[QuestionT, AnswerT]):
    """Calls the server, over connections that stay open."""

    note = ""

    def __init__(self, spec: EvaluatorSpec, contract: Contract[QuestionT, AnswerT]) -> None:
        self._spec = spec
        self._contract = contract
        self._path = _path_of(spec)
        self._allowed = spec.workers  # calls at once; None: as the server declares
        self.capacity = Capacity(calls=spec.workers or 1)
        self._changed = threading.Condition()  # guards what follows
        self._idle: list[_SocketConnection] = []
        self._busy: set[_SocketConnection] = set()
        self._in_flight = 0
        self._pid = os.getpid()

    def call(self, payload: QuestionT, deadline: float) -> AnswerT:
        """Call within the time that is left; waiting for room among the calls in flight does not count."""
        seconds = deadline - time.monotonic()
        with self._room():
            answer = self._contract.judge(self._answer(payload, time.monotonic() + seconds))
        if answer.capabilities is not NO_CAPABILITIES and self._allowed is None:
            with self._changed:
                self.capacity = Capacity(calls=answer.capabilities.concurrency or 1)
                self._changed.notify_all()
        return answer

    def call_many(self, payloads: Sequence[QuestionT], timeout: float) -> list[AnswerT | EvaluationError]:
        return call_singly(payloads, timeout, self.call)

    def close(self) -> None:
        with self._changed:
            idle, self._idle = self._idle, []
            for connection in self._busy:
                connection.interrupt()
        for connection in idle:
            connection.close()

    @contextmanager
    def _room(self) -> Iterator[None]:
        with self._changed:
            while self._in_flight >= (self.capacity.calls or 1):
                self._changed.wait()
            self._in_flight += 1
        try:
            yield
        finally:
            with self._changed:
                self._in_flight -= 1
                self._changed.notify()

    def _answer(self, payload: QuestionT, deadline: float) -> dict[str, Any]:
        """Call over a connection that stands, or over a new one where the server had ended that one."""
        seconds = deadline - time.monotonic()
        try:
            if standing := self._standing():
                try:
                    return self._exchanged(standing, payload, deadline)
                except _EndedEarly as ended:
                    if ended.has_begun:
                        raise
            return self._exchanged(self._opened(deadline), payload, deadline)
        except _EndedEarly as ended:
            raise _cut_short(has_begun=ended.has_begun) from None
        except TimeoutError:
            raise EvaluationError(
                FailureKind.TIMEOUT,
                f"no answer within {seconds_given(seconds, self._spec.timeout)} s",
                hint="allow more time with --timeout, or look at the server's log",
            ) from None

    def _exchanged(
        self, connection: _SocketConnection, payload: QuestionT, deadline: float
    ) -> dict[str, Any]:
        with self._changed:
            self._busy.add(connection)
        identity, is_sound = connection.next_identity(), False
        try:
            line = connection.exchange(self._contract.encode(payload, identity), deadline)
            answer = decode_answer(line, source="the answer", like=self._contract.sample)
            _check_identity(answer.get("_id"), identity)
            is_sound = connection.is_clean
            return answer
        finally:
            self._put_back(connection, is_sound=is_sound)

    def _standing(self) -> _SocketConnection | None:
        with self._changed:
            if self._pid != os.getpid():  # after a fork: what stands is the parent's
                self._pid, self._idle = os.getpid(), []
            return self._idle.pop() if self._idle else None

    def _opened(self, deadline: float) -> _SocketConnection:
        try:
            return _SocketConnection(self._path, deadline)
        except TimeoutError:
            raise
        except OSError as error:
            raise _not_connected(self._path, error) from None

    def _put_back(self, connection: _SocketConnection, *, is_sound: bool) -> None:
        with self._changed:
            self._busy.discard(connection)
            if is_sound:
                self._idle.append(connection)
                return
        connection.close()


def _check_identity(given: object, identity: str) -> None:
    if given != identity:
        what = "without the _id of its payload" if given is None else f"{given!r} when {identity!r} was sent"
        raise EvaluationError(
            FailureKind.HTTP_PROTOCOL, f"it answered {what}", hint="an answer repeats its payload's _id"
        )


def _cut_short(*, has_begun: bool) -> EvaluationError:
    what = "in the middle of an answer" if has_begun else "without an answer"
    return EvaluationError(
        FailureKind.HTTP_PROTOCOL, f"it ended the connection {what}", hint="look at the server's log"
    )


def _not_connected(path: str, error: OSError) -> EvaluationError:
    """Explain why there is no connection: nothing there, something else there, or nobody listens."""
    hint = "start the server that listens there, and look at the path"
    if not os.path.lexists(path):
        return EvaluationError(
            FailureKind.NOT_FOUND, f"there is no socket {path}", hint=hint, retry_after=0.0
        )
    if not Path(path).is_socket():
        return EvaluationError(FailureKind.NOT_FOUND, f"{path} is no socket", hint=hint)
    reason = "nobody listens there" if isinstance(error, ConnectionRefusedError) else error.strerror
    message = f"no connection to {path}: {reason}"
    return EvaluationError(FailureKind.HTTP_CONNECT, message, hint=hint, retry_after=0.0)


def socket_of(spec: EvaluatorSpec) -> str:
    """Give a socket's path as it was written; empty for what is elsewhere."""
    return spec.target.path if isinstance(spec.target, UnixSocket) else ""


def _path_of(spec: EvaluatorSpec) -> str:
    """Find the socket; the path is relative to the evaluator's folder."""
    path = str(Path(spec.cwd or ".", socket_of(spec)))
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise UsageError(
            f"the path {path} is too long for a socket: at most {_LONGEST_PATH} bytes",
            hint="let the server listen at a shorter one, or name it from its own folder",
        )
    return path
