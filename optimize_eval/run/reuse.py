"""Scores and replies of other runs, copied for what is owed here: by key, so they are of the very same unit.

Only scored and skipped records are copied, of the same program with the same score range, with their side
information, and each says which run it is from. Which runs may be looked into is reusable's, which of them
have something is growing.elsewhere's.
"""

import os
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from optimize_eval.base.errors import UsageError
from optimize_eval.base.protocol import validate_evaluator_payload
from optimize_eval.evaluators.kinds import is_served
from optimize_eval.models.outputs import as_copied
from optimize_eval.run.live import Clock
from optimize_eval.run.plan import Plan
from optimize_eval.store import journal
from optimize_eval.store.folder import JOURNAL, OUTPUTS, PROPOSALS
from optimize_eval.store.ledger import OWED, is_unranked
from optimize_eval.store.opened_run import StoredRun, open_stored
from optimize_eval.store.reusable import AUTO, damage_noted, folders_of, opened_for_reuse, programs_of
from optimize_eval.store.tried import keep_tried_elsewhere

_MANY = 500  # lines that are written at once
_FINAL = frozenset({"scored", "skipped"})
_COPIED = (
    "outcome",
    "score",
    "unranked",
    "message",
    "side_info",
    "stderr",
    "output",
    "seconds",
    "attempts",
    "started_at",
)


_Line = tuple[int, str, bytes]  # a unit's number, its outcome and its record


class _Source(NamedTuple):
    """Where the newest record of a unit stands in another run."""

    started_at: str
    run: StoredRun
    offset: int
    length: int


@dataclass(slots=True, eq=False, repr=False)
class _Reuse:
    plan: Plan
    run: StoredRun
    wanted: Mapping[str, Sequence[int]]  # by key the numbers of units that are owed
    newest: dict[int, _Source] = field(default_factory=dict)
    copied: Counter[tuple[Path, str]] = field(default_factory=Counter)  # by their run and their outcome
    notes: list[str] = field(default_factory=list)
    opened: list[StoredRun] = field(default_factory=list)  # all that was looked into

    def look_into(self, other: StoredRun, *, is_named: bool) -> None:
        """Find what another run has scored or skipped of what is owed; of several records the newest."""
        newest = {**self.newest, **self._newer(other, is_named=is_named)}
        if _models(self.plan, other) and (other.folder / OUTPUTS).is_file():
            deque(
                journal.entries(other.folder / OUTPUTS), maxlen=0
            )  # damage is found before a score is copied
        self.newest = newest
        if is_named or not any(map(is_served, self.plan.specs)):
            self.opened.append(other)

    def _newer(self, other: StoredRun, *, is_named: bool) -> dict[int, _Source]:
        """Find by unit the newest records of a run that are newer than those that are known."""
        newer: dict[int, _Source] = {}
        programs = {name: set(entries) for name, entries in programs_of(other)}
        for entry in journal.entries(other.folder / JOURNAL):
            record = journal.glance(entry.line)
            if record.get("outcome") not in _FINAL:
                continue
            started_at = str(record.get("started_at", ""))
            for number in self.wanted.get(str(record.get("key")), ()):
                evaluator = self.plan.evaluator_of(number)
                before = newer.get(number) or self.newest.get(number)
                is_newer = before is None or before.started_at < started_at
                is_same = self._program(evaluator) in programs.get(str(record["evaluator"]), ())
                if is_newer and is_same and (is_named or not is_served(self.plan.specs[evaluator])):
                    newer[number] = _Source(started_at, other, entry.offset, entry.length)
        return newer

    def write(self) -> None:
        """Copy what was found into the run's journal."""
        view, clock = self.run.ledger.of(self.plan.layout), Clock()
        written = journal.Journal(self.run.folder / JOURNAL, view.ledger.end)
        try:
            header = {"schema": journal.SCHEMA, "plan": self.run.document.id, "started_at": clock.now()}
            written.append(journal.seal(header))
            for lines in _batches(self._lines()):
                offset = written.append(b"".join(line for *_, line in lines))
                for number, outcome, line in lines:
                    view.enter(number, outcome, offset)
                    offset += len(line)
            status = "interrupted" if view.count(OWED, range(view.layout.size)) else "done"
            written.append(journal.seal({"ended_at": clock.now(), "status": status}))
        finally:
            written.close()
        view.ledger.end = written.end
        for run in {source.run.folder: source.run for source in self.newest.values()}.values():
            keep_tried_elsewhere(self.run, run)
        self._note_copied("reused")

    def copy_replies(self) -> None:
        """Copy the models' replies of the runs that have scores, or to prompts of all that were named."""
        runs = {source.run.folder: source.run for source in self.newest.values()}
        if self.plan.models:
            runs = {run.folder: run for run in self.opened}
        for run in runs.values():
            self._copy_replies(run)

    def sources(self) -> Mapping[str, Sequence[StoredRun]]:
        """Give the runs that something was found in, by the evaluators that it is of."""
        by_evaluator: dict[str, dict[Path, StoredRun]] = {}
        for number, source in self.newest.items():
            name = self.plan.layout.evaluators[self.plan.evaluator_of(number)]
            by_evaluator.setdefault(name, {})[source.run.folder] = source.run
        return {name: [*runs.values()] for name, runs in by_evaluator.items()}

    def pretend(self) -> None:
        """Count what was found as done, and write nothing."""
        view = self.run.ledger.of(self.plan.layout)
        for number, outcome, _ in self._lines():
            view.enter(number, outcome, 0)
        self._note_copied("would be reused")

    def _note_copied(self, what: str) -> None:
        for (folder, outcome), many in self.copied.items():
            self.notes.append(f"{many:,} {outcome} call{'s' * (many != 1)} of {folder} {what}")

    def _lines(self) -> Iterator[_Line]:
        """Give the records that were found as this run's own, in the order of units."""
        with ExitStack() as stack:
            runs = {source.run.folder for source in self.newest.values()}
            files = {folder: stack.enter_context((folder / JOURNAL).open("rb")) for folder in runs}
            for number, source in sorted(self.newest.items()):
                descriptor = files[source.run.folder].fileno()
                record = journal.decode(os.pread(descriptor, source.length, source.offset))
                if line := self._line(number, record):
                    self.copied[source.run.folder, record["outcome"]] += 1
                    yield number, record["outcome"], line

    def _line(self, number: int, record: Mapping[str, Any]) -> bytes | None:
        """Write a record as this run's own; None where its score is not one here."""
        unit = self.plan.unit(number)
        answer = {**record.get("side_info", {}), "score": record.get("score")}
        has_number = record["outcome"] == "scored" and not is_unranked(record)
        if has_number and validate_evaluator_payload(answer, self.plan.specs[unit.evaluator].score_range):
            return None
        fields = {
            "key": unit.key,
            **unit.coordinates,
            **{key: record[key] for key in _COPIED if key in record},
        }
        return journal.seal({**fields, "reused_from": self.newest[number].run.folder.name})

    def _copy_replies(self, other: StoredRun) -> None:
        """Copy what the same models replied there, so that another evaluator can score it here, too."""
        models = _models(self.plan, other)
        if not models or not (other.folder / OUTPUTS).is_file():
            return
        many = copy_outputs(self.run.folder, other.folder, models)
        if many and self.plan.models:
            self.notes.append(replies_reused(many, other.folder))

    def _program(self, place: int) -> tuple[str, str]:
        return self.plan.identities[place].sha256, str(self.plan.specs[place].score_range)


class Reused(NamedTuple):
    """What was copied, in words, and the runs that the copied scores of each evaluator are from."""

    notes: list[str]
    sources: Mapping[str, Sequence[StoredRun]]


def reuse(plan: Plan, run: StoredRun, named: Sequence[str]) -> Reused:
    """Copy into a run that is open what the named runs have of it; `auto` stands for all runs beside it."""
    reused = _search(plan, run, named)
    if reused.newest:
        reused.write()
    reused.copy_replies()
    return Reused(reused.notes, reused.sources())


def replies_reused(many: int, folder: Path) -> str:
    return f"{many:,} repl{'ies' if many > 1 else 'y'} of models in {folder} reused"


def copy_outputs(own: Path, other: Path, models: Collection[str]) -> int:
    """Copy what models replied in another folder, by what people call the models; returns how much it was."""
    mine = own / OUTPUTS
    entries = list(journal.entries(mine)) if mine.exists() else []
    present = {journal.decode(entry.line).get("key") for entry in entries}
    lines = [
        as_copied(entry.line)
        for entry in journal.entries(other / OUTPUTS)
        if _is_wanted(journal.decode(entry.line), models, present, is_header=not entries)
    ]
    copied = len(lines) - (not entries)
    if copied <= 0:  # a header alone
        return 0
    written = journal.Journal(mine, entries[-1].offset + entries[-1].length if entries else 0)
    try:
        written.append(b"".join(lines))
    finally:
        written.close()
    return copied


def look_for_reuse(plan: Plan, run: StoredRun, named: Sequence[str]) -> list[str]:
    """Count as done what `reuse` would copy, and write nothing."""
    reused = _search(plan, run, named)
    reused.pretend()
    return reused.notes


def _search(plan: Plan, run: StoredRun, named: Sequence[str]) -> _Reuse:
    view = run.ledger.of(plan.layout)
    wanted: dict[str, list[int]] = {}
    for number in view.owed(range(plan.layout.size)) if named else ():
        wanted.setdefault(plan.unit(number).key, []).append(number)
    reused = _Reuse(plan, run, wanted)
    for folder, is_named in folders_of(run.folder, named) if wanted else ():
        with damage_noted(folder, reused.notes, is_named=is_named):
            if (other := opened_for_reuse(folder, reused.notes, is_named=is_named)) is not None:
                reused.look_into(other, is_named=is_named)
    return reused


def _batches(lines: Iterator[_Line]) -> Iterator[list[_Line]]:
    while batch := list(islice(lines, _MANY)):
        yield batch


def check_reuse(named: Sequence[str], *, fresh: bool) -> None:
    """Refuse what contradicts itself, before there is a run."""
    if fresh and named:
        raise UsageError("--fresh starts over and --reuse takes what is there", hint="give one of the two")
    for name_or_path in named:
        if name_or_path != AUTO and not (Path(name_or_path) / PROPOSALS).is_file():  # a search may be no run
            open_stored(name_or_path)


def _models(plan: Plan, other: StoredRun) -> set[str]:
    """Name the models of a plan that the other run has, too."""
    own = {model.sha256 for model in plan.models}  # whose replies are found by what the model is
    return {model.text for model in other.document.models if model.sha256 in own}


def _is_wanted(
    record: Mapping[str, Any], models: Collection[str], present: set[Any], *, is_header: bool
) -> bool:
    if "schema" in record:
        return is_header
    return record.get("model") in models and record.get("key") not in present
