"""A status without success, an error inside one: which failure it is, and what to do next; pure.

Texts are cut only after secrets were struck out of them, for half a key is one too.
"""

import re
from http import HTTPStatus
from typing import Any

import orjson

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.frozen import frozen
from optimize_eval.base.secrets import Secrets, redact
from optimize_eval.models.turns import NoRoom, wait_in
from optimize_eval.programs.http_client import Response, seconds_to_wait

_NO_TLS = re.compile(r"InvalidContentType|wrong version number|record layer failure", re.IGNORECASE)
_WANTS_TLS = re.compile(r"https? request.{0,30}https (port|server)|requires? (tls|https)", re.IGNORECASE)


def wrong_scheme(message: str, base: str) -> str:
    """Say which scheme the base should have, by the words of a failure; empty where these tell nothing."""
    if base.startswith("https:") and _NO_TLS.search(message):
        return f"that server speaks no TLS: write {base.replace('https:', 'http:', 1)}"
    if base.startswith("http:") and _WANTS_TLS.search(message):
        return f"that server speaks TLS: write {base.replace('http:', 'https:', 1)}"
    return ""


_REDIRECTS = range(300, 400)
_ERRORS = range(400, 600)
_NO_ACCESS = frozenset({401, 403})
_AGAIN = frozenset({408, 429, 500, 502, 503, 504, 529})
_NO_ROOM = frozenset({429, 503, 529})
_FAILURES_OF_SERVERS = range(500, 600)
_BAD_KEY = re.compile(r"api key|no connected db", re.IGNORECASE)  # gemini and litellm's proxy say it with 400
_NO_MODEL = re.compile(  # as others than OpenAI say it with 400
    r"(invalid|unknown|no such) model|model_not_found|model\b.{0,80} (does not exist|not found)",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(  # as providers and servers of one's own say it
    r"context[ _](length|window|size)|prompt is too long|input is too long|too many (input|prompt) tokens"
    r"|input token count .{0,40}exceeds|reduce the length of",
    re.IGNORECASE,
)
_SHORTEN = "shorten the prompt or what it holds, lower max_tokens, or take a model with a longer context"
_SHOWN = 300
_TUNABLE = ("temperature", "seed", "max_completion_tokens", "max_tokens")


@frozen
class Callee:
    """The model that was called and where, for the words of a failure."""

    name: str
    model: str
    base: str
    key_variable: str
    sent_key: bool
    fields: frozenset[str] = frozenset()  # of the request
    hidden: Secrets = ()


def failed(message: str, hint: str, retry_after: float | None = None) -> EvaluationError:
    return EvaluationError(FailureKind.MODEL_ERROR, message, hint=hint, retry_after=retry_after)


def cut(text: str, callee: Callee) -> str:
    """Make a foreign text fit for a message."""
    text = redact(text, callee.hidden).strip()
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def refused(response: Response, callee: Callee, left: float) -> EvaluationError:
    """Find the failure for a status; `left` seconds remain for a retry."""
    error = _error_of(response.body)
    text = cut(_message(error) or response.body.decode("utf-8", "replace"), callee) or "no body"
    detail = f"(HTTP {response.status}): {text}"
    match response.status:
        case status if status in _NO_ACCESS or (status == HTTPStatus.BAD_REQUEST and _BAD_KEY.search(text)):
            return _no_access(detail, callee)
        case status if (status == HTTPStatus.NOT_FOUND and response.location is None) or (
            status == HTTPStatus.BAD_REQUEST and _NO_MODEL.search(text)
        ):
            hint = f"check the model's name{_pull(callee)}, and the base URL, which usually ends in /v1"
            return failed(f"no model {callee.model!r} at {callee.base} {detail}", hint)
        case status if status == HTTPStatus.PAYMENT_REQUIRED or _code(error) == "insufficient_quota":
            what = "credit" if status == HTTPStatus.PAYMENT_REQUIRED else "quota"
            return failed(
                f"{callee.name} has no {what} left {detail}",
                "look at the plan and bill of the account",
            )
        case status if status in _AGAIN or status in _FAILURES_OF_SERVERS:
            return _again(response, detail, callee, left)
        case status if status in _REDIRECTS:
            place = cut(response.location or "nowhere", callee)
            return failed(
                f"{callee.base} redirects to {place} {detail}", "give the base URL that it leads to"
            )
    return _bad_request(detail, text, callee)


def error_inside(error: object, callee: Callee, left: float) -> EvaluationError:
    """Find the failure for an error that came with a status of success."""
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, int) and code in _ERRORS:
        body = orjson.dumps({"error": {"message": _message(error)}})
        return refused(Response(status=code, body=body), callee, left)
    text = cut(_message(error) or str(error), callee)
    return failed(f"{callee.name} answered with an error: {text}", "look at the server's log")


def _no_access(detail: str, callee: Callee) -> EvaluationError:
    if not callee.sent_key:
        return failed(f"{callee.base} wants a key, and none was sent {detail}", f"set {callee.key_variable}")
    return failed(
        f"{callee.base} does not accept the key in {callee.key_variable} {detail}",
        f"set {callee.key_variable} to a key that is valid there and may use {callee.model}",
    )


def _again(response: Response, detail: str, callee: Callee, left: float) -> EvaluationError:
    if response.status in _NO_ROOM:
        return _no_room(response, detail, callee)
    wait = seconds_to_wait(response.retry_after)
    late = f"; the server says to wait {wait:.0f} s, which is beyond the deadline" if wait >= left else ""
    hint = "lower --concurrency, allow more with --timeout or --retries, or try later"
    return failed(f"the server failed on {callee.name} {detail}{late}", hint, retry_after=wait)


def _no_room(response: Response, detail: str, callee: Callee) -> NoRoom:
    is_many = response.status == HTTPStatus.TOO_MANY_REQUESTS
    what = "too many requests for" if is_many else "the server has no room for"
    hint = "allow more with --patience, call less often with --rpm or --tpm, or try later"
    refusal = NoRoom(FailureKind.MODEL_ERROR, f"{what} {callee.name} {detail}", hint=hint)
    refusal.wait = wait_in(response.headers)
    return refusal


def _bad_request(detail: str, text: str, callee: Callee) -> EvaluationError:
    if hint := wrong_scheme(text, callee.base):
        return failed(f"{callee.base} does not take http {detail}", hint)
    if _TOO_LONG.search(text):
        return failed(f"the prompt is too long for {callee.name} {detail}", _SHORTEN)
    field = next(
        (name for name in _TUNABLE if name in callee.fields and re.search(rf"\b{name}\b", text)), None
    )
    if field:
        return failed(
            f"{callee.name} refuses {field} {detail}", f"leave {field} out, or give a value it takes"
        )
    return failed(
        f"{callee.name} refuses the request {detail}",
        "change what it names; the server's log may say more",
    )


def _pull(callee: Callee) -> str:
    return f" (ollama pull {callee.model})" if callee.name.startswith("ollama/") else ""


def _error_of(body: bytes) -> Any:
    """Find the error in a body of any of the shapes in use; None where it is not JSON."""
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if isinstance(answer, list) and answer:  # as gemini wraps them
        answer = answer[0]
    if not isinstance(answer, dict):
        return None
    return next((answer[key] for key in ("error", "message", "detail") if answer.get(key)), None)


def _message(error: object) -> str:
    if isinstance(error, dict):
        error = error.get("message") or error
    return error if isinstance(error, str) else "" if error is None else orjson.dumps(error).decode()


def _code(error: object) -> object:
    return error.get("code") or error.get("type") if isinstance(error, dict) else None
