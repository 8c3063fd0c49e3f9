"""The live evaluators of a session: connected, called, given a rest when they declare one, and closed.

They are made before there is a run: so a missing key, variable or file is reported then.

What is called, and what becomes of the answers, is up to the caller: the runner journals them, a recheck
compares them.
"""

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain, groupby
from operator import attrgetter
from types import TracebackType
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from optimize_eval.base.documents import JsonDict
from optimize_eval.base.evaluator import (
    CallsModels,
    Capacity,
    Evaluator,
    EvaluatorSpec,
    Opened,
    ScoresReplies,
)
from optimize_eval.base.outcome import Failed, Outcome
from optimize_eval.base.retries_and_caps import Caps, GivenUp
from optimize_eval.base.spent import Spent
from optimize_eval.evaluators.kinds import connect
from optimize_eval.run.attempt import attempt, attempt_many
from optimize_eval.run.engine import CrowdedOut, Lane, LocalEngine
from optimize_eval.run.host import Stop
from optimize_eval.run.plan import Unit

Record = TypeVar(
    "Record", bound=tuple[Any, ...]
)  # of a unit, its outcome, and what else is to be known of them

_BUSY = Capacity(calls=0)
_SPENDERS = ("evaluator", "candidate")  # axes by which what models took is added up


class BrokenOff(NamedTuple):
    """A unit that stays owed, what it took of models, and the key of the reply that was to be scored."""

    unit: Unit
    spent: Spent
    output: str

    @property
    def usages(self) -> list[JsonDict]:
        """Give its calls as notes of a journal have them."""
        return usages_of(self.unit, self.spent, self.output)


def usages_of(unit: Unit, spent: Spent, output: str) -> list[JsonDict]:
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


class Clock:
    """The time of day as text, in milliseconds; the second is written once for all that fall into it."""

    def __init__(self) -> None:
        self._second = (-1, "")

    def now(self) -> str:
        second, rest = divmod(time.time_ns(), 1_000_000_000)
        written, text = self._second
        if written != second:
            text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            self._second = second, text
        return f"{text}.{rest // 1_000_000:03d}+00:00"


class Work(NamedTuple, Generic[Record]):
    """What is to be made of units, wherever they are executed."""

    unit: Callable[[int], Unit]  # by its number
    record: Callable[[Unit, Outcome, str], Record]  # what became of it, and when its call began
    done: Callable[[Record], None]  # in the process that called `run`, by any thread of it
    stop: Callable[[], bool]
    leave: Callable[[Sequence[int]], None] = lambda _numbers: None  # units that were cut off, and stay owed


class Engine(Protocol):
    """Where units are executed: by slots of this process, or on nodes of a cluster."""

    @property
    def note(self) -> str:
        """What people should know of how it went."""
        ...

    def run(self, lanes: Sequence[Lane], work: Work[Record]) -> None:
        """Return when every unit of the lanes is done, or when those in flight are after a stop."""
        ...


class Slots:
    """The engine of this process: what calls units in the slots of a LocalEngine, which has these options."""

    def __init__(
        self,
        live: "LiveEvaluators",
        slots: int,
        tick: Callable[[], None],
        stays: Callable[[], bool] = lambda: False,
    ) -> None:
        self._live = live
        self._engine = LocalEngine(slots, tick, stays)
        self.wake = self._engine.wake
        self._clock = Clock()

    @property
    def note(self) -> str:
        return self._engine.note

    def run(self, lanes: Sequence[Lane], work: Work[Record]) -> None:
        self._engine.run(
            lanes,
            partial(self._attempt, work),
            work.done,
            work.stop,
            lambda record: crowded_out(record[0], record[1]),
        )

    def _attempt(self, work: Work[Record], numbers: Sequence[int]) -> list[Record]:
        """Call the evaluators of units about them; those that the end of the run cut off stay owed."""
        units = [work.unit(number) for number in numbers]
        started_at = self._clock.now()
        groups = [units] if len(units) == 1 else [list(group) for _, group in groupby(units, _evaluator_of)]
        pairs = [*chain.from_iterable(map(self._live.answers, groups))]  # a comprehension would be a frame
        records = [work.record(*pair, started_at) for pair in pairs]
        if len(records) < len(units):
            work.leave([*{*numbers}.difference(record[0].number for record in records)])
        return records


_evaluator_of = attrgetter("evaluator")


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

    def engine(self, slots: int, tick: Callable[[], None]) -> Engine:
        """Make what executes units by them."""
        return Slots(self, slots, tick)

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
