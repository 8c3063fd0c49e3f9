"""The server under serve and view: it listens, holds so many connections, and says whom they may be for.

Where all places are taken, the connection that has been idle the longest gives way, else the one that has
begun a request the longest ago and not ended it; while there is none, who comes waits in the system's queue,
which does not last: who answers does so at once where there is too much to do. What a request means is not
known here, and how it is framed is http's business.

A page whose name is pointed at this machine (DNS rebinding) shares its origin with the server, so a browser
lets it read and post here. The Host header gives it away: it still holds the page's name. An address cannot
be pointed anywhere, so addresses are safe where the server listens at them.
"""

import contextlib
import errno
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from optimize_eval.base.errors import UsageError
from optimize_eval.serve.http import (
    AGAIN_IN,
    BadRequest,
    Channel,
    HttpReply,
    HttpRequest,
    Limits,
    error_reply,
)

_QUEUE = 1024
_OUT_OF_RESOURCES = 0.1  # seconds to wait where the system has no descriptor or thread for us
_LOOK_EVERY = 0.05
_LAST_WORDS = 2.0  # seconds in which connections say that they end
_LISTEN_HINTS = {
    errno.EADDRINUSE: "another program listens there: choose another --port, or 0 for a free one",
    errno.EADDRNOTAVAIL: "this machine has no such address: omit --host, or give one of its own",
    errno.EACCES: "ports below 1024 need rights of their own: choose a higher --port, or 0 for a free one",
}


def listen(host: str, port: int) -> socket.socket:
    """Open the listening socket; what is in its way is a UsageError."""
    try:
        (family, _, _, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError):
        raise UsageError(f"unknown host {host!r}", hint="omit --host, or give an address") from None
    try:
        return socket.create_server(address[:2], family=family, backlog=_QUEUE)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while")[0].lower()
        hint = _LISTEN_HINTS.get(error.errno or 0, "look at --host and --port")
        raise UsageError(f"cannot listen at {host} port {port}: {reason}", hint=hint) from None


def url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def is_loopback(listener: socket.socket) -> bool:
    address = _address_of(listener.getsockname()[0])
    return address is not None and address.is_loopback


STOPPING = error_reply(503, "the server is being stopped", AGAIN_IN)


class Acceptor:
    """Accepts connections and hands each request on them to `answer`, until it is stopped."""

    def __init__(
        self,
        listener: socket.socket,
        answer: Callable[[HttpRequest], HttpReply],
        limits: Limits | None = None,
    ) -> None:
        self._listener = listener
        self._answer = answer
        self._limits = limits or Limits()
        self._changed = threading.Condition()  # guards what follows
        self._open: dict[socket.socket, tuple[Channel, threading.Thread]] = {}
        self._is_stopping = False
        self._wake, self._woken = socket.socketpair()
        self._acceptor = threading.Thread(target=self._accept_all, name="accept", daemon=True)
        self._acceptor.start()

    def stop(self) -> None:
        """Accept and read no more; requests that have come are still answered."""
        with self._changed:
            self._is_stopping = True
            channels = [channel for channel, _ in self._open.values()]
            self._changed.notify_all()
        self._wake.send(b".")
        self._acceptor.join()
        self._listener.close()
        for channel in channels:
            channel.hang_up()

    def await_end(self, is_over: Callable[[], bool]) -> bool:
        """Wait until every connection has ended, or it is over; tell whether they have."""
        with self._changed:
            while self._open and not is_over():
                self._changed.wait(_LOOK_EVERY)
            return not self._open

    def close(self) -> None:
        """End what is left, after a moment for last words."""
        if not self._is_stopping:
            self.stop()
        until = time.monotonic() + _LAST_WORDS
        self.await_end(lambda: time.monotonic() > until)
        with self._changed:
            left = list(self._open.items())
        for connection, _ in left:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for _, (_, thread) in left:
            thread.join(_LAST_WORDS)
        self._wake.close()
        self._woken.close()

    def _accept_all(self) -> None:
        poller = select.poll()
        for waiting in (self._listener, self._woken):
            poller.register(waiting, select.POLLIN)
        while True:
            poller.poll()
            if self._is_stopping:
                return
            if not self._has_room():
                continue
            try:
                connection, _ = self._listener.accept()
            except OSError as error:
                if error.errno in {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}:
                    self._rest()
            else:
                self._admit(connection)

    def _has_room(self) -> bool:
        """Return True if there is a place for who waits for one; else make one, and wait a moment."""
        with self._changed:
            if len(self._open) < self._limits.connections:
                return True
            self._send_one_away()
            self._changed.wait(_LOOK_EVERY)
            return False

    def _send_one_away(self) -> None:
        """Hang up on who has been idle the longest, else on who has begun a request and does not end it."""
        pauses = {pause: channel for channel, _ in self._open.values() if (pause := channel.pause)}
        least = min(pauses, default=None)
        is_over = least and time.monotonic() - least.since >= self._limits.patience
        if least and is_over:  # else its request is about to come
            pauses[least].send_away()

    def _rest(self) -> None:
        with self._changed:
            self._changed.wait(_OUT_OF_RESOURCES)

    def _admit(self, connection: socket.socket) -> None:
        channel = Channel(connection, self._limits)
        thread = threading.Thread(target=self._serve, args=(connection, channel), daemon=True)
        with self._changed:
            self._open[connection] = channel, thread
        try:
            thread.start()
        except RuntimeError:  # the system has no thread for us
            self._forget(connection)
            self._rest()

    def _serve(self, connection: socket.socket, channel: Channel) -> None:
        with contextlib.suppress(OSError), contextlib.ExitStack() as ending:
            ending.callback(self._forget, connection)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                while (request := channel.next()) is not None and self._reply(channel, request):
                    pass
            except BadRequest as refused:
                channel.send(STOPPING if self._is_stopping else refused.reply, is_last=True)
                channel.linger()

    def _reply(self, channel: Channel, request: HttpRequest) -> bool:
        """Answer a request and tell whether another may follow."""
        reply = self._answer(request)
        is_last = request.is_last or self._is_stopping
        channel.send(reply, is_last=is_last, without_body=request.method == "HEAD")
        return not is_last

    def _forget(self, connection: socket.socket) -> None:
        connection.close()
        with self._changed:
            self._open.pop(connection, None)
            self._changed.notify_all()


_HOST = re.compile(r"(?:\[([^\[\]]+)\]|([^\s:/\[\]]+))(?::[0-9]*)?")


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names and addresses that a server goes by."""

    bound: str  # the address that it listens at
    names: frozenset[str] = frozenset()

    def admit(self, header: str | None) -> bool:
        """Return True if a Host header names the server; browsers always send one, so none is safe."""
        if not header:
            return True
        name = _name_of(header)
        return name == "localhost" or name in self.names or self._is_at(name)

    def _is_at(self, name: str) -> bool:
        bound, address = _address_of(self.bound), _address_of(name)
        return address is not None and (
            address.is_loopback or address == bound or bool(bound and bound.is_unspecified)
        )


def hosts_of(bound: str, host: str, allowed: Iterable[str]) -> Hosts:
    """List what a server at an address goes by: the host as it was given, and what else is allowed."""
    names = {text: _name_of(text) for text in allowed}
    if wrong := next((text for text, name in names.items() if not name), None):
        raise UsageError(f"{wrong!r} is not a host", hint="--allow-host evaluator.internal")
    return Hosts(bound, frozenset({host.lower(), *names.values()}))


def is_of_another_site(headers: Mapping[str, str]) -> bool:
    """Return True if a browser says that a page of another site makes this request."""
    return headers.get("sec-fetch-site", "").lower() == "cross-site"


def _name_of(host: str) -> str:
    """Take the name out of a Host header, without its port; "" where there is none."""
    match = _HOST.fullmatch(host)
    return (match[1] or match[2]).lower().removesuffix(".") if match else ""


def _address_of(name: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(name.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
