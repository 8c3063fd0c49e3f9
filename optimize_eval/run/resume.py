"""A run begun, continued or begun anew: what the folder holds decides, and a different plan is refused.

One case is none: an evaluator that has scored nothing may be fixed, and the run goes on with it.
"""

from pathlib import Path

from optimize_eval.errors import UsageError
from optimize_eval.run.plan import Plan
from optimize_eval.store.folder import BOARDS, JOURNAL, MANIFEST, OUTPUTS, SUMMARY, read_manifest, write_json
from optimize_eval.store.manifest import (
    EDITED,
    Manifest,
    NotARun,
    differences,
    journal_plan,
    layout_of,
    listed,
    told,
    with_additions,
)
from optimize_eval.store.stored import StoredRun, read_run

_NOT_OF_THE_PLAN = ("cluster_by", "group_by", "splits", "settings")  # may change, or hold labels that may


def open_run(folder: Path, plan: Plan, manifest: Manifest, *, fresh: bool) -> StoredRun:
    """Make a locked folder ready for a session of this plan, and tell what of it is already known."""
    if fresh:
        made = folder.glob(BOARDS)
        for path in (*made, *(folder / name for name in (SUMMARY, OUTPUTS, JOURNAL, MANIFEST))):
            path.unlink(missing_ok=True)
    known = check_plan(folder, manifest)
    if known is None and (folder / JOURNAL).exists():
        raise NotARun(f"{folder} has a journal but no {MANIFEST}", hint="--fresh starts anew")
    changed = {key: manifest[key] for key in _NOT_OF_THE_PLAN}
    current = manifest if known is None else {**known, **changed}
    run = read_run(folder, current, with_additions(plan.layout, current), journal_plan(current))
    if current != read_manifest(folder):
        write_json(folder / MANIFEST, current)
    return run


def check_plan(folder: Path, manifest: Manifest) -> Manifest | None:
    """Read the folder's manifest, of the same plan or made so; None where there is none."""
    known = read_manifest(folder)
    if known is None or known.get("plan") == manifest["plan"]:
        return known
    if taken_over := _taken_over(folder, known, manifest):
        return taken_over
    raise _other_plan(folder, known, manifest)


def _taken_over(folder: Path, known: Manifest, manifest: Manifest) -> Manifest | None:
    """Let evaluators that have scored nothing be what they are now; None where more differs."""
    if told(differences, {**known, "evaluators": manifest["evaluators"]}, manifest):
        return None
    stored = read_run(folder, known, *layout_of(known))
    changed = _changed(known, manifest)
    if not changed or not all(map(stored.is_unused, changed)):
        return None
    before = {one["name"]: one for one in known["evaluators"]}
    evaluators = [
        {**one, "since": stored.ledger.end} if one["name"] in changed else before[one["name"]]
        for one in manifest["evaluators"]
    ]
    digests = {"plan": manifest["plan"], "journal_plan": journal_plan(known)}
    return {**known, **digests, "evaluators": evaluators}


def _changed(known: Manifest, manifest: Manifest) -> list[str]:
    """Name the evaluators that are not the same; none unless their names and order are."""
    before, after = (
        {one["name"]: (one.get("sha256"), one["score_range"]) for one in each["evaluators"]}
        for each in (known, manifest)
    )
    return [name for name in after if before[name] != after[name]] if list(before) == list(after) else []


def _other_plan(folder: Path, known: Manifest, manifest: Manifest) -> UsageError:
    found = told(differences, known, manifest) or [EDITED]
    return UsageError(
        "\n".join([f"{folder} holds a run of another plan:", *listed(found)]),
        hint="choose another folder with --out, or start anew with --fresh",
    )
