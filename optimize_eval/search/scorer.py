"""Whoever scores for a search: live evaluators, every outcome journaled.

Until a run can grow by a search's candidates, this stands for it: same keys, same records, a file of its
own.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from optimize_eval.base.evaluator import EvaluatorSpec, Opened
from optimize_eval.base.outcome import Failed, Outcome, Scored
from optimize_eval.base.protocol import Payload
from optimize_eval.data.example import Example
from optimize_eval.models.outputs import Outputs, outputs_at
from optimize_eval.programs.identity import Identity
from optimize_eval.run.engine import Lane, OnCluster
from optimize_eval.run.host import Stop
from optimize_eval.run.live import Work
from optimize_eval.run.plan import Unit, sha256_of
from optimize_eval.run.runner import Record, record_of
from optimize_eval.run.whereabouts import evaluators_at
from optimize_eval.search.goal import Outcomes, Trial
from optimize_eval.search.recorded_scores import OF_ITS_PLACE, Elsewhere, outcome_of, scored_in
from optimize_eval.search.stopping import Meter, cut_off
from optimize_eval.store import journal
from optimize_eval.store.folder import JOURNAL, OUTPUTS
from optimize_eval.store.layout import key_of
from optimize_eval.tasks.targets import definitions_in

if TYPE_CHECKING:
    from optimize_eval.search.row_rules import RowRules


class _Place(NamedTuple):
    """Where a record stands in the journal."""

    offset: int
    length: int


Examples = Mapping[tuple[str, int | None], Example | None]


class LiveScorer:
    """Scores pairs by calling evaluators; live within a `with`."""

    def __init__(
        self,
        specs: Sequence[EvaluatorSpec],
        identities: Sequence[Identity],
        examples: Examples,
        *,
        stop: Stop,
        meter: Meter,
        elsewhere: Elsewhere | None = None,
        slots: int,
        cluster: OnCluster | None = None,
        path: Path | None = None,
        task_model: str | None = None,
        model: Identity | None = None,
        watch: Callable[[int, str], None] = lambda _calls, _waiting: None,
    ) -> None:
        self._specs = tuple(specs)
        self._identities = tuple(identities)
        self._examples = examples
        self._stop = stop
        self._meter = meter
        self._elsewhere = elsewhere
        self._task_model = model.name if model else task_model
        self._model = model.sha256 if model else task_model  # as keys have it
        self._calls_model = model is not None
        self._outputs: Outputs | None = None
        self._watch = watch
        self._live = evaluators_at(cluster, self._specs, self._identities, stop, meter.caps)
        self._rules = _rules_of(self._specs, self._live.opened)
        self._engine = self._live.engine(slots, self._tick)
        self._known: dict[str, Outcome | _Place] = {}
        self._fresh: dict[str, Outcome] = {}  # of the pairs that are being scored
        self._units: dict[int, Unit] = {}
        self._path = path
        self._journal: journal.Journal | None = None
        self.made = 0  # calls for this search, those of earlier sessions included

    def __enter__(self) -> Self:
        if self._path:
            self._journal = journal.Journal(self._path, self._read(self._path))
            if self._calls_model:
                self._outputs = outputs_at(self._path.with_name(OUTPUTS), self._live.opened)
        try:
            self._live.__enter__()
        except BaseException:
            self._close_journal()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._live.__exit__(kind, error, trace)
        finally:
            self._close_journal()

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self._live.notes, *filter(None, [self._engine.note]))

    def count_owed(self, pairs: Sequence[Trial]) -> int:
        return sum(not self._is_known(unit) for units in self._units_of(pairs) for unit in units)

    def score(self, pairs: Sequence[Trial]) -> list[Outcomes]:
        planned = self._units_of(pairs)
        owed = [unit for units in planned for unit in units if not self._is_known(unit)]
        if owed:
            self._call(owed)
        try:
            outcomes = [tuple(self._outcome(unit.key) for unit in units) for units in planned]
        except KeyError:
            raise cut_off(self._stop, " while examples were scored", self._meter) from None
        rules = self._rules
        return [*map(rules.apply, planned, outcomes)] if rules else outcomes

    def reply(self, outcomes: Outcomes) -> str | None:
        key = next((outcome.output for outcome in outcomes if outcome.output), "")
        output = self._outputs.find(bytes.fromhex(key)) if key and self._outputs else None
        return output.text if output else None

    def _outcome(self, key: str) -> Outcome:
        """Give an outcome; side information stays on disk while nobody looks at it."""
        if key in self._fresh:
            return self._fresh[key]
        known = self._known[key]
        if not isinstance(known, _Place) or self._path is None:
            return known  # type: ignore[return-value]
        with self._path.open("rb") as stream:
            stream.seek(known.offset)
            return outcome_of(journal.decode(stream.read(known.length)))

    def _is_known(self, unit: Unit) -> bool:
        """Look whether a call is recorded, here or elsewhere: then its record is copied."""
        if unit.key in self._known:
            return True
        record = self._elsewhere and self._elsewhere.record(unit.key, unit.evaluator)
        if not record:
            return False
        kept = {name: value for name, value in record.items() if name not in OF_ITS_PLACE}
        if self._journal:
            self._journal.append(journal.seal({"key": unit.key, **unit.coordinates, **kept}))
        self._known[unit.key] = outcome_of(record)
        return True

    def _units_of(self, pairs: Sequence[Trial]) -> list[list[Unit]]:
        return [
            [self._unit(index * len(pairs) + number, index, pair) for index in range(len(self._specs))]
            for number, pair in enumerate(pairs)
        ]

    def _unit(self, number: int, place: int, pair: Trial) -> Unit:
        example = self._examples[pair.split, pair.line]
        raw = None if example is None else example.raw
        of_example = pair.split, pair.line, "" if raw is None else sha256_of(raw), 1
        candidate = sha256_of(pair.text.encode())
        key = key_of(self._identities[place].sha256, candidate, self._model, *of_example)
        coordinates = {
            "evaluator": self._specs[place].name,
            "candidate": candidate[:8],
            "task_model": self._task_model,
            "split": pair.split,
            "line": pair.line,
            "repeat": 1,
        }
        payload = Payload(
            candidate=pair.text,
            example=raw,
            task_model=self._task_model,
            line=pair.line,
            split=pair.split,
        )
        known = {name: value for name, value in coordinates.items() if value is not None}
        return Unit(number, key, place, payload, known)

    def _call(self, owed: Sequence[Unit]) -> None:
        self._units = {unit.number: unit for unit in owed}
        self._fresh = {}
        lanes = [
            Lane(
                units=[unit.number for unit in owed if unit.evaluator == index],
                capacity=partial(self._live.capacity, index),
                weight=spec.weight,
            )
            for index, spec in enumerate(self._specs)
        ]
        work = Work(
            self._units.__getitem__,
            record_of,
            self._note,
            lambda: self._stop.is_requested or self._meter.caps.is_over,
        )
        self._engine.run(lanes, work)
        while self._live.broken_off:
            lost = self._live.broken_off.pop()
            usages = [usage.to_dict() for usage in lost.spent.usages]
            self._meter.take(self._specs[lost.unit.evaluator].name, usages)
        self._watch(self.made, "")  # the last look was before the last calls ended

    def _note(self, record: Record) -> None:
        key = record.unit.key
        self._known[key] = self._fresh[key] = record.outcome
        if self._journal:
            offset = self._journal.append(record.line)
            if isinstance(record.outcome, Scored):
                self._known[key] = _Place(offset, len(record.line))
        self.made += 1
        self._meter.take(self._specs[record.unit.evaluator].name, record.usages)
        if isinstance(record.outcome, Failed) and record.outcome.retry_after:
            self._live.rest(record.unit.evaluator, record.outcome.retry_after)

    def _tick(self) -> None:
        if self._meter.caps.is_over:
            self._live.stop_waiting()
        self._live.end_if_over()
        self._watch(self.made, self._live.waiting)

    def _read(self, path: Path) -> int:
        end = 0
        with suppress(FileNotFoundError):
            for entry in journal.entries(path):
                record = journal.decode(entry.line)
                is_scored = record["outcome"] == "scored"
                self._known[record["key"]] = (
                    _Place(entry.offset, entry.length) if is_scored else outcome_of(record)
                )
                self.made += "reused_from" not in record
                self._meter.take(str(record["evaluator"]), record.get("usage", ()), is_earlier=True)
                end = entry.offset + entry.length
        of_final = scored_in(path.with_name(JOURNAL))  # of an earlier final sweep
        self._known.update((key, outcome_of(record)) for key, record in of_final)
        return end

    def _close_journal(self) -> None:
        if self._journal:
            self._journal.close()


def _rules_of(specs: Sequence[EvaluatorSpec], opened: Opened) -> "RowRules | None":
    """Make the rules of tasks in YAML, if evaluators are scorers of tasks that have some."""
    if not any(task.actions for task in definitions_in(specs)):
        return None
    from optimize_eval.search.row_rules import RowRules  # noqa: PLC0415  few searches have rules

    return RowRules(specs, opened)
