"""A run from its plan to its end: owed calls are made, every outcome is journaled, nothing twice.

A slot waits for the disk only where more records than `most` are unwritten: what a kill finds on its way is
called again, and that is to be no more than a few. What is done with a record beside is the runner's.

Knows no statistics: it says how the run ended, and the journal has the rest. Scheduling is the engine's, one
unit attempt's, disk journal's.
"""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import State
from optimize_eval.base.frozen import frozen
from optimize_eval.base.outcome import Failed, Outcome, Progress, Scored
from optimize_eval.base.retries_and_caps import Caps
from optimize_eval.run.engine import OnCluster
from optimize_eval.run.host import Stop
from optimize_eval.run.live import Clock, Work
from optimize_eval.run.plan import Plan, Unit
from optimize_eval.run.shares import (
    PartFailures,
    Prevalent,
    Share,
    changed_evaluators,
    changed_models,
    lane_of,
    place_of,
    shares_of,
)
from optimize_eval.run.whereabouts import Evaluators
from optimize_eval.store import journal
from optimize_eval.store.command_units import Stretches, View
from optimize_eval.store.ledger import SCORED, SKIPPED

_GATHERING = 0.001  # seconds for which records may wait for others
_LONGEST_MESSAGE = 2048


class Record(NamedTuple):
    """An outcome and its line of the journal."""

    unit: Unit
    outcome: Outcome
    line: bytes
    usages: Sequence[JsonMapping] = ()  # what its calls of models took, as the line has them


class Scribe:
    """Calls `write` with records in the order they came, never twice at a time; thread-safe."""

    def __init__(self, write: Callable[[Sequence[Record]], None], most: int) -> None:
        self._write = write
        self._most = most
        self._waiting: deque[Record] = deque()
        self._writing = threading.Lock()
        self._has_come = threading.Event()
        self._is_closed = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, name="scribe", daemon=True)
        self._thread.start()

    def put(self, record: Record) -> None:
        """Take a record over, and wait where too many are unwritten; raises what writing has met."""
        if self._error:
            raise self._error
        self._waiting.append(record)
        if not self._has_come.is_set():
            self._has_come.set()
        if len(self._waiting) > self._most:
            self.settle()

    def settle(self) -> None:
        """Return when all that was put is written; raises what writing has met."""
        with self._writing:
            if self._waiting and not self._error:
                self._write_all()
        if self._error:
            raise self._error

    def close(self) -> None:
        """Write what is left and end; what writing has met was raised before, or is by `settle`."""
        self._is_closed = True
        self._has_come.set()
        self._thread.join()
        with self._writing:
            if not self._error:
                self._write_all()

    def _serve(self) -> None:
        while not (self._is_closed or self._error):
            self._has_come.wait()
            time.sleep(_GATHERING)
            self._has_come.clear()
            with self._writing:
                if not self._error:
                    self._write_all()

    def _write_all(self) -> None:
        try:
            if records := [self._waiting[index] for index in range(len(self._waiting))]:  # it grows meanwhile
                self._write(records)
                for _ in records:  # only now: until they are written, they count as waiting
                    self._waiting.popleft()
        except BaseException as error:  # noqa: BLE001  raised where records come from
            self._error = error


def record_of(unit: Unit, outcome: Outcome, started_at: str) -> Record:
    fields: JsonDict = {"key": unit.key, **unit.coordinates, "outcome": outcome_name(outcome)}
    if isinstance(outcome, Scored):
        fields["score"] = None if outcome.is_unranked else outcome.score
        if outcome.is_unranked:
            fields["unranked"] = True
        fields["side_info"] = outcome.side_info
        fields |= {"replied": outcome.reply} if outcome.reply else {}
    else:
        if isinstance(outcome, Failed):
            fields["kind"] = str(outcome.kind)
            if outcome.stage:
                fields["stage"] = outcome.stage
        fields["message"] = outcome.message[:_LONGEST_MESSAGE].encode(errors="replace").decode()
        if outcome.side_info:
            fields["side_info"] = outcome.side_info
    if outcome.stderr:
        fields["stderr"] = outcome.stderr
    if outcome.output:
        fields["output"] = outcome.output
    if usages := [usage.to_dict() for usage in outcome.spent.usages]:
        fields["usage"] = usages
    fields["seconds"] = round(outcome.seconds, 6)
    if outcome.spent.waited:
        fields["waited"] = round(outcome.spent.waited, 6)
    fields["attempts"] = outcome.attempts
    fields["started_at"] = started_at
    return Record(unit, outcome, journal.seal(fields), usages)


def outcome_name(outcome: Outcome) -> str:
    if isinstance(outcome, Scored):
        return "scored"
    return "failed" if isinstance(outcome, Failed) else "skipped"


PROBES = 3  # units of each split that may fail before an evaluator is taken for broken


@frozen
class Settings:
    """How a plan is carried out: what may change from one session to the next."""

    slots: int
    abort_on_failure: bool = False
    most_failures: int | None = None
    keep_stderr: bool = False
    probe: bool = True
    caps: Caps = field(default_factory=Caps)  # on money and tokens, of one session
    ends_at: float | None = None  # the instant from which on no call begins, of the stop's clock
    cluster: OnCluster | None = None  # None: here
    demands_each: bool = True  # candidate and task model to be scored in half of its calls, too

    def allow(self, failures: int) -> bool:
        most = 0 if self.abort_on_failure else self.most_failures
        return most is None or failures <= most


@frozen
class SessionEnd:
    """What became of a session; `broken` are evaluators that have scored nothing at all."""

    status: State
    reason: str  # why it stopped before its end; empty if it did not
    progress: tuple[Progress, ...]
    broken: tuple[Progress, ...]
    notes: tuple[str, ...]
    changed: tuple[str, ...] = ()  # evaluators that were not the same program throughout
    mostly_failed: tuple[Progress, ...] = ()  # others of which more than half of the calls failed
    over: str = ""  # which cap is reached or cannot be kept, if one is
    needs_estimates: bool = False  # as a server tells no tokens
    is_unproven: bool = False  # it stopped as one of `broken` had scored none of its first calls


class Runner:
    """One session of a run: `run` makes the calls that the ledger says are owed."""

    def __init__(
        self,
        plan: Plan,
        ledger: View,
        settings: Settings,
        live: Evaluators,
        *,
        stop: Stop,
        watch: Callable[[Sequence[Progress]], None],
    ) -> None:
        self._plan = plan
        self._part = ledger.of(plan.layout)
        self._ledger = ledger.ledger
        self._settings = settings
        self._stop = stop
        stop.end_at(settings.ends_at)
        self._watch = watch
        self._engine = live.engine(settings.slots, self._tick)
        self._work = Work(plan.unit, record_of, self._take_record, self._is_stopped)
        self._caps = settings.caps
        self._live = live
        self._probed: set[int] = set()
        self._called: set[int] = set()  # evaluators
        self._reason = ""  # why the run stops early
        self._is_unproven = False  # that is why
        self._takes_replies = False  # a cap is reached, and only what was replied is still scored
        self._clock = Clock()
        self._shares = shares_of(plan)
        self._progress = tuple(map(self._begin, self._shares))
        self._parts = PartFailures(plan)

    def run(self, path: Path) -> SessionEnd:
        """Call until nothing is owed or there is a reason to stop; `path` is the journal."""
        everyone = range(len(self._shares))
        if not any(len(self._list_owed(index)) for index in everyone):
            return self._make_end(State.DONE, ())
        with contextlib.closing(journal.Journal(path, self._ledger.end)) as self._journal:
            with (
                contextlib.closing(Scribe(self._write, self._settings.slots)) as self._scribe,
                contextlib.closing(self._live),
            ):
                self._journal.append(journal.seal(self._header()))
                if self._settings.probe:
                    self._probe()
                self._call(everyone, [self._list_owed(index) for index in everyone])
                self._score_replies()
            self._watch(self._progress)  # the last look was before the last calls ended
            status = self._status()
            broken_off = self._note_broken_off()
            self._journal.append(journal.seal(self._footer(status)))
        self._ledger.end = self._journal.end
        notes = [*self._live.notes, *filter(None, [self._engine.note, broken_off])]
        return self._make_end(status, tuple(notes))

    def _note_broken_off(self) -> str:
        """Write down what units took of models that stay owed; say it, too."""
        usages = [usage for unit in self._live.broken_off for usage in unit.usages]
        if not usages:
            return ""
        self._journal.append(journal.seal({"broken_off": len(self._live.broken_off), "usage": usages}))
        for usage in usages:
            self._ledger.spending.take(usage, [usage])
        calls = f"{len(usages):,} model call{'s' * (len(usages) != 1)}"
        return f"{calls} of examples that were broken off are in the totals; their replies are kept"

    def _make_end(self, status: State, notes: tuple[str, ...]) -> SessionEnd:
        parts = self._failing_parts()
        changed = tuple(name for name in self._plan.layout.evaluators if name in self._ledger.changed)
        changed += tuple(
            model.name for model in self._plan.models if model.name in self._ledger.changed_models
        )
        return SessionEnd(
            status=status,
            reason=self._reason,
            progress=self._progress,
            broken=(*parts.unscored, *self._broken_evaluators()),
            notes=notes,
            changed=changed,
            mostly_failed=(*parts.weak, *self._mostly_failed()),
            over=self._caps.words,
            needs_estimates=self._caps.needs_estimates,
            is_unproven=self._is_unproven,
        )

    def _footer(self, status: State) -> JsonDict:
        """Say how the session ended, and which evaluators' files changed meanwhile."""
        pairs = zip(self._shares, self._progress, strict=True)
        changed = changed_evaluators(self._plan, self._plan.specs, self._called)
        models = changed_models(self._plan, {share.name for share, progress in pairs if progress.called})
        self._ledger.changed.update(changed)
        self._ledger.changed_models.update(models)
        notes = {
            **({"changed": changed} if changed else {}),
            **({"changed_models": models} if models else {}),
        }
        return {"ended_at": self._clock.now(), "status": str(status), **notes}

    def _header(self) -> JsonDict:
        return journal.header(self._ledger.run, self._clock.now())

    def _probe(self) -> None:
        """Call some first units of each evaluator that has no answer yet: if all fail, it is broken."""
        for number in range(PROBES):
            unproven = self._unproven()
            units = [self._first_owed(index, number) for index in unproven]
            self._probed.update(unit for chosen in units for unit in chosen)
            self._call(unproven, units)
            if self._is_stopped():
                return
        for index in self._unproven():
            if self._list_owed(index) and not self._reason:
                progress = self._progress[index]
                did = "replied to" if progress.models_at_fault else "scored"
                did = f"{progress.at_fault} {did} none of its first"
                first = f"{progress.failed} calls" if progress.failed > 1 else "call"
                self._reason = f"{did} {first} (--no-preflight calls the rest anyway)"
                self._is_unproven = True

    def _score_replies(self) -> None:
        """Score what was replied before a cap was reached, whichever evaluators had scored it by then."""
        if not (self._caps.is_over and self._plan.models) or self._is_to_end():
            return
        self._takes_replies = True
        shares = range(len(self._shares))
        self._call(shares, [self._units_with_replies(index) for index in shares])

    def _units_with_replies(self, index: int) -> list[int]:
        """List the units that were never called and whose replies are there."""
        never = self._part.never_called(*self._shares[index].units)
        return [number for number in never if self._live.has_reply(self._plan.unit(number))]

    def _first_owed(self, index: int, number: int) -> list[int]:
        owed = self._list_owed(index)
        return [unit for unit in self._shares[index].first_units(number, self._plan.layout) if unit in owed]

    def _unproven(self) -> list[int]:
        """List the evaluators that have scored and skipped nothing yet."""
        return [index for index, progress in enumerate(self._progress) if progress.done == progress.failed]

    def _broken_evaluators(self) -> tuple[Progress, ...]:
        """List the evaluators that failed and scored nothing; a skip is neither."""
        return tuple(
            progress
            for progress in self._progress
            if progress.own_failures and progress.done == progress.failed + progress.skipped
        )

    def _mostly_failed(self) -> tuple[Progress, ...]:
        """List the evaluators that scored something, but failed more often; a skip is neither."""
        scored = [self._count(SCORED, share) for share in self._shares]
        return tuple(
            progress
            for progress, many in zip(self._progress, scored, strict=True)
            if many and many + progress.failed < 2 * progress.own_failures
        )

    def _failing_parts(self) -> Prevalent:
        if not self._settings.demands_each:
            return Prevalent()
        as_a_whole = (*self._broken_evaluators(), *self._mostly_failed())
        return self._parts.prevalent(self._count_scored, partial(self._part.count, SKIPPED), as_a_whole)

    def _list_owed(self, index: int) -> Stretches:
        """List what is still to be called in this session."""
        return self._part.owed(*self._shares[index].units, but=self._probed)

    def _count_scored(self, units: range) -> int:
        return self._part.count(SCORED, units)

    def _count(self, state: int, share: Share) -> int:
        return sum(self._part.count(state, units) for units in share.units)

    def _call(self, indices: Sequence[int], units: Sequence[Sequence[int]]) -> None:
        lanes = [
            lane_of(self._plan, index, self._shares[index], owed, self._live)
            for index, owed in zip(indices, units, strict=True)
        ]
        self._engine.run(lanes, self._work)
        self._scribe.settle()

    def _take_record(self, record: Record) -> None:
        self._scribe.put(record)
        if isinstance(record.outcome, Failed):
            self._scribe.settle()  # before the next unit is taken: it may have been one too many

    def _write(self, records: Sequence[Record]) -> None:
        offset = self._journal.append(b"".join(record.line for record in records))
        for unit, outcome, line, usages in records:
            self._part.enter(unit.number, outcome_name(outcome), offset)
            offset += len(line)
            self._progress[place_of(unit, self._plan)].count(outcome, unit.coordinates)
            self._parts.count(unit, outcome)
            self._called.add(unit.evaluator)
            if usages:
                self._ledger.spending.take(unit.coordinates, usages)
            if isinstance(outcome, Failed):
                self._take_failure(unit.evaluator, outcome)

    def _take_failure(self, index: int, failed: Failed) -> None:
        failures = sum(progress.failed for progress in self._progress)
        if not self._settings.allow(failures):
            calls = f"{failures:,} call{'s' * (failures != 1)} failed"
            limit = "--on-failure abort" if self._settings.abort_on_failure else "--max-failures"
            self._reason = f"{calls} ({limit})"
        if failed.retry_after and not self._plan.by_model:  # there the models rest by themselves
            self._live.rest(index, min(failed.retry_after, self._plan.specs[index].timeout))

    def _tick(self) -> None:
        self._journal.check_place()
        if self._caps.is_over:
            self._live.stop_waiting()
        self._live.end_if_over()
        self._progress[0].waiting = self._live.waiting
        self._watch(self._progress)

    def _is_stopped(self) -> bool:
        return (self._caps.is_over and not self._takes_replies) or self._is_to_end()

    def _is_to_end(self) -> bool:
        return bool(self._reason) or self._stop.is_requested

    def _status(self) -> State:
        if self._reason:
            return State.TOO_MANY_FAILURES
        asked_all = all(progress.done == progress.total for progress in self._progress)
        if not (asked_all and self._part.is_complete):
            if self._caps.is_over:
                return State.OVER_BUDGET
            return State.OUT_OF_TIME if self._stop.is_out_of_time else State.INTERRUPTED
        failed = self._broken_evaluators() or self._mostly_failed() or any(self._failing_parts())
        return State.TOO_MANY_FAILURES if failed else State.DONE

    def _begin(self, share: Share) -> Progress:
        skipped = self._count(SKIPPED, share)
        done = self._count(SCORED, share) + skipped
        return Progress(share.shown, total=share.size, done=done, skipped=skipped)
