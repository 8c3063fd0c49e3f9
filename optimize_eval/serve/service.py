"""Requests → replies by calling one evaluator, so many calls at once; counts, and a log without contents."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec
from optimize_eval.base.manners import GivenUp
from optimize_eval.base.protocol import Payload, Skip
from optimize_eval.base.version import VERSION
from optimize_eval.run.attempt import call_with_retries
from optimize_eval.run.host import Stop
from optimize_eval.serve import replies
from optimize_eval.serve.hosts import Hosts, is_of_another_site
from optimize_eval.serve.payloads import BadPayload, parse_payload
from optimize_eval.serve.wire import HttpReply, HttpRequest

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
            reply = replies.broken()
        return reply

    def wake(self) -> None:
        """Let those that wait for their turn see that it stops."""
        with self._room:
            self._room.notify_all()

    def _route(self, request: HttpRequest) -> HttpReply:
        if refusal := self._refusal(request):
            return self._refused(refusal)
        if request.method in _LOOKING:
            return replies.health(self._facts())
        try:
            payload = parse_payload(request.body)
        except BadPayload as bad:
            return self._refused(replies.bad_payload(bad))
        if payload.task_model is None:
            payload = replace(payload, task_model=self._task_model)
        return self._in_turn(payload)

    def _refusal(self, request: HttpRequest) -> HttpReply | None:
        """Find what is wrong with a request before its body is read."""
        if not self._hosts.admit(host := request.headers.get("host", "")):
            return replies.another_host(host)
        if is_of_another_site(request.headers):
            return replies.from_a_page()
        if request.path != "/":
            return replies.no_such_path()
        if request.method in _LOOKING:
            return None
        if request.method != "POST":
            return replies.no_such_method()
        return replies.from_a_page() if "origin" in request.headers else None  # browsers send it

    def _in_turn(self, payload: Payload) -> HttpReply:
        """Call when it is this payload's turn; where too many wait, or it takes too long, call nothing."""
        with self._room:
            if self._is_full() and self._waiting >= _MOST_WAITING:
                return replies.overloaded(self._waiting)
            self._await_turn()
            if self._stop.is_requested:
                return replies.stopping()
            if self._is_full():
                return replies.busy(self._spec.timeout)
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
            answer = call_with_retries(
                self._evaluator.call,
                payload,
                started + self._spec.timeout,
                self._spec.retries or 0,
                self._stop.pause,
            )
        except GivenUp:
            return replies.stopping()
        except EvaluationError as error:
            return self._failed(error, time.monotonic() - started)
        self._count("skipped" if isinstance(answer, Skip) else "scored")
        self._tell_note()
        return replies.answered(answer, self._capacity())

    def _failed(self, error: EvaluationError, seconds: float) -> HttpReply:
        if self._stop.is_over:  # it failed because it was ended
            return replies.stopping()
        self._count("failed")
        self._log(f"failed after {seconds:.2f} s: {error.kind}")
        self._tell_note()
        return replies.failed(error, self._capacity())

    def _refused(self, reply: HttpReply) -> HttpReply:
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
