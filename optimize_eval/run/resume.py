"""A run begun, continued or begun anew: what the folder holds decides, and a different plan is refused."""

from pathlib import Path

from optimize_eval.errors import UsageError
from optimize_eval.run.folder import BOARDS, JOURNAL, MANIFEST, OUTPUTS, SUMMARY, read_manifest, write_json
from optimize_eval.run.manifest import EDITED, Manifest, NotARun, differences, listed, told, with_additions
from optimize_eval.run.plan import Plan
from optimize_eval.run.stored import StoredRun, read_run

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
    run = read_run(folder, current, with_additions(plan.layout, current), plan.digest)
    if current != known:
        write_json(folder / MANIFEST, current)
    return run


def check_plan(folder: Path, manifest: Manifest) -> Manifest | None:
    """Read the folder's manifest, which must be of the same plan; None where there is none."""
    known = read_manifest(folder)
    if known is not None and known.get("plan") != manifest["plan"]:
        raise _other_plan(folder, known, manifest)
    return known


def _other_plan(folder: Path, known: Manifest, manifest: Manifest) -> UsageError:
    found = told(differences, known, manifest) or [EDITED]
    return UsageError(
        "\n".join([f"{folder} holds a run of another plan:", *listed(found)]),
        hint="choose another folder with --out, or start anew with --fresh",
    )
