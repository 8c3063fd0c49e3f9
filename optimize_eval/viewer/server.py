"""HTTP on 127.0.0.1: who has the token may read, and nobody may do anything else.

The page's first request brings the token in its address and gets a cookie that is good for the page alone.
All data needs the token in a header, which no other site can send. A Host that is not this server's is
refused, so that no name that somebody points to this machine leads here.
"""

import re
import secrets
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from optimize_eval.errors import OptimizeEvalError
from optimize_eval.reading import strict_json
from optimize_eval.reports.page import document
from optimize_eval.reports.page.live import Snapshot
from optimize_eval.viewer.shelf import Shelf

HOST = "127.0.0.1"
HEADER = "X-Token"

_RUN = re.compile(r"/run/(\d{1,6})/(head|columns|examples|block/(\d{1,4})/(\d{1,7}))")
_HTML, _JSON, _BYTES = "text/html; charset=utf-8", "application/json", "application/octet-stream"
_UNKNOWN = "the token is missing or wrong: open the address that `optimize-eval view` printed"
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class PageReply(NamedTuple):
    """What is sent back."""

    status: HTTPStatus
    body: bytes
    kind: str = "text/plain; charset=utf-8"
    tag: str | None = None


class PageServer(ThreadingHTTPServer):
    """The server of one shelf."""

    daemon_threads = True

    def __init__(self, shelf: Shelf, port: int = 0) -> None:
        super().__init__((HOST, port), _Handler)
        self.shelf = shelf
        self.token = secrets.token_urlsafe(24)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        return f"page-{self.server_port}"

    def is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self.token.encode())

    def handle_error(self, *_: Any) -> None:
        """Say nothing of a browser that went away."""


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version, sys_version = "optimize-eval", ""

    def do_GET(self) -> None:
        reply = self._reply()
        self.send_response(reply.status)
        for name, value in {**_HEADERS, **self._more(reply)}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: Any) -> None:
        """Keep the terminal for what matters."""

    def _more(self, reply: PageReply) -> dict[str, str]:
        more = {"Content-Type": reply.kind, "Content-Length": str(len(reply.body))}
        if reply.tag is not None:
            more["ETag"] = f'"{reply.tag}"'
        if reply.kind == _HTML:
            more["Content-Security-Policy"] = f"{document.policy(connect=True)}; frame-ancestors 'none'"
            cookie = f"{self.server.cookie}={self.server.token}"
            more["Set-Cookie"] = f"{cookie}; HttpOnly; SameSite=Strict; Path=/"
        return more

    def _reply(self) -> PageReply:
        host, port = self.headers.get("Host", ""), self.server.server_port
        if host not in {f"{HOST}:{port}", f"localhost:{port}"}:
            return _refused("this is not the host that is served")
        parts = urlsplit(self.path)
        if parts.path == "/":
            return self._page(parse_qs(parts.query).get("token", [""])[0])
        if not self.server.is_token(self.headers.get(HEADER, "")):
            return _refused(_UNKNOWN)
        try:
            return self._data(parts.path)
        except OptimizeEvalError as error:
            return PageReply(HTTPStatus.CONFLICT, error.message.encode(errors="replace"))
        except OSError as error:
            return PageReply(HTTPStatus.CONFLICT, str(error.strerror).encode())

    def _page(self, token: str) -> PageReply:
        cookies = (cookie.partition("=") for cookie in self.headers.get("Cookie", "").split("; "))
        tokens = [value for name, _, value in cookies if name == self.server.cookie]
        if not any(map(self.server.is_token, [token, *tokens])):
            return _refused(_UNKNOWN)
        return PageReply(HTTPStatus.OK, document.served("runs"), _HTML)

    def _data(self, path: str) -> PageReply:
        if path == "/runs":
            return PageReply(HTTPStatus.OK, strict_json.dumps(self.server.shelf.to_dict()), _JSON)
        match = _RUN.fullmatch(path)
        live = self.server.shelf.live(match[1]) if match else None
        if not match or not live:
            return PageReply(HTTPStatus.NOT_FOUND, b"there is nothing here")
        snapshot = live.now()
        if match[3] is not None:
            return _block(snapshot.block(int(match[3]), int(match[4])))
        return self._part(snapshot, _PARTS[match[2]])

    def _part(self, snapshot: Snapshot, of: Callable[[Snapshot], bytes]) -> PageReply:
        if self.headers.get("If-None-Match") == f'"{snapshot.tag}"':
            return PageReply(HTTPStatus.NOT_MODIFIED, b"", tag=snapshot.tag)
        return PageReply(HTTPStatus.OK, of(snapshot), _BYTES, snapshot.tag)


_PARTS: dict[str, Callable[[Snapshot], bytes]] = {
    "head": lambda snapshot: snapshot.head,
    "columns": lambda snapshot: snapshot.columns,
    "examples": lambda snapshot: snapshot.examples,
}


def _block(block: bytes | None) -> PageReply:
    if block is None:
        return PageReply(HTTPStatus.NOT_FOUND, b"there is no such example")
    return PageReply(HTTPStatus.OK, block, _JSON)


def _refused(reason: str) -> PageReply:
    return PageReply(HTTPStatus.FORBIDDEN, f"{reason}\n".encode())
