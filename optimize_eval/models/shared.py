"""A model whose replies several evaluators score: one live model, and one call for each reply.

A reply that is written down is read back. One that is being made is waited for; one that failed stays failed
until another session. A model may also be one that is not called, but only read. Several replies may be made
in one call of the model, where it takes batches: each of them is then as one that was made alone.

How long a reply may take is the model's business, the same whichever evaluator wants it first: its timeout
counts from its call. Who waits for a reply waits for as long as that.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import Capacity, Opened
from optimize_eval.base.retries_and_caps import Caps, GivenUp, until_answered, wait_after_batch
from optimize_eval.base.spent import NOTHING, Spent, Usage
from optimize_eval.models.model_kinds import ModelSpec, connect_model, identify_model
from optimize_eval.models.outputs import Outputs, key_of, outputs_at
from optimize_eval.models.under_test import ModelUnderTest, Output, Prompt
from optimize_eval.programs.exchange import call_singly
from optimize_eval.programs.identity import Identity

_PASSING = frozenset({FailureKind.INTERNAL})  # of a call that the end of a session broke off


class Paid(Protocol):
    """What says what it took."""

    @property
    def spent(self) -> Spent: ...


Landed = TypeVar("Landed", bound=Paid)


class Flight(Generic[Landed]):
    """A call that is made, and then what came of it."""

    __slots__ = ("error", "is_over", "landed")

    def __init__(self) -> None:
        self.is_over = threading.Lock()  # held until it is; an Event would take as long as all the rest
        self.is_over.acquire()
        self.landed: Landed | None = None
        self.error: BaseException | None = None

    def result(self) -> Landed:
        """Wait for the call of somebody else; what it spent is counted there."""
        with self.is_over:
            pass
        if self.landed is not None:
            return replace(self.landed, spent=NOTHING) if self.landed.spent is not NOTHING else self.landed  # type: ignore[type-var]  # a dataclass
        if not isinstance(self.error, EvaluationError):
            raise GivenUp
        error = copy(self.error)
        error.spent = NOTHING
        raise error

    def land(self, landed: Landed | BaseException) -> None:
        """Let those who wait go on, whatever came of it."""
        if isinstance(landed, BaseException):
            self.error = copy(landed)  # who raises it puts more to it
        else:
            self.landed = landed
        self.is_over.release()


def result_of(flight: Flight[Landed]) -> Landed | EvaluationError:
    try:
        return flight.result()
    except EvaluationError as error:
        return error


def stays(error: BaseException) -> bool:
    """Return True if a failure is the model's, not this machine's or the session's."""
    return isinstance(error, EvaluationError) and not error.no_room and error.kind not in _PASSING


_BUSY = Capacity(calls=0)


class SharedModel:
    """Calls the model behind it once for each prompt; neither that nor its outputs are its own to close."""

    queues = ()  # those of the model behind it are its own

    def __init__(
        self, spec: ModelSpec, identity: Identity, outputs: Outputs, live: ModelUnderTest | None
    ) -> None:
        self._spec = spec
        self._identity = identity
        self._live = live
        self._outputs = outputs
        self._caps: Caps | None = None  # of a session that calls it
        self._lock = threading.Lock()
        self._flights: dict[bytes, Flight[Output]] = {}  # those under way, and those that failed
        self._is_stopping = threading.Event()
        self._rests_until = 0.0  # its server wants to be left alone until then

    @property
    def note(self) -> str:
        return self._live.note if self._live else ""

    @property
    def capacity(self) -> Capacity:
        if self._live is None:
            return Capacity()
        return _BUSY if time.monotonic() < self._rests_until else self._live.capacity

    def key(self, prompt: Prompt) -> bytes:
        """Give what a reply is found by."""
        return key_of(self._identity.sha256, prompt)

    def has(self, key: bytes) -> bool:
        """Return True if a reply is written down."""
        return key in self._outputs

    def generate(self, prompt: Prompt, _deadline: float) -> Output:
        return self.reply(prompt, self.key(prompt))

    def reply(self, prompt: Prompt, key: bytes) -> Output:
        """Answer a prompt whose key is known already."""
        if known := self._outputs.find(key):
            return self._taken_over(key, known)
        if self._live is None:
            raise _not_stored(self._spec.name)
        with self._lock:
            flight = self._flights.get(key)
            if is_mine := flight is None:
                flight = self._flights[key] = Flight[Output]()
        return self._make(flight, key, prompt) if is_mine else flight.result()

    def generate_many(self, prompts: Sequence[Prompt], timeout: float) -> list[Output | EvaluationError]:
        """Answer several; what has to be made is made in one call of the model."""
        if self._live is None or len(prompts) == 1:
            return call_singly(prompts, timeout, self.generate)
        keys = [self.key(prompt) for prompt in prompts]
        known = [self._find_stored(key) for key in keys]
        missing = {
            key: prompt for key, prompt, output in zip(keys, prompts, known, strict=True) if not output
        }
        with self._lock:
            mine = {key: Flight[Output]() for key in missing if key not in self._flights}
            self._flights.update(mine)
            flights = {key: self._flights[key] for key in missing}
        made = self._made_together({key: (flight, missing[key]) for key, flight in mine.items()}, timeout)
        # who made a reply has it with what it took; all others, also those with an equal prompt, without
        return [
            output or made.pop(key, None) or result_of(flights[key])
            for key, output in zip(keys, known, strict=True)
        ]

    def _find_stored(self, key: bytes) -> Output | None:
        output = self._outputs.find(key)
        return output and self._taken_over(key, output)

    def owe(self, key: bytes) -> None:
        """Take back what a reply took, as no record will say it; who takes the reply over will."""
        self._outputs.owe(key)

    def stop_waiting(self) -> None:
        self._is_stopping.set()

    def meter(self, caps: Caps) -> None:
        self._caps = caps

    def close(self) -> None:
        self._is_stopping.set()

    def _taken_over(self, key: bytes, output: Output) -> Output:
        """Let a reply's first record say what it took, where a kill came before."""
        if not self._outputs.settle(key):
            return output
        usages = tuple(map(Usage.from_dict, (*output.in_vain, *output.usage)))
        if self._caps:
            for usage in usages:
                self._caps.take(usage, self._spec.name, is_reply=False)
        return replace(output, spent=Spent(usages=usages).of_reply)

    def _make(self, flight: Flight[Output], key: bytes, prompt: Prompt) -> Output:
        """Make the call that others wait for, and let them go on whatever comes of it."""
        try:
            # looked for once more: another may have been faster than this call was made
            output = self._outputs.find(key) or self._call(
                key, prompt, self._spec.how.timeout, self._spec.retries
            )
        except BaseException as error:
            self._land(key, flight, error)
            raise
        self._land(key, flight, output)
        return output

    def _made_together(
        self, mine: Mapping[bytes, tuple[Flight[Output], Prompt]], timeout: float
    ) -> dict[bytes, Output | EvaluationError]:
        """Make the calls that others wait for in one, then those again, one by one, that may be retried."""
        made: dict[bytes, Output | EvaluationError] = {}
        started = time.monotonic()
        try:
            replies = self._called_together(mine, timeout)
            seconds = (time.monotonic() - started) / max(1, len(mine))
            for key, reply in replies.items():
                flight, prompt = mine[key]
                made[key] = (
                    self._retry(key, prompt, reply, seconds) if isinstance(reply, EvaluationError) else reply
                )
                self._land(key, flight, made[key])
        finally:
            for key in mine.keys() - made.keys():  # the session ended
                self._land(key, mine[key][0], GivenUp())
        return made

    def _land(self, key: bytes, flight: Flight[Output], reply: Output | BaseException) -> None:
        """Let those who wait for a reply go on, whatever came of it."""
        if not (isinstance(reply, BaseException) and stays(reply)):
            del self._flights[key]
        flight.land(reply)

    def _called_together(
        self, mine: Mapping[bytes, tuple[Flight[Output], Prompt]], timeout: float
    ) -> dict[bytes, Output | EvaluationError]:
        known = {key: output for key in mine if (output := self._outputs.find(key))}  # by now
        prompts = {key: prompt for key, (_, prompt) in mine.items() if key not in known}
        live = self._live
        if live is None or not prompts:
            return {**known}
        started = time.monotonic()
        replies = live.generate_many([*prompts.values()], timeout)
        seconds = (time.monotonic() - started) / len(replies)
        made = {
            key: reply if isinstance(reply, EvaluationError) else self._keep(key, prompt, reply, seconds)
            for (key, prompt), reply in zip(prompts.items(), replies, strict=True)
        }
        return {**known, **made}

    def _retry(
        self, key: bytes, prompt: Prompt, error: EvaluationError, seconds: float
    ) -> Output | EvaluationError:
        """Call once more about what failed in a batch, as if it had been called alone."""
        timeout, retries = self._spec.how.timeout, self._spec.retries
        try:
            left = wait_after_batch(error, timeout, seconds, retries, self._pause)
            if left is None:
                return error
            return self._call(key, prompt, left, retries - 1, error.spent)
        except EvaluationError as again:
            again.spent = error.spent + again.spent
            return again
        except GivenUp as given_up:
            given_up.spent = error.spent + given_up.spent
            raise

    def _call(
        self, key: bytes, prompt: Prompt, timeout: float, retries: int, earlier: Spent = NOTHING
    ) -> Output:
        live = self._live
        if live is None:
            raise _not_stored(self._spec.name)
        started = time.monotonic()
        output, in_vain, _ = until_answered(
            partial(live.generate, prompt), started + timeout, retries, self._pause
        )
        seconds = time.monotonic() - started - in_vain.waited - output.spent.waited
        return self._keep(key, prompt, output, seconds, earlier + in_vain)

    def _keep(
        self, key: bytes, prompt: Prompt, output: Output, seconds: float, in_vain: Spent = NOTHING
    ) -> Output:
        """Write a reply down, with what its call took and what was spent in vain before."""
        kept = Output(  # no replace, which takes three times as long
            text=output.text,
            side=output.side,
            capabilities=output.capabilities,
            stderr=output.stderr,
            reasoning=output.reasoning,
            spent=(in_vain + output.spent).of_reply,
            seconds=round(seconds, 6),
            usage=[used.to_dict() for used in output.spent.usages],
            in_vain=[used.to_dict() for used in in_vain.usages],
            tool_calls=output.tool_calls,
            completion=output.completion,
        )
        self._outputs.keep(key, self._identity.text, prompt, kept)
        return kept

    def _pause(self, seconds: float) -> None:
        self._rests_until = max(self._rests_until, time.monotonic() + seconds)
        if self._is_stopping.wait(seconds):
            raise GivenUp


def shared_model(spec: ModelSpec, opened: Opened, *, is_stored: bool = False) -> SharedModel:
    """Make a model live, or take part in it where another evaluator has it live."""
    identity = spec.known_as or identify_model(spec)
    outputs = outputs_at(Path(spec.outputs), opened)

    def make() -> SharedModel:
        live = None if is_stored else opened.keep(partial(connect_model, spec))
        return SharedModel(spec, identity, outputs, live)

    return opened.share((SharedModel, outputs, identity.sha256, is_stored), make)


def _not_stored(name: str) -> EvaluationError:
    return EvaluationError(
        FailureKind.MODEL_ERROR,
        f"no reply of {name} is stored",
        hint="run the command that calls the models: it calls what is missing",
    )
