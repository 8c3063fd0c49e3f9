"""Requests → replies by calling one evaluator: bodies read, outcomes written, counts, a log.

The example's bytes are cut out of the body, never decoded and encoded again.

An answer is a 200, and so is a wrong one, as it came: the client judges it by the same function. What
never became an answer is a 500. Nothing that an evaluator did is a 502, 503, 504 or 429, because those are
retried although nobody wants that; a 503 says that nothing was called.
"""

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import orjson

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonDict
from optimize_eval.base.errors import EvaluationError, FailureKind, UsageError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec
from optimize_eval.base.protocol import (
    PROTOCOL_VERSION,
    Answered,
    Payload,
    Skip,
    check_task_model,
    decode_answer,
)
from optimize_eval.base.retries_and_caps import GivenUp, until_answered
from optimize_eval.base.shipped import VERSION
from optimize_eval.run.host import Stop
from optimize_eval.serve.connections import STOPPING, Hosts, is_of_another_site
from optimize_eval.serve.http import AGAIN_IN, HttpReply, HttpRequest, error_reply

_BLANKS = re.compile(r"[ \t\r\n]*")
_LINE_ENDS = re.compile(r"[\r\n]")  # may only stand between tokens, where a blank does as well
_DECODER = json.JSONDecoder()


class BadPayload(ValueError):
    """Why a body is not a payload; the text says where."""


class _Member(NamedTuple):
    """The value of a key: decoded, as it is written, and the offset where it begins."""

    value: Any
    text: str
    offset: int


def parse_payload(body: bytes) -> Payload:
    r"""Read a payload or raise BadPayload.

    >>> parse_payload(b'{"candidate": "Hi", "example": {"n":  1e2}}').example
    b'{"n":  1e2}'
    """
    text = _decode(body)
    members = _members(text)
    _check_version(text, members)
    candidate = members.get("candidate")
    if candidate is None:
        raise BadPayload('the payload has no "candidate", the text to score')
    if not isinstance(candidate.value, str):
        raise _wrong(text, candidate, '"candidate" is not a text')
    return Payload(
        candidate=candidate.value,
        example=_example(text, members.get("example")),
        task_model=_task_model(text, members.get("task_model")),
    )


def _decode(body: bytes) -> str:
    if not body.strip():
        raise BadPayload("the body is empty: send the payload, one JSON object, in it")
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise BadPayload(
            f"the body is not UTF-8: byte 0x{body[error.start]:02X} at offset {error.start}"
        ) from None


def _members(text: str) -> dict[str, _Member]:
    try:
        value = strict_json.loads(text, unique_keys=True)
    except strict_json.JsonFault as fault:
        raise BadPayload(f"{_place(text, fault.offset)}: {fault.reason}") from None
    if not isinstance(value, dict):
        raise BadPayload("the body is JSON, but not an object")
    return dict(_walk(text))


def _walk(text: str) -> Iterator[tuple[str, _Member]]:
    """Find where the values of an object stand, whose text is known to be right."""
    at = _after_blanks(text, _after_blanks(text, 0) + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _after_blanks(text, _after_blanks(text, at) + 1)
        value, end = _DECODER.raw_decode(text, start)
        yield key, _Member(value, text[start:end], start)
        at = _after_blanks(text, end)
        if text[at] == ",":
            at = _after_blanks(text, at + 1)


def _after_blanks(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at


def _check_version(text: str, members: dict[str, _Member]) -> None:
    version = members.get("_protocol_version")
    if version and (isinstance(version.value, bool) or version.value != PROTOCOL_VERSION):
        raise _wrong(text, version, f'"_protocol_version" is not {PROTOCOL_VERSION}')
    if batch := members.get("examples"):
        raise _wrong(text, batch, '"examples" is a batch, which is not taken here: send one "example" each')


def _example(text: str, example: _Member | None) -> bytes | None:
    if example is None:
        return None
    if not isinstance(example.value, dict):
        raise _wrong(text, example, '"example" is not an object; leave it out where there is none')
    return _LINE_ENDS.sub(" ", example.text).encode()


def _task_model(text: str, named: _Member | None) -> str | None:
    if named is None:
        return None
    if not isinstance(named.value, str):
        raise _wrong(text, named, '"task_model" is not a text; leave it out where there is none')
    try:
        return check_task_model(named.value)
    except UsageError as error:
        raise _wrong(text, named, error.message) from None


def _wrong(text: str, member: _Member, reason: str) -> BadPayload:
    return BadPayload(f"{_place(text, member.offset)}: {reason}")


def _place(text: str, offset: int) -> str:
    return f"line {text.count(chr(10), 0, offset) + 1} column {offset - text.rfind(chr(10), 0, offset)}"


CARRIED = frozenset(
    {
        FailureKind.NO_OUTPUT,
        FailureKind.INVALID_UTF8,
        FailureKind.INVALID_JSON,
        FailureKind.NOT_AN_OBJECT,
        FailureKind.MISSING_SCORE,
        FailureKind.SCORE_TYPE,
        FailureKind.SCORE_NOT_FINITE,
        FailureKind.REPORTED,
    }
)
_OBJECTS = frozenset({FailureKind.MISSING_SCORE, FailureKind.SCORE_TYPE, FailureKind.REPORTED})
_SHOWN_HOST = 100


def reply_of_answer(answer: Answered, concurrency: int) -> HttpReply:
    """Send an answer; declare how many requests are of use at a time, not what the program declared."""
    verdict = {"skip": answer.why} if isinstance(answer, Skip) else {"score": answer.score}
    return _object({**verdict, **answer.side_info}, concurrency)


def reply_of_failure(error: EvaluationError, concurrency: int) -> HttpReply:
    """Send what was answered where that is the failure, else an error that names the kind."""
    if error.kind not in CARRIED or error.answered is None:
        return error_reply(500, f"{error.kind}: {error.message}", kind=str(error.kind), hint=error.hint)
    if error.kind in _OBJECTS:
        return _object(decode_answer(error.answered), concurrency)
    return HttpReply(status=200, body=error.answered, content_type="application/octet-stream")


def _object(answer: JsonDict, concurrency: int) -> HttpReply:
    body = answer | {"_capabilities": {"concurrency": concurrency}}
    return HttpReply(status=200, body=strict_json.dumps(body) + b"\n")


def bad_payload(bad: BadPayload) -> HttpReply:
    return error_reply(400, str(bad))


def from_a_page() -> HttpReply:
    return error_reply(
        403,
        "the request is from a web page (by Origin or Sec-Fetch-Site); pages may not run the evaluator",
    )


def another_host(host: str) -> HttpReply:
    name = host[:_SHOWN_HOST]
    return error_reply(
        403,
        f"the request is for the host {name!r}, which is not this server: a web page may be behind it",
        hint="if the host is this server, start it with --allow-host NAME",
    )


def no_such_path() -> HttpReply:
    return error_reply(404, "there is one path only: POST a payload to /, or GET / to see its state")


def no_such_method() -> HttpReply:
    return error_reply(405, "POST a payload to /, or GET / to see its state", ("Allow", "GET, HEAD, POST"))


def busy(seconds: float) -> HttpReply:
    return error_reply(503, f"nothing was free for {seconds:g} s; nothing was called", AGAIN_IN)


def too_many_waiting(waiting: int) -> HttpReply:
    return error_reply(503, f"{waiting} requests are waiting already; nothing was called", AGAIN_IN)


def internal_error() -> HttpReply:
    return error_reply(500, "internal: a bug in optimize-eval; its stderr names it", kind="internal")


def health(facts: dict[str, str | int]) -> HttpReply:
    return HttpReply(status=200, body=orjson.dumps(facts, option=orjson.OPT_APPEND_NEWLINE))


SCHEMA = "optimize-eval.serve.v1"

_NAME = "optimize-eval"
_LOOKING = frozenset({"GET", "HEAD"})
_MOST_WAITING = 256  # for their turn, beyond those in flight


class Service:
    """Safe to use from several threads; `say` writes one line to the log."""

    def __init__(
        self,
        evaluator: Evaluator,
        spec: EvaluatorSpec,
        *,
        concurrency: int,
        task_model: str | None,
        hosts: Hosts,
        stop: Stop,
        say: Callable[[str], None],
    ) -> None:
        self._evaluator = evaluator
        self._spec = spec
        self._concurrency = concurrency
        self._task_model = task_model
        self._hosts = hosts
        self._stop = stop
        self._say = say
        self._room = threading.Condition()  # guards what follows
        self._in_flight = 0
        self._waiting = 0
        self._counts: Counter[str] = Counter()
        self._has_told_note = False

    def answer(self, request: HttpRequest) -> HttpReply:
        """Answer one request, in any case."""
        try:
            reply = self._route(request)
        except Exception as error:  # noqa: BLE001  one request fails, the server stays
            self._log(f"a bug in optimize-eval: {type(error).__name__}")
            reply = internal_error()
        return reply

    def wake(self) -> None:
        """Let those that wait for their turn see that it stops."""
        with self._room:
            self._room.notify_all()

    def _route(self, request: HttpRequest) -> HttpReply:
        if refusal := self._refusal(request):
            return self._count_refusal(refusal)
        if request.method in _LOOKING:
            return health(self._facts())
        try:
            payload = parse_payload(request.body)
        except BadPayload as bad:
            return self._count_refusal(bad_payload(bad))
        if payload.task_model is None:
            payload = replace(payload, task_model=self._task_model)
        return self._in_turn(payload)

    def _refusal(self, request: HttpRequest) -> HttpReply | None:
        """Find what is wrong with a request before its body is read."""
        if not self._hosts.admit(host := request.headers.get("host", "")):
            return another_host(host)
        if is_of_another_site(request.headers):
            return from_a_page()
        if request.path != "/":
            return no_such_path()
        if request.method in _LOOKING:
            return None
        if request.method != "POST":
            return no_such_method()
        return from_a_page() if "origin" in request.headers else None  # browsers send it

    def _in_turn(self, payload: Payload) -> HttpReply:
        """Call when it is this payload's turn; where too many wait, or it takes too long, call nothing."""
        with self._room:
            if self._is_full() and self._waiting >= _MOST_WAITING:
                return too_many_waiting(self._waiting)
            self._await_turn()
            if self._stop.is_requested:
                return STOPPING
            if self._is_full():
                return busy(self._spec.timeout)
            self._in_flight += 1
        try:
            return self._call(payload)
        finally:
            with self._room:
                self._in_flight -= 1
                self._room.notify()

    def _is_full(self) -> bool:
        return self._in_flight >= self._concurrency

    def _await_turn(self) -> None:
        """Wait for room, for as long as a call may take."""
        self._waiting += 1
        self._room.wait_for(lambda: self._stop.is_requested or not self._is_full(), self._spec.timeout)
        self._waiting -= 1

    def _call(self, payload: Payload) -> HttpReply:
        started = time.monotonic()
        try:
            answer, *_ = until_answered(
                partial(self._evaluator.call, payload),
                started + self._spec.timeout,
                self._spec.retries or 0,
                self._stop.pause,
            )
        except GivenUp:
            return STOPPING
        except EvaluationError as error:
            return self._reply_to_failure(error, time.monotonic() - started)
        self._count("skipped" if isinstance(answer, Skip) else "scored")
        self._tell_note()
        return reply_of_answer(answer, self._capacity())

    def _reply_to_failure(self, error: EvaluationError, seconds: float) -> HttpReply:
        if self._stop.is_over:  # it failed because it was ended
            return STOPPING
        self._count("failed")
        self._log(f"failed after {seconds:.2f} s: {error.kind}")
        self._tell_note()
        return reply_of_failure(error, self._capacity())

    def _count_refusal(self, reply: HttpReply) -> HttpReply:
        self._count("refused")
        return reply

    def _capacity(self) -> int:
        return min(self._concurrency, self._evaluator.capacity.calls or self._concurrency)

    def _count(self, what: str) -> None:
        with self._room:
            self._counts[what] += 1

    def _tell_note(self) -> None:
        """Say once that kept-alive processes broke; the note itself may quote what one printed."""
        if self._evaluator.note and not self._has_told_note:
            self._has_told_note = True
            self._log("a kept-alive process broke; its open calls were made again, one process each")

    def _facts(self) -> dict[str, str | int]:
        with self._room:
            return {
                "schema": SCHEMA,
                "name": _NAME,
                "version": VERSION,
                "evaluator": self._spec.name,
                "concurrency": self._capacity(),
                "in_flight": self._in_flight,
                **{what: self._counts[what] for what in ("scored", "failed", "refused")},
                **({"skipped": self._counts["skipped"]} if self._counts["skipped"] else {}),
            }

    def _log(self, what: str) -> None:
        self._say(f"{time.strftime('%H:%M:%S')} {self._spec.name}: {what}")
