"""HTTP/1.1 on one connection: requests in, replies out, each within its time and size; blocking.

Knows framing only. A request that cannot be framed is Refused, and its connection ends with that reply.
"""

import contextlib
import re
import resource
import socket
import time
from collections.abc import Mapping
from dataclasses import field
from http import HTTPStatus
from typing import NamedTuple

import orjson

from optimize_eval.base.frozen import frozen

_CHUNK = 64 * 1024
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_LONGEST_HEAD_END = 4
_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) HTTP/1\.([01])")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]++):([^\x00-\x08\x0a-\x1f\x7f]*+)")
_ABSOLUTE = re.compile(r"https?://[^/?]*", re.IGNORECASE)
_LENGTH = re.compile(r"[0-9]{1,18}")
_ONE_VALUE = frozenset({"content-length", "host"})

AGAIN_IN = ("Retry-After", "1")


@frozen
class HttpRequest:
    """One request that came whole."""

    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    is_last: bool  # on its connection, by the client's wish
    query: str = ""


@frozen
class HttpReply:
    """What goes back."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


def error_reply(status: int, error: str, *headers: tuple[str, str], **more: str) -> HttpReply:
    """Say in JSON what is wrong; `error` is a text, as clients of ours look for it."""
    body = orjson.dumps({"error": error, **more}, option=orjson.OPT_APPEND_NEWLINE)
    return HttpReply(status=status, body=body, headers=headers)


class BadRequest(Exception):
    """A request that cannot be taken; nothing more can be read from its connection."""

    def __init__(self, status: int, error: str, *headers: tuple[str, str]) -> None:
        super().__init__(error)
        self.reply = error_reply(status, error, *headers)


_MOST_CONNECTIONS = 512


def _most_connections() -> int:
    """Leave half of this process's descriptors to the programs that are called."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_CONNECTIONS if soft < 0 else max(1, min(_MOST_CONNECTIONS, soft // 2))


@frozen
class Limits:
    """What one connection may cost, in bytes and seconds."""

    connections: int = field(default_factory=_most_connections)
    head: int = 32 * 1024
    body: int = 16 * 1024 * 1024
    idle: float = 60.0  # until the next request begins
    half_open: float = 5.0  # until the first one begins, for a head, and without a byte of a body
    patience: float = 1.0  # idle or half-open for so long, it gives way where all places are taken
    request: float = 30.0  # for all of a request, however slowly it comes
    reply: float = 30.0  # for all of a reply to be taken
    linger: float = 1.0  # for what a refused client still sends, so that it reads why


class Pause(NamedTuple):
    """Since when a client lets us wait, and whether in the middle of a request; the least gives way first."""

    has_begun: bool
    since: float


class Channel:
    """One connection, used by one thread; `hang_up` may come from another."""

    def __init__(self, connection: socket.socket, limits: Limits) -> None:
        self._connection = connection
        self._limits = limits
        self._buffer = bytearray()
        self._is_first = True
        self._is_sent_away = False
        self.pause: Pause | None = None  # None: a request is being answered

    def next(self) -> HttpRequest | None:
        """Read the next request; None when the client has gone, or has been idle for too long."""
        try:
            return self._read_request() if self._await_request() else None
        finally:
            self.pause, self._is_first = None, False

    def send(self, reply: HttpReply, *, is_last: bool, without_body: bool = False) -> None:
        """Write a reply; raises OSError where it is not taken in time."""
        head = [
            f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}",
            f"Content-Type: {reply.content_type}",
            f"Content-Length: {len(reply.body)}",
            *(f"{name}: {value}" for name, value in reply.headers),
            *(["Connection: close"] if is_last else []),
        ]
        self._connection.settimeout(self._limits.reply)  # for all of it, not for each piece
        body = b"" if without_body else reply.body
        self._connection.sendall("\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body)

    def linger(self) -> None:
        """Read on for a moment: closing with bytes unread would take the reply from the client again."""
        deadline = time.monotonic() + self._limits.linger
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)
            while self._receive(deadline):
                pass

    def hang_up(self) -> None:
        """Take no further request; one that is here already is still read."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RD)

    def send_away(self) -> None:
        """Give its place to another: an idle client is ended, one within a request gets an error."""
        self._is_sent_away, self.pause = True, None
        self.hang_up()

    def _await_request(self) -> bool:
        """Wait for the first byte; blank lines before a request are skipped, as the standard wants it."""
        started = time.monotonic()
        self.pause = Pause(has_begun=False, since=started)
        deadline = started + (self._limits.half_open if self._is_first else self._limits.idle)
        try:
            while not self._has_begun():
                data = self._receive(deadline)
                if not data:
                    return False
                self._buffer += data
        except TimeoutError:
            return False
        return True

    def _has_begun(self) -> bool:
        self._buffer = self._buffer.lstrip(b"\r\n")
        return bool(self._buffer)

    def _read_request(self) -> HttpRequest:
        started = time.monotonic()
        self.pause = Pause(has_begun=True, since=started)
        try:
            head = self._read_head(started + min(self._limits.half_open, self._limits.request))
            return self._read_rest(head, started + self._limits.request)
        except TimeoutError:
            waited = time.monotonic() - started
            raise BadRequest(408, f"the request did not arrive whole within {waited:.0f} s") from None

    def _read_rest(self, head: bytes, deadline: float) -> HttpRequest:
        method, target, version, headers = _parse_head(head)
        size = self._body_size(headers)
        if size > len(self._buffer) and headers.get("expect", "").lower() == "100-continue":
            self._connection.settimeout(self._limits.reply)
            self._connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        wishes = headers.get("connection", "").lower()
        path, _, query = _ABSOLUTE.sub("", target).partition("?")
        return HttpRequest(
            method=method,
            path=path or "/",
            query=query,
            headers=headers,
            body=self._read_body(size, deadline),
            is_last=version == 0 or "close" in wishes,
        )

    def _read_head(self, deadline: float) -> bytes:
        searched = 0
        while not (end := _HEAD_END.search(self._buffer, searched)):
            self._check_head(len(self._buffer))
            searched = max(0, len(self._buffer) - _LONGEST_HEAD_END)
            self._fill(deadline)
        self._check_head(end.start())
        head = bytes(self._buffer[: end.start()])
        del self._buffer[: end.end()]
        return head

    def _check_head(self, size: int) -> None:
        if size > self._limits.head:
            raise BadRequest(431, f"the head of the request is larger than {self._limits.head:,} bytes")

    def _body_size(self, headers: Mapping[str, str]) -> int:
        if "transfer-encoding" in headers:
            raise BadRequest(411, "send the body in one piece, with a Content-Length")
        length = headers.get("content-length", "0")
        if not _LENGTH.fullmatch(length):
            raise BadRequest(400, "the Content-Length is not a number")
        if int(length) > self._limits.body:
            raise BadRequest(413, f"the body is larger than {self._limits.body:,} bytes")
        return int(length)

    def _read_body(self, size: int, deadline: float) -> bytes:
        while len(self._buffer) < size:
            self._fill(deadline)
        body = bytes(self._buffer[:size])
        del self._buffer[:size]
        return body

    def _fill(self, deadline: float) -> None:
        data = self._receive(min(deadline, time.monotonic() + self._limits.half_open))
        if not data and self._is_sent_away:
            raise BadRequest(503, "too many clients, and this request was slow", AGAIN_IN)
        if not data:
            raise BadRequest(400, "the request broke off")
        self._buffer += data

    def _receive(self, deadline: float) -> bytes:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv(_CHUNK)


def _parse_head(head: bytes) -> tuple[str, str, int, dict[str, str]]:
    """Read a head: method, target, minor version, headers."""
    first, *rest = (line.removesuffix(b"\r") for line in head.split(b"\n"))
    request = _REQUEST_LINE.fullmatch(first)
    if not request:
        raise BadRequest(400, "this is not an HTTP/1.1 request")
    headers: dict[str, str] = {}
    for line in rest:
        header = _HEADER.fullmatch(line)
        if not header:
            raise BadRequest(400, "a header of the request is malformed")
        name, value = header[1].decode().lower(), header[2].strip(b" \t").decode("latin-1")
        if name in _ONE_VALUE and headers.get(name, value) != value:
            raise BadRequest(400, f"the request has two different headers {header[1].decode()}")
        headers[name] = value
    return request[1].decode(), request[2].decode(), int(request[3]), headers
