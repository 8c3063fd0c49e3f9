"""`optimize-eval serve` as a process for tests, and HTTP by hand: bytes in, bytes out."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson

from tests.paths import PROGRAM


class Said(NamedTuple):
    """A reply: its status, its decoded body, its headers in lower case."""

    status: int
    body: Any
    headers: dict[str, str]


@dataclass(slots=True)
class Served:
    """A server that runs; after the `with`, how it ended and what it logged."""

    process: "subprocess.Popen[str]"
    url: str
    log: str = ""
    is_stopping: bool = False

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        assert parts.hostname
        assert parts.port
        return parts.hostname, parts.port

    def post(self, payload: Any, **headers: str) -> Said:
        body = payload if isinstance(payload, bytes) else orjson.dumps(payload)
        return self.ask("POST", "/", body, headers)

    def ask(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Said:
        with contextlib.closing(http.client.HTTPConnection(*self.address, timeout=30)) as connection:
            connection.request(method, path, body, headers or {})
            return said(connection.getresponse())

    def ask_to_stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        self.is_stopping = True

    def await_refusal(self) -> None:
        """Return when nobody listens any more."""
        with contextlib.suppress(OSError):
            while True:
                socket.create_connection(self.address, timeout=30).close()


def said(response: http.client.HTTPResponse) -> Said:
    raw = response.read()
    headers = {name.lower(): value for name, value in response.getheaders()}
    with contextlib.suppress(orjson.JSONDecodeError):
        return Said(response.status, orjson.loads(raw), headers)
    return Said(response.status, raw, headers)


@contextlib.contextmanager
def serve(folder: Path, *arguments: str | Path, status: int = 0) -> Iterator[Served]:
    """Run the command; at the end ask it to stop and compare its exit status."""
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    with subprocess.Popen(
        [PROGRAM, "serve", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment,
    ) as process:
        assert process.stdout
        assert process.stderr
        try:
            served = Served(process, process.stdout.readline().strip())
            if not served.url:
                raise AssertionError(process.stderr.read())
            yield served
            if not served.is_stopping:  # a second signal would break off what the first lets end
                served.ask_to_stop()
            rest, served.log = process.communicate(timeout=30)
            assert (process.returncode, rest) == (status, ""), served.log
        finally:
            process.kill()
