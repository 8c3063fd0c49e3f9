"""The live evaluators of a session: connected, called, given a rest when they declare one, and closed.

They are made before there is a run: so a missing key, variable or file is reported then.

What is called, and what becomes of the answers, is up to the caller: the runner journals them, a recheck
compares them.
"""

import time
from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, Self

from optimize_eval.base.evaluator import (
    CallsModels,
    Capacity,
    Evaluator,
    EvaluatorSpec,
    ScoresReplies,
)
from optimize_eval.base.opened import Opened
from optimize_eval.base.outcome import Failed, Outcome
from optimize_eval.base.retries_and_caps import Caps, GivenUp
from optimize_eval.base.spent import Spent
from optimize_eval.evaluators.kinds import connect
from optimize_eval.run.attempt import attempt, attempt_many
from optimize_eval.run.engine import CrowdedOut
from optimize_eval.run.host import Stop
from optimize_eval.run.plan import Unit

_BUSY = Capacity(calls=0)
_SPENDERS = ("evaluator", "candidate")  # axes by which what models took is added up


class BrokenOff(NamedTuple):
    """A unit that stays owed, what it took of models, and the key of the reply that was to be scored."""

    unit: Unit
    spent: Spent
    output: str

    @property
    def usages(self) -> list[dict[str, Any]]:
        """Give its calls as notes of a journal have them."""
        return usages_of(self.unit, self.spent, self.output)


def usages_of(unit: Unit, spent: Spent, output: str) -> list[dict[str, Any]]:
    """List calls of models that no record tells of, each with the cell that it was for."""
    return [
        {
            **{axis: unit.coordinates[axis] for axis in _SPENDERS},
            **usage.to_dict(),
            **({"output": usage.output or output} if usage.is_of_reply else {}),
        }
        for usage in spent.usages
    ]


def crowded_out(unit: Unit, outcome: Outcome) -> CrowdedOut | None:
    """Find out whether a call failed only because this machine had no room for it."""
    reason = outcome.no_room if isinstance(outcome, Failed) else ""
    return CrowdedOut(unit.number, reason) if reason else None


class LiveEvaluators:
    """Evaluators by their places in a plan, live within a `with`; may be called from several threads."""

    def __init__(
        self,
        specs: Sequence[EvaluatorSpec],
        stop: Stop,
        caps: Caps | None = None,
    ) -> None:
        self.opened = Opened(caps)
        self.broken_off: list[BrokenOff] = []  # units that stay owed, and what they took of models
        self._specs = specs
        self._stop = stop
        self._evaluators: list[Evaluator] = []
        self._caller: CallsModels | None = None  # the first one that calls models
        self._resting = [0.0] * len(specs)  # until when an evaluator is to be left alone
        self._is_closing = False  # from here on failures are our own doing

    def __enter__(self) -> Self:
        try:
            for spec in self._specs:
                self._evaluators.append(connect(spec, self.opened))
            self._caller = next((live for live in self._evaluators if isinstance(live, CallsModels)), None)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(evaluator.note for evaluator in self._evaluators if evaluator.note))

    def answers(self, units: Sequence[Unit]) -> list[tuple[Unit, Outcome]]:
        """Call one evaluator about units; units that the end of the session cut off are omitted."""
        index = units[0].evaluator
        spec, payloads = self._specs[index], [unit.payload for unit in units]
        pause = partial(self._pause, index)
        evaluator, retries = self._evaluators[index], spec.retries or 0
        outcomes: Sequence[Outcome | GivenUp]
        if len(payloads) == 1:
            try:
                outcomes = [attempt(evaluator, payloads[0], spec.timeout, retries, pause)]
            except GivenUp as given_up:
                outcomes = [given_up]
        else:
            outcomes = attempt_many(evaluator, payloads, spec.timeout, retries, pause)
        pairs = [*zip(units, outcomes, strict=True)]
        self.broken_off += [
            BrokenOff(unit, outcome.spent, outcome.output)
            for unit, outcome in pairs
            if outcome.spent.usages and self._is_broken_off(outcome)
        ]
        return [
            (unit, outcome)
            for unit, outcome in pairs
            if not (isinstance(outcome, GivenUp) or self._is_broken_off(outcome))
        ]

    def has_reply(self, unit: Unit) -> bool:
        """Return True if a unit's reply is there already, and only its score is owed."""
        evaluator = self._evaluators[unit.evaluator]
        return isinstance(evaluator, ScoresReplies) and evaluator.has_reply(unit.payload)

    def capacity(self, place: int) -> Capacity:
        until = self._resting[place]
        return _BUSY if until and time.monotonic() < until else self._evaluators[place].capacity

    def capacity_of(self, task_model: str) -> Capacity:
        """Say what a model can take that all of the evaluators share."""
        caller = self._caller
        return caller.capacity_of(task_model) if caller else self._evaluators[0].capacity

    def rest(self, place: int, seconds: float) -> None:
        """Leave an evaluator alone for so long."""
        self._resting[place] = max(self._resting[place], time.monotonic() + seconds)

    def stop_waiting(self) -> None:
        """Let nothing wait for a server any more; calls in flight continue."""
        self.opened.stop_waiting()

    @property
    def waiting(self) -> str:
        """Say who waits for servers that have no room; mostly nobody does."""
        return self.opened.waiting

    def end_if_over(self) -> None:
        """After a stop let nothing wait for a server, and end what is in flight once it has no more time."""
        if self._stop.is_requested:
            self.stop_waiting()
        if self._stop.is_over:
            self.close()

    def _pause(self, place: int, seconds: float) -> None:
        self.rest(place, seconds)
        self._stop.pause(seconds)

    def _is_broken_off(self, outcome: Outcome | GivenUp) -> bool:
        """Return True if the end of the session is why there is no outcome."""
        return isinstance(outcome, GivenUp) or (isinstance(outcome, Failed) and self._is_cut_off())

    def _is_cut_off(self) -> bool:
        return self._is_closing or self._stop.is_over

    def close(self) -> None:
        from optimize_eval.programs.leftovers import at_once  # noqa: PLC0415  a dry run closes nothing

        self._is_closing = True
        with at_once():
            self.opened.close()
