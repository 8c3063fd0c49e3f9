"""HTTP servers that misbehave at one step, over raw sockets; the path of the request names the trait.

`with served() as server` runs one in threads of the test.
"""

import contextlib
import gzip
import html
import json
import socket
import ssl
import threading
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from typing import BinaryIO
from urllib.parse import quote, quote_plus

ANSWER = b'{"score": 0.5, "note": "fine"}'


class Server:
    """Accepts until closed; remembers what it was asked."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.connections = 0
        self.requests_on: Counter[socket.socket] = Counter()
        self.turn = threading.Lock()  # for the trait that answers one at a time
        self._closing = threading.Event()
        self._asked = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def await_request(self, seconds: float) -> None:
        assert self._asked.wait(seconds), "nobody asked"

    def close(self) -> None:
        self._closing.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._sockets.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, accepted: socket.socket) -> None:
        with (
            contextlib.suppress(OSError),
            self._secured(accepted) as connection,
            connection.makefile("rb") as stream,
        ):
            while request := _read_request(stream):
                self.requests.append(request)
                self.requests_on[connection] += 1
                self._asked.set()
                trait = TRAITS.get(request[0].lstrip("/").split("?")[0], TRAITS["ok"])
                if not trait(self, connection, request[2]):
                    return

    def _secured(self, connection: socket.socket) -> socket.socket:
        return self._tls.wrap_socket(connection, server_side=True) if self._tls else connection

    def wait(self, seconds: float) -> bool:
        """Wait as a slow server would, but no longer than the test; true when it is over."""
        return self._closing.wait(seconds)


@contextlib.contextmanager
def served(tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    server = Server(tls)
    try:
        yield server
    finally:
        server.close()


def _read_request(stream: BinaryIO) -> tuple[str, dict[str, str], bytes] | None:
    line = stream.readline().decode("latin-1")
    if not line:
        return None
    if " HTTP/" not in line:  # a handshake of TLS, say
        return "/no-request", {}, b""
    headers = {}
    while header := stream.readline().decode().strip():
        name, _, value = header.partition(":")
        headers[name.lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", 0)))
    return line.split()[1], headers, body


def reply(
    connection: socket.socket, body: bytes, status: str = "200 OK", headers: tuple[str, ...] = ()
) -> bool:
    head = "\r\n".join((f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers))
    connection.sendall(head.encode("latin-1") + b"\r\n\r\n" + body)
    return True


def _drip(server: Server, connection: socket.socket, _body: bytes) -> bool:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    while not server.wait(0.1):
        connection.sendall(b" ")
    return False


def _old(_server: Server, connection: socket.socket, _body: bytes) -> bool:
    connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + ANSWER)
    return False


def _close_after(_server: Server, connection: socket.socket, _body: bytes) -> bool:
    reply(connection, ANSWER)
    return False


def _three_each(server: Server, connection: socket.socket, _body: bytes) -> bool:
    """Answer three requests on a connection, and end it at the fourth without having said so."""
    return server.requests_on[connection] <= 3 and reply(connection, ANSWER)


def _first_only(server: Server, connection: socket.socket, _body: bytes) -> bool:
    """Answer the first request of all, and end its connection as told; every other one is dropped."""
    return len(server.requests) == 1 and reply(connection, ANSWER, headers=("Connection: close",)) and False


def _close_mid_body(_server: Server, connection: socket.socket, _body: bytes) -> bool:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + ANSWER)
    return False


def _endless(server: Server, connection: socket.socket, _body: bytes) -> bool:
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while not server.wait(0):
        connection.sendall(b" " * 65536)
    return False


def _endless_error(server: Server, connection: socket.socket, _body: bytes) -> bool:
    connection.sendall(b"HTTP/1.1 502 Bad Gateway\r\n\r\n<html>the proxy has lost the model")
    while not server.wait(0):
        connection.sendall(b" " * 65536)
    return False


def _bomb(_server: Server, connection: socket.socket, _body: bytes) -> bool:
    return reply(connection, gzip.compress(b" " * 64_000_000, 1), headers=("Content-Encoding: gzip",))


def _silent(server: Server, _connection: socket.socket, _body: bytes) -> bool:
    server.wait(60)
    return False


def _silent_once(server: Server, connection: socket.socket, body: bytes) -> bool:
    return reply(connection, ANSWER) if len(server.requests) > 1 else _silent(server, connection, body)


def _one_at_a_time(server: Server, connection: socket.socket, _body: bytes) -> bool:
    """Declare it, and refuse a request that comes while another one is answered."""
    if not server.turn.acquire(blocking=False):
        return reply(connection, b"one at a time", "500 Internal Server Error")
    server.wait(0.01)
    server.turn.release()
    return reply(connection, b'{"score": 0.5, "_capabilities": {"concurrency": 1}}')


def _junk(_server: Server, connection: socket.socket, _body: bytes) -> bool:
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    return False


def _stops_for_a_while(server: Server, connection: socket.socket, _body: bytes) -> bool:
    server.wait(0.3)
    return reply(connection, ANSWER)


def _busy_twice(server: Server, connection: socket.socket, _body: bytes) -> bool:
    if len(server.requests) <= 2:
        return reply(connection, b"slow down", "429 Too Many Requests", ("Retry-After: 0",))
    return reply(connection, ANSWER)


def _echo_header(server: Server, connection: socket.socket, _body: bytes) -> bool:
    said = {"score": 0.5, "you_sent": server.requests[-1][1].get("authorization", "")}
    return reply(connection, json.dumps(said).encode())


def _echo_as_key(server: Server, connection: socket.socket, _body: bytes) -> bool:
    token = server.requests[-1][1].get("authorization", "")
    return reply(connection, json.dumps({"score": None, token: "known", "tokens": {token: 1}}).encode())


def _refuse_with_header(server: Server, connection: socket.socket, _body: bytes) -> bool:
    token = server.requests[-1][1].get("authorization", "")
    return reply(connection, f"bad token: {token}".encode(), "401 Unauthorized")


def _escaped_header(server: Server, connection: socket.socket, _body: bytes) -> bool:
    token = json.dumps(server.requests[-1][1].get("authorization", "")).replace("c", "\\u0063")
    return reply(connection, b'{"score": 0.25, "0.25": "score", "said": %s}' % token.encode())


ENCODINGS: dict[str, Callable[[str], str]] = {  # what servers make of a header that they send back
    "base64": lambda said: b64encode(said.encode()).decode(),
    "base64 of a pair": lambda said: b64encode(f"me:{said}".encode()).decode(),
    "base64 for URLs": lambda said: urlsafe_b64encode(f"k={said}~".encode()).decode(),
    "hex": lambda said: said.encode().hex(),
    "HEX": lambda said: said.encode().hex().upper(),
    "named entities": html.escape,
    "entities twice": lambda said: html.escape(html.escape(said)),
    "decimal entities": lambda said: "".join(f"&#{ord(char)};" for char in said),
    "hex entities": lambda said: "".join(f"&#x{ord(char):X};" for char in said),
    "URL": quote_plus,
    "URL twice": lambda said: quote(quote(said, safe=""), safe=""),
    "base64 in a URL": lambda said: quote(b64encode(f"{said}~~~~".encode()), safe=""),
    "JSON in JSON": lambda said: json.dumps(json.dumps(said)),
    "Python": lambda said: "".join(f"\\x{ord(char):02x}" for char in said),
}


def _encoded(server: Server) -> dict[str, str]:
    _, _, key = server.requests[-1][1].get("authorization", "").partition(" ")
    return {name: f"sent <{form(key)}> by you" for name, form in ENCODINGS.items()}


def _echo_encoded(server: Server, connection: socket.socket, body: bytes) -> bool:
    """Send the key back in all encodings, or, for the candidate `refuse`, one of them as an error."""
    said = _encoded(server)
    if b'"candidate":"refuse"' not in body:
        return reply(connection, json.dumps({"score": 0.5, "echo": [said]}).encode())
    number = json.loads(body)["example"]["n"]
    return reply(connection, list(said.values())[number].encode(), "401 Unauthorized")


def _basic(server: Server, connection: socket.socket, _body: bytes) -> bool:
    user, _, password = b64decode(server.requests[-1][1]["authorization"][6:]).decode().partition(":")
    said = {"score": 0.5, "said": f"hello {user}, your password is {password}"}
    return reply(connection, json.dumps(said).encode())


def _refuse_at_the_edge(server: Server, connection: socket.socket, _body: bytes) -> bool:
    """Send the key back where the shown part of a body ends."""
    token = server.requests[-1][1].get("authorization", "").partition(" ")[2]
    return reply(connection, (b"x" * 490 + b" " + token.encode()), "401 Unauthorized")


def _length(_server: Server, connection: socket.socket, body: bytes) -> bool:
    candidate = json.loads(body)["candidate"]
    return reply(connection, json.dumps({"score": 1, "characters": len(candidate)}).encode())


def _says(
    body: bytes, status: str = "200 OK", *headers: str
) -> Callable[[Server, socket.socket, bytes], bool]:
    return lambda _server, connection, _body: reply(connection, body, status, headers)


TRAITS: dict[str, Callable[[Server, socket.socket, bytes], bool]] = {
    "ok": _says(ANSWER),
    "created": _says(ANSWER, "201 Created"),
    "drip": _drip,
    "old": _old,
    "close-after": _close_after,
    "close-mid-body": _close_mid_body,
    "close-at-once": lambda _server, _connection, _body: False,
    "three-each": _three_each,
    "first-only": _first_only,
    "endless": _endless,
    "endless-error": _endless_error,
    "bomb": _bomb,
    "bad-gzip": _says(b"no gzip", "200 OK", "Content-Encoding: gzip"),
    "silent": _silent,
    "silent-once": _silent_once,
    "one-at-a-time": _one_at_a_time,
    "proposes": _says(b'{"candidate": "briefer"}'),
    "junk": _junk,
    "stops-for-a-while": _stops_for_a_while,
    "busy-twice": _busy_twice,
    "busy-for-long": _says(b"", "503 Service Unavailable", "Retry-After: 3600"),
    "echo-header": _echo_header,
    "echo-as-key": _echo_as_key,
    "refuse-with-header": _refuse_with_header,
    "echo-encoded": _echo_encoded,
    "basic": _basic,
    "refuse-at-the-edge": _refuse_at_the_edge,
    "length": _length,
    "500": _says(b'{"error": "the model is not loaded"}', "500 Internal Server Error"),
    "500-nested": _says(b'{"error": {"message": "no such model"}}', "500 Internal Server Error"),
    "404": _says(b"<html>nothing here</html>", "404 Not Found"),
    "400-score": _says(b'{"score": 1}', "400 Bad Request"),
    "302": _says(b"", "302 Found", "Location: /ok"),
    "307": _says(b"", "307 Temporary Redirect", "Location: /ok"),
    "307-away": _says(b"", "307 Temporary Redirect", "Location: http://127.0.0.1:1/ok"),
    "307-loop": _says(b"", "307 Temporary Redirect", "Location: /307-loop"),
    "307-nowhere": _says(b"", "307 Temporary Redirect"),
    "307-bad": _says(b"", "307 Temporary Redirect", "Location: http://["),
    "odd-headers": _says(ANSWER, "200 OK", "Location: http://[", "Retry-After: \xff"),
    "far-date": _says(b"", "429 Too Many Requests", "Retry-After: Mon, 99999999999999 Jan 2020 00:00:00 GMT"),
    "escaped-header": _escaped_header,
    "capable": _says(b'{"score": 0.5, "_capabilities": {"persistent": true}}'),
    "302-itself": _says(b"", "302 Found", "Location: /302-itself"),
    "307-circle": _says(b"", "307 Temporary Redirect", "Location: /307-around"),
    "307-around": _says(b"", "307 Temporary Redirect", "Location: /307-around"),
    "page": _says(b"\n<!DOCTYPE html>\n<head><title>Welcome &\n hello</title></head>"),
    "page-untitled": _says(b"<html>hello</html>"),
    "wants-https": _says(b"Client sent an HTTP request to an HTTPS server.\n", "400 Bad Request"),
    "not-json": _says(b"hello"),
    "no-request": lambda _server, connection, _body: not reply(connection, b"", "400 Bad Request"),
    "empty": _says(b"", "204 No Content"),
    "text-score": _says(b'{"score": "1"}'),
    "error": _says(b'{"error": "no key"}'),
}
