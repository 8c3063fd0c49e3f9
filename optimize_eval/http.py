"""POST over pooled connections, with one total deadline and a cap on the body.

The only module that knows the HTTP client (pyreqwest). What a status or a body means is said by those
who call: reach/endpoint for evaluators, models for models.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urljoin, urlsplit

from pyreqwest.client import SyncClient, SyncClientBuilder
from pyreqwest.exceptions import NetworkError, PyreqwestError, RequestTimeoutError
from pyreqwest.response import SyncResponse

from optimize_eval.errors import EvaluationError, FailureKind, UsageError

_REPEAT_AT = frozenset({307, 308})  # redirects that keep method and body
_MOST_REDIRECTS = 5
_MOST_IDLE = 256
_LOOPBACK = frozenset({"localhost", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An HTTP answer that arrived whole."""

    status: int
    retry_after: str | None
    location: str | None
    body: bytes


class Connections:
    """A pool of kept-alive connections for one URL; safe to use from several threads."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._pooled = _build_client(url, idle=_MOST_IDLE)
        self._fresh = _build_client(url, idle=0)
        self._may_be_stale = False

    def post(self, body: bytes, headers: Mapping[str, str], deadline: float, cap: int) -> Response:
        """Send one request and read its answer, following same-origin 307 and 308; raises EvaluationError."""
        url = self._url
        response = self._post_once(url, body, headers, deadline, cap)
        for _ in range(_MOST_REDIRECTS):
            url = urljoin(url, response.location or "")
            if response.status not in _REPEAT_AT or _origin(url) != _origin(self._url):
                break
            response = self._post_once(url, body, headers, deadline, cap)
        return response

    def _post_once(
        self, url: str, body: bytes, headers: Mapping[str, str], deadline: float, cap: int
    ) -> Response:
        """Send over a kept connection; one that the server had closed meanwhile gets a fresh one instead."""
        try:
            response = _send(self._pooled, url, body, headers, deadline, cap)
        except PyreqwestError as error:
            if not (self._may_be_stale and _is_unanswered(error)):
                raise _explain(error, url) from error
        else:
            self._may_be_stale = True
            return response
        try:
            return _send(self._fresh, url, body, headers, deadline, cap)
        except PyreqwestError as error:
            raise _explain(error, url) from error

    def close(self) -> None:
        self._pooled.close()
        self._fresh.close()


def check_url(url: str) -> str:
    """Refuse a URL that no request could be sent to."""
    try:
        SyncClientBuilder().build().post(url)
    except ValueError as error:
        raise UsageError(f"{url!r} is no URL: {error}", hint="write it as http://HOST:PORT/PATH") from None
    return url


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, parts.port or default


def _build_client(url: str, *, idle: int) -> SyncClient:
    builder = SyncClientBuilder().follow_redirects(enable=False).referer(enable=False)
    builder = builder.pool_max_idle_per_host(idle)
    host = urlsplit(url).hostname or ""
    if host in _LOOPBACK or host.startswith("127."):
        builder = builder.no_proxy()  # a proxy from the environment cannot reach our own loopback
    return builder.build()


def _send(
    client: SyncClient, url: str, body: bytes, headers: Mapping[str, str], deadline: float, cap: int
) -> Response:
    left = deadline - time.monotonic()
    if left <= 0:
        raise EvaluationError(FailureKind.TIMEOUT, "no time was left to ask")
    request = client.post(url).headers(headers).body_bytes(body).timeout(timedelta(seconds=left))
    with request.build_streamed() as response:
        return Response(
            status=response.status,
            retry_after=response.get_header("retry-after"),
            location=response.get_header("location"),
            body=_read(response, cap),
        )


def _read(response: SyncResponse, cap: int) -> bytes:
    """Read the body after decompression; one beyond the cap is never held in memory."""
    body = bytearray()
    while (chunk := response.body_reader.read_chunk()) is not None:
        body += chunk
        if len(body) > cap:
            raise EvaluationError(
                FailureKind.OUTPUT_TOO_LARGE,
                f"more than {cap // 2**20} MiB in the answer",
                hint="answer with one JSON object; put bulky output elsewhere and name its place",
            )
    return bytes(body)


def _causes(error: PyreqwestError) -> list[str]:
    return [cause["message"] for cause in getattr(error, "details", {}).get("causes") or []]


def _is_unanswered(error: PyreqwestError) -> bool:
    """Tell whether a request went out, but its connection ended before any answer began."""
    return isinstance(error, NetworkError) and any("(SendRequest)" in cause for cause in _causes(error))


def _explain(error: PyreqwestError, url: str) -> EvaluationError:
    causes = _causes(error)
    reason = causes[-1] if causes else error.message
    if isinstance(error, RequestTimeoutError):
        return EvaluationError(FailureKind.TIMEOUT, "no whole answer before the deadline")
    if any("(Connect)" in cause for cause in causes):
        return EvaluationError(
            FailureKind.HTTP_CONNECT,
            f"no connection to {_shown(url)}: {reason}",
            hint="is the server running, and is the URL right?",
            retry_after=0.0,
        )
    return EvaluationError(
        FailureKind.HTTP_PROTOCOL,
        f"no complete HTTP answer from {_shown(url)}: {reason}",
        hint="look at the server's log: it broke off, or does not speak HTTP on this port",
    )


def _shown(url: str) -> str:
    """Leave out what may be secret: user, password and query."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"
