"""A run begun, continued, extended or started over by a plan: what the folder holds decides."""

import hashlib
from collections.abc import Collection, Iterable
from pathlib import Path

from optimize_eval.base.errors import UsageError
from optimize_eval.run.plan import Plan
from optimize_eval.store.opened_run import StoredRun, extend, look
from optimize_eval.store.run_document import RunDocument
from optimize_eval.store.run_json import read_document
from optimize_eval.store.tried import keep_tried, keep_tried_of_edited


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
