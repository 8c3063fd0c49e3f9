"""A run's folder: found by what stays when the run grows, and begun, continued, extended or started over.

What the folder holds decides which of these it is; what changes is said.
"""

import hashlib
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from optimize_eval.base.errors import UsageError
from optimize_eval.run.enclosing import with_ways_of
from optimize_eval.run.host import Say
from optimize_eval.run.plan import Plan
from optimize_eval.run.reuse import reuse
from optimize_eval.run.settings import Handling
from optimize_eval.store.folder import hold_lock
from optimize_eval.store.opened_run import StoredRun, extend, look, say_unnamed
from optimize_eval.store.reusable import known_elsewhere
from optimize_eval.store.run_document import RunDocument
from optimize_eval.store.run_json import read_document
from optimize_eval.store.run_words import keep_words
from optimize_eval.store.tried import keep_tried, keep_tried_of_edited


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
