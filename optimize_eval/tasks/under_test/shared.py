"""A model whose replies several evaluators score: one live model, and one call for each reply.

A reply that is written down is read back. One that is being made is waited for; one that failed stays failed
until another session. A model may also be one that is not called, but only read.

How long a reply may take is the model's business, the same whichever evaluator wants it first: its timeout
counts from its call. Who waits for a reply waits for as long as that.
"""

import os
import threading
import time
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path

from optimize_eval.errors import EvaluationError, FailureKind
from optimize_eval.evaluator import Capacity, EvaluatorSpec, Waits
from optimize_eval.programs.batch import call_singly
from optimize_eval.programs.identity import Identity
from optimize_eval.retrying import GivenUp, until_answered
from optimize_eval.spent import NOTHING, Spent, Usage
from optimize_eval.tasks.identity import identify_model
from optimize_eval.tasks.target import tasks_of
from optimize_eval.tasks.under_test.model import Output, Prompt
from optimize_eval.tasks.under_test.outputs import Outputs, close_outputs, key_of, open_outputs
from optimize_eval.tasks.under_test.table import connect_model
from optimize_eval.tasks.under_test.unpaid import unpaid_in

_PASSING = frozenset({FailureKind.INTERNAL})  # of a call that the end of a session broke off

_Place = tuple[str, str, bool]
_OPEN: dict[
    _Place, tuple["SharedModel", int]
] = {}  # by outputs, identity and whether it is called; with users
_OPENING = threading.Lock()


class _Flight:
    """A call that is made, and then what came of it."""

    __slots__ = ("error", "is_over", "output")

    def __init__(self) -> None:
        self.is_over = threading.Event()
        self.output: Output | None = None
        self.error: BaseException | None = None

    def result(self) -> Output:
        """Wait for the call of somebody else; what it spent is counted there."""
        self.is_over.wait()
        if self.output is not None:
            return replace(self.output, spent=NOTHING)
        if not isinstance(self.error, EvaluationError):
            raise GivenUp
        error = copy(self.error)
        error.spent = NOTHING
        raise error


class SharedModel:
    """Calls the model behind it once for each prompt."""

    def __init__(self, spec: EvaluatorSpec, identity: Identity, *, is_stored: bool) -> None:
        self._spec = spec
        self._path = Path(tasks_of(spec).outputs)
        self._identity = identity
        self._live = None if is_stored else connect_model(tasks_of(spec).model, spec)
        self._outputs: Outputs | None = None  # opened late: a run may start over, or copy replies, before
        self._unpaid: set[str] = set()  # keys of replies of which no record says what they took
        self._lock = threading.Lock()
        self._flights: dict[bytes, _Flight] = {}  # those under way, and those that failed
        self._is_stopping = threading.Event()

    @property
    def note(self) -> str:
        return self._live.note if self._live else ""

    @property
    def capacity(self) -> Capacity:
        return Capacity(calls=self._live.capacity.calls) if self._live else Capacity()

    def key(self, prompt: Prompt) -> bytes:
        """Give what a reply is found by."""
        return key_of(self._identity.sha256, prompt)

    def generate(self, prompt: Prompt, _deadline: float) -> Output:
        key, outputs = self.key(prompt), self._outputs or self._opened()
        if known := outputs.find(key):
            return self._taken_over(key, known)
        if self._live is None:
            raise _not_stored(self._spec.name)
        with self._lock:
            flight = self._flights.get(key)
            if is_mine := flight is None:
                flight = self._flights[key] = _Flight()
        return self._made(flight, key, prompt) if is_mine else flight.result()

    def owe(self, key: bytes) -> None:
        """Take back what a reply took, as no record will say it; who takes the reply over will."""
        with self._lock:
            self._unpaid.add(key.hex())

    def generate_many(self, prompts: Sequence[Prompt], timeout: float) -> list[Output | EvaluationError]:
        return call_singly(prompts, timeout, self.generate)

    def stop_waiting(self) -> None:
        self._is_stopping.set()
        if isinstance(self._live, Waits):
            self._live.stop_waiting()

    def close(self) -> None:
        """Give this use of it back; the last one ends the model."""
        with _OPENING:
            place = next((at for at, (one, _) in _OPEN.items() if one is self), None)
            if place is None:
                return
            users = _OPEN[place][1]
            if users > 1:
                _OPEN[place] = self, users - 1
                return
            del _OPEN[place]
        self._is_stopping.set()
        if self._live:
            self._live.close()
        if self._outputs:
            close_outputs(self._outputs)

    def _opened(self) -> Outputs:
        with self._lock:
            if self._outputs is None:
                self._unpaid = unpaid_in(self._path)
                self._outputs = open_outputs(self._path)
            return self._outputs

    def _taken_over(self, key: bytes, output: Output) -> Output:
        """Let a reply's first record say what it took, where a kill came before."""
        with self._lock:
            if key.hex() not in self._unpaid:
                return output
            self._unpaid.remove(key.hex())
        usages = tuple(map(Usage.from_dict, output.usage))
        return replace(output, spent=Spent(usages=usages).of_reply)

    def _made(self, flight: _Flight, key: bytes, prompt: Prompt) -> Output:
        """Make the call that others wait for, and let them go on whatever comes of it."""
        try:
            output = flight.output = self._known(key) or self._called(key, prompt)
        except BaseException as error:
            flight.error = copy(error)  # who raises it puts more to it
            if not _stays(error):
                del self._flights[key]
            raise
        else:
            del self._flights[key]
            return output
        finally:
            flight.is_over.set()

    def _known(self, key: bytes) -> Output | None:
        """Look once more: another may have been faster than this call was made."""
        return self._outputs.find(key) if self._outputs else None

    def _called(self, key: bytes, prompt: Prompt) -> Output:
        live, outputs = self._live, self._outputs
        if live is None or outputs is None:
            raise _not_stored(self._spec.name)
        started = time.monotonic()
        output = until_answered(
            lambda until: live.generate(prompt, until),
            started + self._spec.timeout,
            self._spec.retries or 0,
            self._pause,
        )
        seconds = round(time.monotonic() - started - output.spent.waited, 6)
        usage = [used.to_dict() for used in output.spent.usages]
        output = replace(output, seconds=seconds, usage=usage, spent=output.spent.of_reply)
        outputs.keep(key, self._identity.text, prompt, output)
        return output

    def _pause(self, seconds: float) -> None:
        if self._is_stopping.wait(seconds):
            raise GivenUp


def shared_model(spec: EvaluatorSpec, *, is_stored: bool = False) -> SharedModel:
    """Make a model live, or take part in it where this process has it live; close each use of it."""
    task = tasks_of(spec)
    identity = task.known_as or identify_model(task.model, spec)
    place = os.path.realpath(task.outputs), identity.sha256, is_stored
    with _OPENING:
        model, users = _OPEN.get(place) or (SharedModel(spec, identity, is_stored=is_stored), 0)
        _OPEN[place] = model, users + 1
        return model


def _stays(error: BaseException) -> bool:
    """Return True if a failure is the model's, not this machine's or the session's."""
    return isinstance(error, EvaluationError) and not error.no_room and error.kind not in _PASSING


def _not_stored(name: str) -> EvaluationError:
    return EvaluationError(
        FailureKind.MODEL_ERROR,
        f"no reply of {name} is stored",
        hint="run the command that calls the models: it calls what is missing",
    )
