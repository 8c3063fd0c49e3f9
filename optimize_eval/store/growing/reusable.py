"""Which other runs may be reused: those that are named, or all beside a run that are sound and at rest.

What is copied of them is reuse's, or for a search elsewhere's.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from optimize_eval.base.errors import OptimizeEvalError
from optimize_eval.store.folder import holder
from optimize_eval.store.growing.elsewhere import AUTO, runs_beside
from optimize_eval.store.stored import StoredRun, open_stored


def folders_of(own: Path, named: Sequence[str]) -> Iterator[tuple[Path, bool]]:
    """Give the folders that are meant, and whether they are named."""
    yield from (
        (Path(name_or_path), True)
        for name_or_path in named
        if name_or_path != AUTO and Path(name_or_path).resolve() != own.resolve()
    )
    if AUTO in named:
        yield from ((folder, False) for folder in runs_beside(own))


@contextmanager
def damage_noted(folder: Path, notes: list[str], *, is_named: bool) -> Iterator[None]:
    """Note what forbids reading another run, which is then skipped; of one that was named it is an error."""
    try:
        yield
    except OptimizeEvalError as error:
        if is_named:
            raise
        notes.append(_not_reused(folder, error.message))


def opened_for_reuse(folder: Path, notes: list[str], *, is_named: bool) -> StoredRun | None:
    """Open another run; one that is in use or changed is skipped with a note, unless it was named."""
    if is_named:
        return open_stored(folder)
    if holder(folder) is not None:
        notes.append(_not_reused(folder, "it is in use"))
        return None
    run = open_stored(folder)
    if changed := run.ledger.ledger.changed:
        notes.append(_not_reused(folder, f"{', '.join(sorted(changed))} changed while being called"))
        return None
    return run


def _not_reused(folder: Path, reason: str) -> str:
    return f"{folder} is not reused: {reason}"


def programs_of(run: StoredRun) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Give by name the programs whose scores a run has; one that changed meanwhile is none."""
    for name in {
        str(evaluator["name"]) for evaluator in run.document["evaluators"]
    } - run.ledger.ledger.changed:
        entries = [
            evaluator
            for evaluator in run.document["evaluators"]
            if evaluator["name"] == name and not evaluator.get("since")
        ]
        yield name, [(str(entry.get("sha256")), str(entry["score_range"])) for entry in entries]
