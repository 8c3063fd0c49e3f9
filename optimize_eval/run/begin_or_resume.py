"""How a plan is carried out, and in which folder: found, begun, continued, extended or started over.

`Handling` is what may differ from one session of a run to the next. The folder is found by what stays when a
run grows; what it holds decides which of these it is, and what changes is said.

Of other runs, scores and replies are copied for what is owed here: by key, so they are of the very same unit.
Only scored and skipped records are copied, of the same program with the same score range, with their side
information, and each says which run it is from. Which runs may be looked into is reusable's, which of them
have something is store.reusable's.
"""

import hashlib
import math
import os
import re
import shlex
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import validate_evaluator_payload
from optimize_eval.base.retries_and_caps import Caps, Manners
from optimize_eval.config.compared import SLOTS, BoardGateOptions, EngineName
from optimize_eval.config.declared import OptionGroup, as_dict
from optimize_eval.evaluators.kinds import is_served, models_called
from optimize_eval.run.defining import with_ways_of
from optimize_eval.run.engine import OnCluster
from optimize_eval.run.host import Say, instant_after
from optimize_eval.run.live import Clock
from optimize_eval.run.plan import Plan
from optimize_eval.run.runner import Settings
from optimize_eval.store import journal
from optimize_eval.store.folder import JOURNAL, OUTPUTS, PROPOSALS, hold_lock
from optimize_eval.store.ledger import OWED, is_unranked
from optimize_eval.store.opened_run import StoredRun, extend, keep_words, look, open_stored, say_unnamed
from optimize_eval.store.reusable import (
    AUTO,
    damage_noted,
    folders_of,
    known_elsewhere,
    opened_for_reuse,
    programs_of,
)
from optimize_eval.store.run_document import RunDocument
from optimize_eval.store.run_json import read_document
from optimize_eval.store.tried import keep_tried, keep_tried_elsewhere, keep_tried_of_edited

ABORT = "abort"

_MOST_SLOTS = 1024
_ALL = 100
_SHARE = r"(\d{1,3}(?:\.\d+)?)%"


@frozen
class Handling:
    """What options say about how to call; none of it makes a run another run."""

    concurrency: int = SLOTS
    on_failure: str = "exclude"
    max_failures: str | None = None
    keep_stderr: bool = False
    no_preflight: bool = False
    fresh: bool = False
    replace: Collection[str] = ()
    max_cost: float | None = None  # of each session, in dollars
    reuse: Sequence[str] = ()
    note: str | None = None  # what to note of the run; None: what it has
    command: str = ""  # how to start this session again, as words for a shell; empty where there is no such
    ends_at: float | None = None  # the instant from which on no call begins
    cluster: OnCluster | None = None  # where calls are made; None: here
    caps: Caps = field(default_factory=Caps, compare=False)  # of all calls of models in the session

    def __post_init__(self) -> None:
        check_reuse(self.reuse, fresh=self.fresh)
        if self.concurrency > _MOST_SLOTS:
            raise UsageError(f"--concurrency {self.concurrency} is too many", hint=f"at most {_MOST_SLOTS:,}")

    def check(self, plan: Plan) -> None:
        """Refuse what cannot be read, before there is a run."""
        self.settings(plan)
        if self.max_cost is not None:
            check_prices(self.max_cost, plan.specs, plan.layout.task_models)

    def settings(self, plan: Plan) -> Settings:
        """Make what the runner of a plan takes."""
        return Settings(
            slots=self.concurrency,
            abort_on_failure=self.on_failure == ABORT,
            most_failures=most_failures(self.max_failures, plan.layout.size),
            keep_stderr=self.keep_stderr,
            probe=not self.no_preflight,
            caps=self.caps,
            ends_at=self.ends_at,
            cluster=self.cluster,
        )


def handling_of(*groups: OptionGroup) -> Handling:
    """Make of options how to call; what a command does not have is as it is by default."""
    given = as_dict(*groups)
    known = {one.name: given[one.name] for one in fields(Handling) if one.name in given}
    caps = Caps(
        given.get("max_cost"), given.get("max_tokens_total"), estimates=given.get("estimate_tokens", False)
    )
    ends_at = instant_after(given.get("max_time"))
    return Handling(ends_at=ends_at, caps=caps, cluster=cluster_of(given), **known)


def cluster_of(given: JsonMapping) -> OnCluster | None:
    """Read where calls are made; what is said of a cluster has to be about one."""
    if given.get("engine", EngineName.LOCAL) != EngineName.RAY:
        if wrong := [name for name in _OF_CLUSTERS if given.get(name) is not None]:
            flag = f"--{wrong[0].replace('_', '-')}"
            raise UsageError(f"{flag} is about a cluster", hint="add --engine ray, or omit it")
        return None
    if not given["address"]:
        raise UsageError("--engine ray needs the address of a cluster", hint="give --address HOST:PORT")
    return OnCluster(
        address=given["address"],
        slots=given["slots_per_node"] or given["concurrency"],
        chunk=given["chunk"],
        inflight=given["inflight"],
        working_dir=given["working_dir"] or "",
    )


_OF_CLUSTERS = ("address", "slots_per_node", "working_dir")


NO_GATES = BoardGateOptions()
_GATES = ("fail_under", "max_gap", "min_agreement", "no_regression_against")


def gate_settings(gates: BoardGateOptions) -> JsonDict:
    """Make what run.json keeps of gates, so that a later report can show what became of them."""
    given = {name: value for name in _GATES if (value := getattr(gates, name)) not in {None, ()}}
    return {"gates": given} if given else {}


def check_prices(most: float, specs: Sequence[EvaluatorSpec], task_models: Sequence[str | None] = ()) -> None:
    """Refuse a budget of money that cannot be kept, as the price of a model is not known."""
    if not 0 < most < math.inf:
        raise UsageError(f"--max-cost {most:g} is not a budget", hint="give dollars above 0, such as 2.50")
    for spec in specs:
        find_prices(models_called(spec, task_models), spec.manners)


def find_prices(models: Sequence[str], manners: Manners | None) -> None:
    """Refuse models whose price is not known."""
    from optimize_eval.models.turns import known_prices  # noqa: PLC0415  most runs have no such budget

    known_prices(models, manners.prices if manners else {})


def most_failures(text: str | None, calls: int) -> int | None:
    """Read --max-failures, a count or a share of the calls."""
    if text is None:
        return None
    if (share := re.fullmatch(_SHARE, text)) and float(share[1]) <= _ALL:
        return int(calls * float(share[1]) / _ALL)
    if text.isascii() and text.isdigit():
        return int(text)
    raise UsageError(
        f"--max-failures {text!r} is neither a count nor a share",
        hint="write a count from 0, such as 20, or a share from 0% to 100%, such as 5%",
    )


def folder_of(stem: str, plan: Plan, paths: Iterable[str | None], out: str | None) -> Path:
    """Choose a run's folder; models and prompts are what is compared, and they come and go."""
    texts = [*(spec.text for spec in plan.specs), *(["--prompt"] if plan.models else [])]
    return default_folder(stem, texts, paths) if out is None else Path(out)


@contextmanager
def hold_run(
    folder: Path,
    plan: Plan,
    wanted: RunDocument,
    handling: Handling,
    say: Say,
    *,
    metrics: Collection[str] = (),
) -> Iterator[StoredRun]:
    """Hold a run's folder, as it is ready for calls; `metrics` of a bench's own will follow."""
    with hold_lock(folder):
        run = open_run(folder, plan, wanted, fresh=handling.fresh, replace=handling.replace)
        note_changes(run, say, metrics)
        run = _take_over(plan, run, handling.reuse, say)
        yield keep_words(run, handling.note, handling.command)


def reusable(run: StoredRun) -> str:
    """Say which other run has scored some of what is owed, and the words that take it; empty for none."""
    calls = run.owed
    elsewhere = known_elsewhere(run.folder, run.document, run.owed_examples) if calls else None
    if elsewhere is None:
        return ""
    folder = shlex.quote(str(elsewhere.folder))
    least = f"{elsewhere.least:,} to " if elsewhere.least else "up to "
    many = f"{least if elsewhere.least < elsewhere.calls else ''}{elsewhere.calls:,} of these {calls:,}"
    many = f"all {calls:,} of these" if elsewhere.least == elsewhere.calls == calls else many
    return f"{elsewhere.folder} already has {many} scores. To copy them, add --reuse {folder}"


def _take_over(plan: Plan, run: StoredRun, named: Sequence[str], say: Say) -> StoredRun:
    """Copy what other runs have of what is owed, with --reuse; else say which one has some."""
    reused = reuse(plan, run, named)
    for note in reused.notes:
        say(f"note: {note}")
    run = with_ways_of(run, plan.specs, reused.sources, say)
    if not named and (line := reusable(run)):
        say(f"note: {line}")
    return run


def note_done(run: StoredRun, say: Say) -> None:
    """Say where nothing is left to call; failed calls are."""
    if not run.ledger.owed(range(run.layout.size)):
        say(f"note: nothing is left to call: all {run.layout.size:,} calls are done")


def note_changes(run: StoredRun, say: Say, metrics: Collection[str] = ()) -> None:
    """Say what a command has changed in a run by what it names, and by what it does not."""
    for note in run.notes:
        say(f"note: {note}")
    if left := say_unnamed(run.document, metrics):
        report = f"; `optimize-eval report {shlex.quote(str(run.folder))} --all` shows it"
        advice = "" if run.document.is_bench else report  # a board has what is named, and nothing else
        say(f"note: left out, as this command does not name it: {left}{advice}")


def default_folder(stem: str, evaluators: Iterable[str], paths: Iterable[str | None]) -> Path:
    """Name a run's folder after what stays when it grows, as it is written: its evaluators and its data."""
    named = repr((list(evaluators), list(paths))).encode()
    return Path("runs", f"{stem}-{hashlib.sha256(named).hexdigest()[:8]}")


def open_run(
    folder: Path, plan: Plan, wanted: RunDocument, *, fresh: bool, replace: Collection[str] = ()
) -> StoredRun:
    """Make a locked folder ready for a session of this plan; the result says what is already scored."""
    _check_named(plan, replace)
    if fresh:
        keep_tried(folder)
    else:
        keep_tried_of_edited(folder, wanted)
    run = extend(folder, wanted, plan.about.describe, fresh=fresh, replace=replace)
    plan.about.forget()
    return run


def look_at(
    folder: Path, plan: Plan, wanted: RunDocument, *, fresh: bool, replace: Collection[str] = ()
) -> StoredRun:
    """Find what of a plan is known, and write nothing."""
    _check_named(plan, replace)
    known = None if fresh else read_document(folder, is_to_grow=True)
    describe = plan.about.describe if known or plan.about.has_candidates else None  # else nobody reads it
    return look(folder, known, wanted, describe, replace=replace)


def _check_named(plan: Plan, replace: Collection[str]) -> None:
    models = [model.name for model in plan.models]
    names = [*plan.layout.evaluators, *models]
    for name in replace:
        axis, colon, rest = name.partition(":")
        there = {"evaluator": plan.layout.evaluators, "model": models}.get(axis, names) if colon else names
        if name not in there and rest not in there:
            what = "evaluator or model" if models else "evaluator"
            raise UsageError(
                f"--replace {name}: the command has no such {what}",
                hint=f"name one of {', '.join(names[:20])}",
            )


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

    def _line(self, number: int, record: JsonMapping) -> bytes | None:
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
        from optimize_eval.models.outputs import copy_outputs  # noqa: PLC0415  most runs reuse no replies

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
