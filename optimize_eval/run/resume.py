"""A run begun, continued, extended or begun anew by a plan: what the folder holds decides."""

import hashlib
from collections.abc import Collection, Iterable
from pathlib import Path

from optimize_eval.errors import UsageError
from optimize_eval.run.plan import Plan
from optimize_eval.store.folder import MANIFEST, read_document
from optimize_eval.store.manifest import Manifest
from optimize_eval.store.stored import StoredRun, extend, look


def default_folder(stem: str, plan: Plan, paths: Iterable[str | None]) -> Path:
    """Name a run's folder after what stays when it grows, as it is written: its evaluators and its data."""
    named = repr(([spec.text for spec in plan.specs], list(paths))).encode()
    return Path("runs", f"{stem}-{hashlib.sha256(named).hexdigest()[:8]}")


def former_folder(stem: str, plan: Plan) -> Path | None:
    """Find the folder of the same plan that earlier versions named after all of its contents."""
    folder = Path("runs", f"{stem}-{plan.digest[:8]}")
    return folder if (folder / MANIFEST).exists() else None


def open_run(
    folder: Path, plan: Plan, manifest: Manifest, *, fresh: bool, replace: Collection[str] = ()
) -> StoredRun:
    """Make a locked folder ready for a session of this plan, and tell what of it is already known."""
    _check_named(plan, replace)
    run = extend(folder, manifest, plan.about.tell, fresh=fresh, replace=replace)
    plan.about.forget()
    return run


def look_at(
    folder: Path, plan: Plan, manifest: Manifest, *, fresh: bool, replace: Collection[str] = ()
) -> StoredRun:
    """Find what of a plan is known, and write nothing."""
    _check_named(plan, replace)
    known = None if fresh else read_document(folder)
    return look(folder, known, manifest, plan.about.tell, replace=replace)


def _check_named(plan: Plan, replace: Collection[str]) -> None:
    names = plan.layout.evaluators
    for name in replace:
        if name.removeprefix("evaluator:") not in names:
            raise UsageError(
                f"--replace {name}: the command has no such evaluator",
                hint=f"name one of {', '.join(names[:20])}",
            )
