"""A search that is on disk, as commands report it: what it came to, or how far it is."""

from pathlib import Path

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.cli import output
from optimize_eval.findings.wording import RUNNING
from optimize_eval.reports.searched import result_so_far, result_without_run
from optimize_eval.store.folder import MANIFEST, PROPOSALS, SEARCH, holder
from optimize_eval.store.listing import read_search, stopped_session
from optimize_eval.store.opened_run import StoredRun


def render(document: JsonMapping, *, has_details: bool) -> str:
    """Lay out the result of a search for stdout."""
    from optimize_eval.reports.terminal import search  # noqa: PLC0415  few runs are of a search

    return search.render(document, screen=output.screen(), has_details=has_details)


def show(document: JsonMapping, *, has_details: bool) -> bool:
    """Print it; False where somebody edited it."""
    try:
        text = render(document, has_details=has_details)
    except (LookupError, TypeError, ValueError, AttributeError):
        return False
    output.emit(text)
    return True


def is_unfinished(folder: Path) -> bool:
    """Return True if a folder holds a search that has no final sweep."""
    return (folder / PROPOSALS).is_file() and not (folder / MANIFEST).exists()


def is_done(folder: Path) -> bool:
    """Return True if a search without a final sweep came to its end with nothing to compare."""
    stored = read_search(folder)
    return bool(stored and holder(folder) is None and result_without_run(folder, stored.status))


def show_unfinished(folder: Path, *, as_json: bool, has_details: bool) -> None:
    """Print what a search came to that has no final sweep: it found nothing to compare, or was stopped."""
    stored, is_running = read_search(folder), holder(folder) is not None
    if stored is None:
        return
    document = result_without_run(folder, RUNNING if is_running else stored.status)
    document = document or result_so_far(stored, is_running=is_running)
    if as_json:
        output.emit_json(document)
    elif not show(document, has_details=has_details):
        raise UsageError(
            f"{folder / SEARCH} is not as optimize wrote it", hint="run the search's command again"
        )


def note_later(stored: StoredRun) -> None:
    """Say of a run that its search was continued, and stopped before another final sweep."""
    if stopped := stopped_session(stored.folder):
        command = f"; to resume:\n  {stopped.command}" if stopped.command else ""
        how = stopped.sentence or "it was killed"
        output.say(f"note: the search was continued since, and has no other result yet: {how}{command}")
