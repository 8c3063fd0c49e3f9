"""POST over pooled connections, with one total deadline and a cap on the body.

The only module that knows the HTTP client (pyreqwest). What a status or a body means is said by those
who call: served for evaluators and programs as models, models.live for providers.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from queue import SimpleQueue
from urllib.parse import urljoin, urlsplit

from pyreqwest.client import SyncClient, SyncClientBuilder
from pyreqwest.exceptions import BuilderError, NetworkError, PyreqwestError, RequestTimeoutError
from pyreqwest.http import Url
from pyreqwest.response import SyncResponse

from optimize_eval.base.errors import EvaluationError, FailureKind, UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.programs.exchange import is_loopback, show_url

SUCCESS = range(200, 300)

REPEAT_AT = frozenset({307, 308})  # redirects that keep method and body
_MOST_REDIRECTS = 5
_MOST_IDLE = 256
_LONGEST_WAIT = 10_000_000.0  # seconds
_RUNTIME_OF: list[int] = []  # the process that runs the client's threads; a fork has none of them


@frozen
class Response:
    """An HTTP answer that arrived whole."""

    status: int
    body: bytes  # of an unsuccessful status: as much as the cap lets in
    headers: Mapping[str, str] = field(default_factory=dict)  # of an unsuccessful status; in lower case

    @property
    def retry_after(self) -> str | None:
        return self.headers.get("retry-after")

    @property
    def location(self) -> str | None:
        return self.headers.get("location")


class Connections:
    """A pool of kept-alive connections for one URL; safe to use from several threads."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._parsed = Url(url)  # once for all requests
        self._headers = headers
        self._pooled: SyncClient | None = _build_client(url, headers, idle=_MOST_IDLE)
        self._fresh: SyncClient | None = (
            None  # made when it is needed, for each reads the system's certificates
        )
        self._making = threading.Lock()
        self._has_kept = False  # a connection after its reply: any later one may be that

    def post(self, body: bytes, deadline: float, cap: int) -> Response:
        """Send one request and read its answer, following same-origin 307 and 308; raises EvaluationError."""
        url = self._url
        response = self._post_once(url, body, deadline, cap)
        for _ in range(_MOST_REDIRECTS):
            target = _target(url, response)
            if target is None or not is_of_one_origin(target, self._url):
                break
            url, response = target, self._post_once(target, body, deadline, cap)
        return response

    def _post_once(self, url: str, body: bytes, deadline: float, cap: int) -> Response:
        """Send over a kept connection; one that the server had closed meanwhile gets a fresh one instead.

        The client does not say which connection it took. Where the server lets none stand, none is reused.
        """
        pooled = self._pooled
        if pooled is None:
            raise EvaluationError(FailureKind.INTERNAL, "the evaluator was closed")
        try:
            return _attend(partial(self._send, pooled, url, body, deadline, cap))
        except PyreqwestError as error:
            if not (self._has_kept and _is_unanswered(error)):
                raise _explain(error, url) from error
        try:
            return _attend(partial(self._send, self._make_unpooled(), url, body, deadline, cap))
        except PyreqwestError as error:
            raise _explain(error, url) from error

    def _send(self, client: SyncClient, url: str, body: bytes, deadline: float, cap: int) -> Response:
        left = deadline - time.monotonic()
        if left <= 0:
            raise EvaluationError(FailureKind.TIMEOUT, "no time was left for the call")
        target = self._parsed if url == self._url else url
        request = client.post(target).body_bytes(body).timeout(timedelta(seconds=left))
        with request.build_streamed() as response:
            read = _read(response, status := response.status, cap)
            self._has_kept = self._has_kept or (client is self._pooled and _keeps_connection(response))
            return Response(status=status, body=read, headers={} if status in SUCCESS else _headers(response))

    def close(self) -> None:
        with self._making:
            for client in (self._pooled, self._fresh):
                if client:
                    client.close()
            self._pooled = None  # idle connections end with the last reference to their pool only

    def _make_unpooled(self) -> SyncClient:
        with self._making:
            self._fresh = self._fresh or _build_client(self._url, self._headers, idle=0)
            return self._fresh


def seconds_to_wait(header: str | None) -> float:
    """Read a Retry-After header: seconds or a date; anything else means no particular wait."""
    if not header:
        return 0.0
    try:
        return max(0.0, min(float(header), _LONGEST_WAIT))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


def follow_redirect(url: str, location: str) -> str:
    """Give the URL that a redirect leads to; what cannot be read as one stays as it is."""
    with contextlib.suppress(ValueError):
        return urljoin(url, location)
    return location


def is_of_one_origin(url: str, other: str) -> bool:
    with contextlib.suppress(ValueError):  # a port that is not a number
        return _origin(url) == _origin(other)
    return False


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, parts.port or default


def _build_client(url: str, headers: Mapping[str, str], *, idle: int) -> SyncClient:
    if not _RUNTIME_OF:
        _RUNTIME_OF.append(os.getpid())
    builder = SyncClientBuilder().follow_redirects(enable=False).referer(enable=False)
    builder = builder.pool_max_idle_per_host(idle).default_headers(headers)
    if not is_loopback(url):
        return _build(builder)
    builder = builder.no_proxy()  # a proxy from the environment cannot reach our own loopback
    if url.startswith("http:"):  # none is looked at, and a bare machine has none to check it by
        builder = builder.danger_accept_invalid_certs(True)  # noqa: FBT003
    return _build(builder)


def _build(builder: SyncClientBuilder) -> SyncClient:
    try:
        return builder.build()
    except BuilderError as error:
        raise UsageError(
            f"there can be no HTTPS: {_causes(error)[-1]}",
            hint="apt-get install ca-certificates, or SSL_CERT_FILE=… names a file of certificates",
        ) from error


def _target(url: str, response: Response) -> str | None:
    """Find where a redirect that keeps the method leads; None where it is none, or leads nowhere."""
    if response.status in REPEAT_AT and response.location:
        with contextlib.suppress(ValueError):
            target = urljoin(url, response.location)
            Url(target)
            return target
    return None


def _attend(work: Callable[[], Response]) -> Response:
    """Do the work; in the main thread in a way that Ctrl-C can interrupt, as the client itself cannot."""
    if os.getpid() not in _RUNTIME_OF:
        raise EvaluationError(
            FailureKind.INTERNAL,
            "an HTTP client that was made before a fork does not work after it",
            hint="start other processes with the method spawn instead",
        )
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcomes: SimpleQueue[Response | Exception] = SimpleQueue()
    # A daemon: after Ctrl-C the request still waits for its server, and the interpreter's end
    # must not wait for it.
    threading.Thread(target=_put_outcome, args=(work, outcomes), daemon=True).start()
    outcome = outcomes.get()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _put_outcome(work: Callable[[], Response], outcomes: "SimpleQueue[Response | Exception]") -> None:
    try:
        outcomes.put(work())
    except Exception as error:  # noqa: BLE001  it is raised again where it is waited for
        outcomes.put(error)


def _header(response: SyncResponse, name: str) -> str | None:
    with contextlib.suppress(ValueError):  # bytes that are no text
        return response.get_header(name)
    return None


def _headers(response: SyncResponse) -> dict[str, str]:
    names = dict.fromkeys(response.headers)
    return {name.lower(): text for name in names if (text := _header(response, name)) is not None}


def _keeps_connection(response: SyncResponse) -> bool:
    closes = "close" in (_header(response, "connection") or "").lower()
    return not closes and response.version != "HTTP/1.0"


def _read(response: SyncResponse, status: int, cap: int) -> bytes:
    """Read the body after decompression; one beyond the cap is never held in memory.

    It is a failure with a status of success only: any other status says more than the size of its page.
    """
    body, reader = bytearray(), response.body_reader
    while (chunk := reader.read_chunk()) is not None:
        body += chunk
        if len(body) > cap:
            if status not in SUCCESS:
                return bytes(body[:cap])
            raise EvaluationError(
                FailureKind.OUTPUT_TOO_LARGE,
                f"more than {cap // 2**20} MiB in the answer",
                hint="answer with one JSON object; put bulky output elsewhere and name its place",
            )
    return bytes(body)


def _causes(error: PyreqwestError) -> list[str]:
    return [cause["message"] for cause in getattr(error, "details", {}).get("causes") or []]


def _is_unanswered(error: PyreqwestError) -> bool:
    """Return True if a request went out, but its connection ended before any answer began."""
    return isinstance(error, NetworkError) and any("(SendRequest)" in cause for cause in _causes(error))


def _explain(error: PyreqwestError, url: str) -> EvaluationError:
    causes = _causes(error)
    reason = causes[-1] if causes else error.message
    if isinstance(error, RequestTimeoutError):
        return EvaluationError(FailureKind.TIMEOUT, "no whole answer before the deadline")
    if any("(Connect)" in cause for cause in causes):
        return EvaluationError(
            FailureKind.HTTP_CONNECT,
            f"no connection to {show_url(url)}: {reason}",
            hint=_connection_hint(reason),
            retry_after=0.0,
        )
    return EvaluationError(
        FailureKind.HTTP_PROTOCOL,
        f"no complete HTTP answer from {show_url(url)}: {reason}",
        hint="look at the server's log: it broke off, or speaks https or something else on this port",
    )


def _connection_hint(reason: str) -> str:
    if "InvalidContentType" in reason:  # what came is no TLS
        return "this port speaks no https: write the URL with http://"
    if "certificate" in reason:
        return "this machine does not trust its certificate: is the URL right?"
    return "is the server running, and is the URL right?"
