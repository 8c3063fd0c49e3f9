"""A program behind HTTP: what it is sent as the body of a POST, its answer as the body of the reply.

An evaluator or a model under test, as the contract says. What a status and a body mean is said here;
connections and deadlines are http_client's business, retrying is run's.
"""

import threading
import time
from collections.abc import Sequence
from typing import Generic

from optimize_eval.base import secrets
from optimize_eval.base.checks import seconds_given
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import ANSWER_CAP, Capacity, EvaluatorSpec
from optimize_eval.base.protocol import NO_CAPABILITIES, Capabilities, decode_answer
from optimize_eval.base.secrets import redact, redact_values
from optimize_eval.programs.exchange import AnswerT, Contract, QuestionT, Unanswered, call_in_batches, url_of
from optimize_eval.programs.http_client import (
    REPEAT_AT,
    SUCCESS,
    Connections,
    Response,
    follow_redirect,
    is_of_one_origin,
    seconds_to_wait,
)

_SOURCE = "the response body"
_SHOWN_BODY = 500
_SHOWN_TAG = 20
_READ_BODY = 1 << 16  # of one that is shown
_AGAIN = frozenset({429, 502, 503, 504})


class Endpoint(Generic[QuestionT, AnswerT]):
    """Calls a URL."""

    note = ""

    def __init__(self, spec: EvaluatorSpec, contract: Contract[QuestionT, AnswerT]) -> None:
        self._spec = spec
        self._contract = contract
        url, own = url_of(spec), secrets.own(spec.headers, spec.name)
        sent = secrets.expand(own)
        self._secrets = secrets.secrets(own, url)
        self._connections = Connections(url, sent)
        self.capacity = Capacity()
        self._room = threading.Condition()
        self._in_flight = 0

    def call(self, payload: QuestionT, deadline: float) -> AnswerT:
        body = self._contract.encode(payload, None)
        answer = self._contract.judge(self._exchange(body, deadline - time.monotonic()))
        if answer.capabilities is not NO_CAPABILITIES:
            self._learn(answer.capabilities)
        return answer

    def call_many(self, payloads: Sequence[QuestionT], timeout: float) -> list[AnswerT | EvaluationError]:
        """Call in batches where the endpoint declared them, else one by one."""
        return call_in_batches(
            payloads,
            timeout,
            size=self.capacity.batch,
            contract=self._contract,
            one=self.call,
            many=self._call_batch,
        )

    def close(self) -> None:
        self._connections.close()

    def _call_batch(self, payloads: Sequence[QuestionT], seconds: float) -> JsonMapping:
        try:
            return self._exchange(self._contract.encode_batch(payloads, None), seconds)
        except EvaluationError as error:
            raise Unanswered from error

    def _exchange(self, body: bytes, seconds: float) -> JsonDict:
        """Call within so many seconds; waiting for room among the calls in flight does not count."""
        response = self._post_in_turn(body, seconds)
        if response.status not in SUCCESS:
            raise self._explain_refusal(response)
        answer = self._decode(response.body)
        if not self._secrets:
            return answer
        struck: JsonDict = redact_values(answer, self._secrets)
        return struck

    def _decode(self, body: bytes) -> JsonDict:
        try:
            return decode_answer(body, source=_SOURCE, like=self._contract.sample)
        except EvaluationError as error:
            if not body.strip():
                error.hint = f"answer the POST with one JSON object such as {self._contract.sample}"
            elif page := _page(body):
                error.message = f"{_SOURCE} is {page}, not an answer"
                error.hint = f"check the URL's path: it must answer a POST with {self._contract.sample}"
            error.message = redact(error.message, self._secrets)
            error.side_info = redact_values(dict(error.side_info), self._secrets)
            raise

    def _explain_refusal(self, response: Response) -> EvaluationError:
        words = _error_in(response.body) or response.body[:_READ_BODY].decode("utf-8", "replace").strip()
        words = redact(words[:_READ_BODY], self._secrets)[:_SHOWN_BODY]  # cut last: half a secret is one, too
        return EvaluationError(
            FailureKind.HTTP_STATUS,
            f"HTTP status {response.status}: {words or 'no body'}",
            hint=redact(_status_hint(response, url_of(self._spec)), self._secrets),
            retry_after=seconds_to_wait(response.retry_after) if response.status in _AGAIN else None,
        )

    def _post(self, body: bytes, seconds: float) -> Response:
        try:
            return self._connections.post(body, time.monotonic() + seconds, ANSWER_CAP)
        except EvaluationError as error:
            if error.kind is FailureKind.TIMEOUT:
                error.message = f"no answer within {seconds_given(seconds, self._spec.timeout)} s"
                error.hint = "allow more time with --timeout, or look at the server's log"
            raise

    def _learn(self, capabilities: Capabilities) -> None:
        """Take over what was declared; it lowers what the user allows of calls in flight."""
        with self._room:
            self.capacity = Capacity(calls=capabilities.concurrency, batch=capabilities.batch)
            self._room.notify_all()

    def _post_in_turn(self, body: bytes, seconds: float) -> Response:
        with self._room:
            while (limit := self.capacity.calls) is not None and self._in_flight >= limit:
                self._room.wait()
            self._in_flight += 1
        try:
            return self._post(body, seconds)
        finally:
            with self._room:
                self._in_flight -= 1
                self._room.notify()


def _error_in(said: bytes) -> str:
    """Find the error in a JSON body, if it has one."""
    try:
        error = decode_answer(said).get("error")
    except EvaluationError:
        return ""
    if isinstance(error, dict):
        error = error.get("message")
    return error if isinstance(error, str) else ""


def _page(body: bytes) -> str:
    """Say that a body is a web page, and its title; empty where it is none."""
    head = body[:_READ_BODY].decode("utf-8", "replace").lstrip("\ufeff \t\r\n")
    if (
        not head[:_SHOWN_TAG]
        .lower()
        .startswith(("<!doctype html", "<html", "<head", "<body", "<script", "<?xml"))
    ):
        return ""
    opening = head.lower().find("<title>")
    title, is_closed, _ = head[opening + len("<title>") :].partition("</") if opening >= 0 else ("", "", "")
    return (
        f"a web page, {' '.join(title.split())!r}"[:_SHOWN_BODY]
        if is_closed and title.strip()
        else "a web page"
    )


def _status_hint(response: Response, url: str) -> str:
    status = response.status
    if response.location:
        return _redirect_hint(status, url, response.location)
    if status in {401, 403}:
        return "give what it requires with --header 'Authorization: Bearer ${TOKEN}'"
    if status in {404, 405}:
        return "check the URL: the endpoint must take a POST"
    if status in _AGAIN:
        return "it is busy or down: lower --concurrency, or raise --retries"
    if b"HTTPS" in response.body[:_READ_BODY] and url.startswith("http:"):
        return "this port speaks https: write the URL with https://"
    return "only a 2xx status with an answer is scored: look at the server's log"


def _redirect_hint(status: int, url: str, location: str) -> str:
    target = follow_redirect(url, location)
    if target == url:
        return "it redirects to itself: nothing answers a POST there, so look at the server's set-up"
    if status in REPEAT_AT and is_of_one_origin(url, target):  # else it would have been followed
        return f"it redirects in a circle, by {location}: look at the server's set-up"
    return f"it redirects to {target}: use that URL if you trust it"
