"""Servers on Unix sockets that misbehave at one step; the candidate of a payload names the trait.

`with listening("s.sock") as server` runs one in threads of the test.
"""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ANSWER = {"score": 0.5, "note": "fine"}


class LineServer:
    """Accepts until closed; remembers what it was sent."""

    def __init__(self, path: Path, *, at_once: int = 1) -> None:
        self.payloads: list[dict[str, Any]] = []
        self.connections = 0
        self.together = threading.Barrier(at_once)  # for the trait that waits for company
        self._closing = threading.Event()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(16)
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        self._closing.set()
        self.together.abort()
        for one in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def await_end(self) -> None:
        self._closing.wait()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._sockets.append(connection)
            self._threads.append(threading.Thread(target=self._serve, args=(connection,)))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, threading.BrokenBarrierError), connection:
            for line in connection.makefile("rb"):
                payload = json.loads(line)
                self.payloads.append(payload)
                if not TRAITS.get(payload["candidate"], answer)(self, connection, payload):
                    return


@contextlib.contextmanager
def listening(path: str | Path, *, at_once: int = 1) -> Iterator[LineServer]:
    server = LineServer(Path(path), at_once=at_once)
    try:
        yield server
    finally:
        server.close()


Trait = Callable[[LineServer, socket.socket, dict[str, Any]], bool]  # returns False to end the connection


def reply(connection: socket.socket, payload: dict[str, Any], **keys: Any) -> None:
    identity = {"_id": payload["_id"]} if "_id" in payload else {}
    connection.sendall(json.dumps({**ANSWER, **identity, **keys}).encode() + b"\n")


def answer(_server: LineServer, connection: socket.socket, payload: dict[str, Any]) -> bool:
    reply(connection, payload)
    return True


def _answers_and_ends(_server: LineServer, connection: socket.socket, payload: dict[str, Any]) -> bool:
    reply(connection, payload)
    return False


def _ends(_server: LineServer, _connection: socket.socket, _payload: dict[str, Any]) -> bool:
    return False


def _ends_within(_server: LineServer, connection: socket.socket, _payload: dict[str, Any]) -> bool:
    connection.sendall(b'{"score": 0.')
    return False


def _never(server: LineServer, _connection: socket.socket, _payload: dict[str, Any]) -> bool:
    server.await_end()
    return False


def _no_end_of_line(_server: LineServer, connection: socket.socket, _payload: dict[str, Any]) -> bool:
    while True:
        connection.sendall(b"x" * 1_000_000)


def _says(text: bytes) -> Trait:
    def trait(_server: LineServer, connection: socket.socket, _payload: dict[str, Any]) -> bool:
        connection.sendall(text + b"\n")
        return True

    return trait


def _out_of_range(_server: LineServer, connection: socket.socket, payload: dict[str, Any]) -> bool:
    reply(connection, payload, score=1.5)
    return True


def _twice(_server: LineServer, connection: socket.socket, payload: dict[str, Any]) -> bool:
    line = json.dumps({**ANSWER, "_id": payload["_id"]}).encode() + b"\n"
    connection.sendall(line * 2)
    return True


def _declares(_server: LineServer, connection: socket.socket, payload: dict[str, Any]) -> bool:
    reply(connection, payload, _capabilities={"concurrency": 3})
    return True


def _meets(server: LineServer, connection: socket.socket, payload: dict[str, Any]) -> bool:
    """Answer once as many calls are there as the server was made for."""
    server.together.wait()
    reply(connection, payload)
    return True


def _proposes(_server: LineServer, connection: socket.socket, payload: dict[str, Any]) -> bool:
    connection.sendall(json.dumps({"candidate": "briefer", "_id": payload["_id"]}).encode() + b"\n")
    return True


TRAITS: dict[str, Trait] = {
    "be brief": _proposes,
    "ends after each answer": _answers_and_ends,
    "ends": _ends,
    "ends within": _ends_within,
    "never": _never,
    "no end of line": _no_end_of_line,
    "no JSON": _says(b"loading the model..."),
    "not UTF-8": _says(b"\xff"),
    "no object": _says(b"[1]"),
    "no _id": _says(b'{"score": 0.5}'),
    "another _id": _says(b'{"score": 0.5, "_id": "77"}'),
    "out of range": _out_of_range,
    "twice": _twice,
    "declares": _declares,
    "meets": _meets,
}
