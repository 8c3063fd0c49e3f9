"""A proxy that connects nobody, and notes which hosts it was asked for."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Thread
from urllib.parse import urlsplit

_MOST = 4_096  # bytes of a request
_REFUSED = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_WAIT = 2.0  # seconds for a request


@dataclass(slots=True, kw_only=True)
class CountingProxy:
    """A proxy's port, and the hosts that it was asked for."""

    port: int
    hosts: list[str] = field(default_factory=list)


@contextmanager
def counting_proxy() -> Iterator[CountingProxy]:
    """Listen on this machine alone, until it is left."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        proxy = CountingProxy(port=server.getsockname()[1])
        serving = Thread(target=_serve, args=(server, proxy), name="counting proxy")
        serving.start()
        try:
            yield proxy
        finally:
            with suppress(OSError), socket.create_connection(("127.0.0.1", proxy.port), _WAIT) as last:
                last.sendall(b"END\n")
            serving.join()


def _serve(server: socket.socket, proxy: CountingProxy) -> None:
    while True:
        caller, _ = server.accept()
        with caller, suppress(OSError):
            caller.settimeout(_WAIT)
            line = caller.recv(_MOST).partition(b"\n")[0]
            if line == b"END":
                return
            if host := _host_in(line):
                proxy.hosts.append(host)
            caller.sendall(_REFUSED)


def _host_in(line: bytes) -> str:
    """Read the host of a request's first line: `CONNECT host:443 …`, `GET http://host/ …`."""
    method, _, rest = line.decode("ascii", "replace").partition(" ")
    target = rest.partition(" ")[0]
    with suppress(ValueError):
        return (urlsplit(f"//{target}" if method == "CONNECT" else target).hostname or "")[:100]
    return ""
