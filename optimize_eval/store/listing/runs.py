"""The runs in a folder, each at a glance: what it compares, its state, its stored verdict, its age and size.

Reads no journal but its end, but for searches, and reports what cannot be read as a
problem of that run alone. The numbers behind a verdict are not known here.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from optimize_eval.base import files, strict_json
from optimize_eval.base.errors import OptimizeEvalError, UsageError
from optimize_eval.store.document import cell_name
from optimize_eval.store.folder import (
    JOURNAL,
    LEADERBOARD,
    MANIFEST,
    PROPOSALS,
    SEARCH,
    SUMMARY,
    has_our_files,
    holder,
    read_document,
    read_manifest,
)
from optimize_eval.store.journal import SCHEMA, check_schema, decode, last_line
from optimize_eval.store.journal_end import fits
from optimize_eval.store.layout import Layout
from optimize_eval.store.listing.listed import ComparedAxes, ListedRun, State, changed_at, size_of
from optimize_eval.store.listing.searches import KILLED, UNKNOWN, read_search, stopped_session
from optimize_eval.store.manifest import Manifest, is_bench, layout_of
from optimize_eval.store.note import command_of, note_of
from optimize_eval.store.stored import read_run

_UNITS = ("total", "scored", "failed", "skipped", "owed")


_SEARCHED = {  # how a search ended that came to no final sweep → its state; any other is a good end
    KILLED: State.UNFINISHED,
    UNKNOWN: State.UNFINISHED,
    "interrupted": State.INTERRUPTED,
    "time": State.OUT_OF_TIME,
    "cost": State.OVER_BUDGET,
    "evaluator": State.TOO_MANY_FAILURES,
    "proposer": State.TOO_MANY_FAILURES,
}
_ENDED = frozenset(
    {State.DONE, State.INTERRUPTED, State.TOO_MANY_FAILURES, State.OVER_BUDGET, State.OUT_OF_TIME}
)


def list_runs(folder: Path) -> list[ListedRun]:
    """List the runs in a folder, the newest first; a folder that is a run itself holds that one."""
    try:
        paths = sorted(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be listed: {error.strerror}", hint="name a folder that holds runs"
        ) from None
    runs = [run for path in paths if (run := _listed(path))]
    if not runs and (itself := _listed(folder)):
        return [itself]
    return sorted(runs, key=lambda run: -run.changed_at)


def state_of(folder: Path) -> State:
    """Tell how a run stands."""
    if holder(folder) is not None:
        return State.RUNNING
    manifest = read_manifest(folder) or {}
    return _stands(_state(_footer(folder)), manifest, layout_of(manifest))


def _listed(folder: Path) -> ListedRun | None:
    try:
        (folder / MANIFEST).lstat()
        read: Callable[[Path], ListedRun | None] = _read if has_our_files(folder) else _nothing
    except OSError:  # there is none, or the folder is closed to us
        read = _read_search
    try:
        return read(folder)
    except OptimizeEvalError as error:
        reason = error.message
    except OSError as error:
        reason = f"{error.filename or folder}: {error.strerror}"
    except (ValueError, RecursionError):
        reason = "its journal's last line is not a JSON object"
    return ListedRun(
        folder=folder,
        state=State.DAMAGED,
        changed_at=changed_at(folder),
        bytes=size_of(folder),
        reason=reason,
    )


def _bare(folder: Path, state: State, held_by: str | None, verdict: Mapping[str, Any]) -> ListedRun:
    """List what is read alike of runs and of searches."""
    return ListedRun(
        folder=folder,
        state=state,
        changed_at=changed_at(folder),
        bytes=size_of(folder),
        pid=_pid(held_by),
        verdict=_text(verdict.get("text")),
        verdict_state=_text(verdict.get("state")),
    )


def _read(folder: Path) -> ListedRun:
    held_by = holder(folder)
    manifest = read_manifest(folder) or {}
    footer = _footer(folder)
    layout = layout_of(manifest)
    state = State.RUNNING if held_by is not None else _stands(_state(footer), manifest, layout)
    summary = _summary(folder, state, manifest)
    board = _stored(folder / LEADERBOARD) if summary and is_bench(manifest) else {}
    stopped = stopped_session(folder)
    verdict = _object((board or _searched(folder, summary) or summary).get("verdict"))
    return replace(
        _bare(folder, state, held_by, verdict),
        winner=_text(verdict.get("winner")),
        search=stopped,
        note=note_of(manifest),
        command=stopped.command if stopped else command_of(manifest, folder),
        axes=_axes(layout, is_bench=is_bench(manifest)),
        created_at=_text(manifest.get("created_at")),
        ended_at=_text(footer.get("ended_at")) if state in _ENDED else None,
        units=_counts(summary) or _known(manifest, layout, state) | _owed_of_search(folder, state),
    )


def _nothing(_folder: Path) -> None:
    """Leave out what is not ours."""


def _read_search(folder: Path) -> ListedRun | None:
    """Read a search that is no run yet."""
    search = read_search(folder)
    if search is None:
        return None
    held_by = holder(folder)
    state = State.RUNNING if held_by is not None else _SEARCHED.get(search.status, State.DONE)
    is_done = state is State.DONE
    verdict = _object(_stored(folder / SEARCH).get("verdict")) if is_done else {}
    return replace(
        _bare(folder, state, held_by, verdict),
        command="" if is_done else search.command,
        note=_text(search.about.get("note")),
        created_at=search.started_at,
        ended_at=search.ended_at if state is not State.RUNNING else None,
        units={"total": search.calls}
        if is_done
        else {"total": search.budget, "owed": search.budget - search.calls},
        search=search,
    )


def _pid(held_by: str | None) -> int | None:
    return int(held_by) if held_by and held_by.isascii() and held_by.isdigit() else None


def _axes(layout: Layout, *, is_bench: bool) -> ComparedAxes:
    return ComparedAxes(
        evaluators=layout.evaluators,
        candidates=layout.candidates,
        task_models=layout.task_models,
        splits={split.name: len(split.lines) for split in layout.splits},
        repeats=layout.repeats,
        baseline=layout.baseline,
        is_bench=is_bench,
    )


def _footer(folder: Path) -> dict[str, Any]:
    """Read what the last session wrote at its end; nothing where it is running, or was killed."""
    path = folder / JOURNAL
    line = last_line(path) if path.is_file() else None
    record = _object(decode(line)) if line else {}
    if "outcome" in record:
        return {}
    check_schema(record, SCHEMA, str(path))
    return record


def _state(footer: Mapping[str, Any]) -> State:
    if "recheck" in footer:  # which follows on the end of a run
        return State.DONE
    status = footer.get("status")
    return next((state for state in _ENDED if state == status), State.UNFINISHED)


def _stands(state: State, manifest: Manifest, layout: Layout) -> State:
    """Hold what the journal's last session said against run.json: a later one may have called nothing."""
    if state in _ENDED and manifest.get("ended_at", "") is None:
        return State.UNFINISHED  # it broke off before its first call
    is_short = state in {State.INTERRUPTED, State.OUT_OF_TIME}
    return State.DONE if is_short and _known(manifest, layout, state).get("owed") == 0 else state


def _stored(path: Path) -> dict[str, Any]:
    """Read a summary or a board; a run without a readable one has no verdict, and is a run all the same."""
    try:
        return _object(strict_json.loads_own(files.load(path, files.OF_A_RUN))) if path.is_file() else {}
    except (OSError, ValueError):
        return {}


def _summary(folder: Path, state: State, manifest: Manifest) -> dict[str, Any]:
    """Read the summary where it is of all that the run has; a killed session may have written none."""
    summary = _stored(folder / SUMMARY) if state in _ENDED else {}
    return summary if fits(summary, folder, manifest) else {}


def _searched(folder: Path, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Read what the search said that a run ended, which knows among how many candidates it chose."""
    if not summary or not (folder / SEARCH).is_file():
        return {}
    document = _stored(folder / SEARCH)
    rows, present = _object(document.get("summary")).get("rows"), summary.get("rows")
    is_of_it = isinstance(rows, list) and isinstance(present, list) and all(row in present for row in rows)
    return document if is_of_it else {}


def _known(manifest: Manifest, layout: Layout, state: State) -> dict[str, int]:
    """Count the calls and, where a last session wrote down what it left, those that are owed."""
    if state not in _ENDED or "ended_at" not in manifest:
        return {"total": layout.size}
    names = {cell[:4] for cell in layout.cells}
    owed = sum(cell["owed"] for cell in manifest["cells"] if cell_name(cell) in names)
    return {"total": layout.size, "owed": owed}


def _owed_of_search(folder: Path, state: State) -> dict[str, int]:
    """Count what is owed of a search's final sweep, which is small, where a kill let nobody write it down."""
    if state is not State.UNFINISHED or not (folder / PROPOSALS).is_file():
        return {}
    document = read_document(folder)
    return {"owed": read_run(folder, document).owed} if document else {}


def _counts(summary: Mapping[str, Any]) -> dict[str, int]:
    units = _object(summary.get("units"))
    return {name: units[name] for name in _UNITS if isinstance(units.get(name), int)}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
