"""How a plan is carried out, and in which folder: found, begun, continued, extended or started over.

`Handling` is what may differ from one session of a run to the next. The folder is found by what stays when a
run grows; what it holds decides which of these it is, and what changes is said.
"""

import hashlib
import math
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, fields
from pathlib import Path
from typing import Any

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.retries_and_caps import Caps
from optimize_eval.config.calling import SLOTS, EngineName
from optimize_eval.config.compared import BoardGateOptions
from optimize_eval.config.declared import OptionGroup, as_dict
from optimize_eval.evaluators.kinds import models_called
from optimize_eval.run.defining import with_ways_of
from optimize_eval.run.engine import OnCluster
from optimize_eval.run.host import Say, instant_after
from optimize_eval.run.plan import Plan
from optimize_eval.run.reuse import check_reuse, reuse
from optimize_eval.run.runner import Settings
from optimize_eval.store.folder import hold_lock
from optimize_eval.store.opened_run import StoredRun, extend, look, say_unnamed
from optimize_eval.store.reusable import known_elsewhere
from optimize_eval.store.run_document import RunDocument
from optimize_eval.store.run_json import read_document
from optimize_eval.store.run_words import keep_words
from optimize_eval.store.tried import keep_tried, keep_tried_of_edited

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


def cluster_of(given: Mapping[str, Any]) -> OnCluster | None:
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
_GATES = ("fail_under", "max_gap", "no_regression_against")


def gate_settings(gates: BoardGateOptions) -> dict[str, Any]:
    """Make what run.json keeps of gates, so that a later report can show what became of them."""
    given = {name: value for name in _GATES if (value := getattr(gates, name)) not in {None, ()}}
    return {"gates": given} if given else {}


def check_prices(most: float, specs: Sequence[EvaluatorSpec], task_models: Sequence[str | None] = ()) -> None:
    """Refuse a budget of money that cannot be kept, as the price of a model is not known."""
    if not 0 < most < math.inf:
        raise UsageError(f"--max-cost {most:g} is not a budget", hint="give dollars above 0, such as 2.50")
    from optimize_eval.models.turns import known_prices  # noqa: PLC0415  most runs have no such budget

    for spec in specs:
        prices = spec.manners.prices if spec.manners else {}
        known_prices(models_called(spec, task_models), prices)


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
    """Choose a run's folder.

    A bench's is named after its files alone: the models are what it compares, and they come and go.
    """
    texts = [] if plan.by_model else [spec.text for spec in plan.specs]
    texts += ["--prompt"] if plan.models and not plan.by_model else []  # which and whose come and go
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
