"""Code that tasks bring along, as those who call it see it. It runs in processes of its own (see inside).

They are kept alive, and end with those that hold them. They have no secrets of our environment, no more
memory than inside says, and until the deadline of each call; else they run with the user's rights, or
enclosed, without these (see hosting): then code of one task is in no process with another's.
"""

import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from itertools import count
from typing import Any, Protocol

from optimize_eval.base import strict_json
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.programs import leftovers, process
from optimize_eval.programs.one_shot import DeadlinePassed
from optimize_eval.programs.worker import (
    CLOSED,
    PATIENCE,
    MakeLine,
    Pool,
    Worker,
    WorkerBroken,
    WorkerLike,
    WorkerReply,
)
from optimize_eval.tasks.definitions.failures import failure_of, reported
from optimize_eval.tasks.definitions.hosting import NONE, Starter

Ask = Callable[[Mapping[str, Any]], Mapping[str, Any]]  # what a snippet wants of a model → its reply

_MOST_SOLVING = 32  # processes that mostly wait for models


class Snippets(Protocol):
    """What runs code; for many threads."""

    def call(
        self,
        code: str,
        function: str,
        arguments: Mapping[str, Any],
        deadline: float,
        *,
        ask: Ask | None = None,
    ) -> Any:
        """Call a function that the code defines, plain or async, and give what it returns: a JSON value.

        Arguments are JSON values by name, in the order in which the function takes them; the last ones are
        left out where it takes fewer. Those of these names become what the API promises:

        sample, samples       as they are
        solver_output         of {"items": […], "completion": {…}}, an object with output and messages
        scores                of [{"values": {…}, "metadata": {…}}], objects with these two attributes
        trace, model          of the same as solver_output, a SolverTrace; of {}, what calls `ask`

        Raises EvaluationError: REPORTED with the words and the line of an exception, TIMEOUT, KILLED.
        """
        ...

    def close(self) -> None:
        """End its processes; it is not called again."""
        ...


class _Talk:
    """A call: its first line, and the replies that the code wants of a model meanwhile."""

    def __init__(self, code: str, question: Mapping[str, Any], ask: Ask | None) -> None:
        self.digest = str(question["digest"])
        self.failure: EvaluationError | None = None
        self._code = code
        self._question = question
        self._ask = ask

    def __call__(self, identity: str, *, is_known: bool = False) -> bytes:
        code = {} if is_known else {"code": self._code}
        return strict_json.dumps({**self._question, **code, "_id": identity}) + b"\n"

    def replied(self, wanted: object) -> Mapping[str, Any]:
        """Have a model called; that this failed is the call's failure, whatever the code makes of it."""
        if self._ask is None:
            return {"_error": "no model can be called from here"}
        if not isinstance(wanted, Mapping):
            return {"_error": "a model is sent messages, or items"}
        try:
            return {"_reply": self._ask(wanted)}
        except EvaluationError as error:
            self.failure = self.failure or error
            return {"_error": error.message}


class _Process:
    """One process, which keeps the code that it was sent."""

    reason = ""  # it breaks only while it owes an answer

    def __init__(self, worker: Worker, first: bytes) -> None:
        """Take a process, whose stdin begins with something else than calls."""
        self._worker = worker
        self._first = first
        self._known: set[str] = set()
        self.interrupt = worker.interrupt
        self.close_stdin = worker.close_stdin
        self.close = worker.close

    @property
    def is_dead(self) -> bool:
        return self._worker.is_dead

    def call(self, make_line: MakeLine, deadline: float) -> WorkerReply:
        assert isinstance(make_line, _Talk)  # noqa: S101  for the checker
        line = partial(self._line, partial(make_line, is_known=make_line.digest in self._known))
        reply = self._worker.call(line, deadline)
        while (wanted := reply.answer.get("_ask")) is not None:
            began = time.monotonic()
            said = self._replied(make_line, wanted)
            deadline += time.monotonic() - began  # a model's time is its own
            reply = self._worker.call(partial(_line_of, said), deadline)
        if "value" in reply.answer:
            self._known.add(make_line.digest)
        return reply

    def _line(self, make_line: MakeLine, identity: str) -> bytes:
        first, self._first = self._first, b""
        return first + make_line(identity)

    def _replied(self, talk: _Talk, wanted: object) -> Mapping[str, Any]:
        try:
            return talk.replied(wanted)
        except BaseException:  # nobody will answer the code any more
            self.close_stdin()
            self.close(time.monotonic())
            raise


class HostedSnippets:
    """Runs code in processes, of which there are more when several threads call."""

    def __init__(self, level: str = NONE) -> None:
        """Raise UsageError where processes cannot be closed in as the level says."""
        self._starter = Starter(level)
        self._tag = os.urandom(6).hex()
        self._starts = count(1)
        self._has_started = self._is_closed = False
        scoring = Pool(self._start, _no_note, size=os.cpu_count() or 1, window=1)
        solving = Pool(self._start, _no_note, size=_MOST_SOLVING, window=1, first=PATIENCE)  # a model is slow
        self._pools = (scoring, solving)
        ends = (self._pools, self._starter, os.getpid())
        self._ending = weakref.finalize(self, _close_all, *ends)  # at exit, too

    def call(
        self,
        code: str,
        function: str,
        arguments: Mapping[str, Any],
        deadline: float,
        *,
        ask: Ask | None = None,
    ) -> Any:
        digest = sha256(code.encode(errors="replace")).hexdigest()
        talk = _Talk(code, {"digest": digest, "function": function, "arguments": arguments}, ask)
        seconds = deadline - time.monotonic()
        try:
            answer, printed = self._pools[ask is not None].call(talk, seconds)
        except (DeadlinePassed, WorkerBroken, process.NotStarted) as error:
            if self._is_closed:
                raise EvaluationError(FailureKind.INTERNAL, CLOSED) from None
            enclosed = self._starter.is_enclosed
            raise talk.failure or failure_of(function, seconds, error, is_enclosed=enclosed) from None
        if talk.failure:
            raise talk.failure
        if "value" not in answer:
            fault = str(answer.get("fault"))
            raise reported(function, fault, printed, is_enclosed=self._starter.is_enclosed)
        return answer["value"]

    def close(self) -> None:
        self._is_closed = True
        self._ending()
        if self._has_started:
            leftovers.sweep(self._tag)

    def _start(self) -> WorkerLike:
        self._has_started = True
        child, first = self._starter.start(f"{self._tag}.{next(self._starts)}")
        return _Process(Worker(child), first)


def open_snippets(level: str = "", place: str = "") -> HostedSnippets:
    """Take part in the processes that code runs in; close each opening.

    Without a sandbox that is all code of this process; else all that has the same place, such as a task.
    """
    is_enclosed = level not in {"", NONE}
    key = (level, place) if is_enclosed else (NONE, "")
    with _OPENING:
        snippets, users = _OPEN[key] if key in _OPEN else (HostedSnippets(key[0]), 0)
        _OPEN[key] = snippets, users + 1
        return snippets


def close_snippets(snippets: HostedSnippets) -> None:
    """Give an opening back; the last one ends the processes."""
    with _OPENING:
        key = next(key for key, (other, _) in _OPEN.items() if other is snippets)
        users = _OPEN.pop(key)[1]
        if users > 1:
            _OPEN[key] = snippets, users - 1
            return
    snippets.close()


def _line_of(said: Mapping[str, Any], identity: str) -> bytes:
    return strict_json.dumps({**said, "_id": identity}) + b"\n"


def _no_note(_broken: WorkerBroken) -> None:
    pass


def _close_all(pools: tuple[Pool, ...], starter: Starter, pid: int) -> None:
    if pid == os.getpid():
        for pool in pools:
            pool.close()
        starter.close()


_OPENING = threading.Lock()
_OPEN: dict[tuple[str, str], tuple[HostedSnippets, int]] = {}  # by level and place; with users
