"""The runs in a folder, each at a glance: what it compares, its state, its stored verdict, its age and size.

Reads no journal but its end, and reports what cannot be read as a problem of that run alone. The
numbers behind a verdict are not known here.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

from optimize_eval.errors import OptimizeEvalError, UsageError
from optimize_eval.reading import files
from optimize_eval.store.document import cell_name
from optimize_eval.store.folder import (
    JOURNAL,
    LEADERBOARD,
    MANIFEST,
    SUMMARY,
    has_our_files,
    holder,
    read_manifest,
)
from optimize_eval.store.journal import SCHEMA, check_schema, decode, last_line
from optimize_eval.store.layout import Layout
from optimize_eval.store.manifest import Manifest, is_bench, layout_of
from optimize_eval.store.note import command_of, note_of

_UNITS = ("total", "scored", "failed", "skipped", "owed")


class State(StrEnum):
    """What is known of how a run stands."""

    RUNNING = "running"
    DONE = "done"
    INTERRUPTED = "interrupted"
    TOO_MANY_FAILURES = "too_many_failures"
    OVER_BUDGET = "over_budget"
    OUT_OF_TIME = "out_of_time"
    UNFINISHED = "unfinished"  # its last session said nothing of how it ended: it was killed
    DAMAGED = "damaged"


_ENDED = frozenset(
    {State.DONE, State.INTERRUPTED, State.TOO_MANY_FAILURES, State.OVER_BUDGET, State.OUT_OF_TIME}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedAxes:
    """What a run compares, and by what."""

    evaluators: tuple[str, ...]
    candidates: tuple[str, ...]
    task_models: tuple[str | None, ...]
    splits: Mapping[str, int]  # with the number of their examples
    repeats: int
    baseline: str
    is_bench: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedRun:
    """A run at a glance; `changed_at` is when its journal was written to last, in seconds of the clock."""

    folder: Path
    state: State
    changed_at: float
    bytes: int
    reason: str | None = None  # why it cannot be read
    pid: int | None = None
    verdict: str | None = None
    verdict_state: str | None = None
    winner: str | None = None
    note: str | None = None
    command: str = ""  # that resumes it, where it is known
    axes: "ComparedAxes | None" = None
    created_at: str | None = None
    ended_at: str | None = None
    units: Mapping[str, int] = field(default_factory=dict)


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
    except OSError:  # there is none, or the folder is closed to us
        return None
    try:
        return _read(folder) if has_our_files(folder) else None
    except OptimizeEvalError as error:
        reason = error.message
    except OSError as error:
        reason = f"{error.filename or folder}: {error.strerror}"
    except (ValueError, RecursionError):
        reason = "its journal's last line is not a JSON object"
    return ListedRun(
        folder=folder, state=State.DAMAGED, changed_at=_changed_at(folder), bytes=_size(folder), reason=reason
    )


def _read(folder: Path) -> ListedRun:
    held_by = holder(folder)
    manifest = read_manifest(folder) or {}
    footer = _footer(folder)
    layout = layout_of(manifest)
    state = State.RUNNING if held_by is not None else _stands(_state(footer), manifest, layout)
    summary = _summary(folder, state, manifest, layout.size)
    board = _stored(folder / LEADERBOARD) if summary and is_bench(manifest) else {}
    verdict = _object((board or summary).get("verdict"))
    return ListedRun(
        folder=folder,
        state=state,
        changed_at=_changed_at(folder),
        bytes=_size(folder),
        pid=int(held_by) if held_by and held_by.isascii() and held_by.isdigit() else None,
        verdict=_text(verdict.get("text")),
        verdict_state=_text(verdict.get("state")),
        winner=_text(verdict.get("winner")),
        note=note_of(manifest),
        command=command_of(manifest),
        axes=_axes(layout, is_bench=is_bench(manifest)),
        created_at=_text(manifest.get("created_at")),
        ended_at=_text(footer.get("ended_at")) if state in _ENDED else None,
        units=_counts(summary) or _known(manifest, layout, state),
    )


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
        return _object(orjson.loads(files.load(path, files.OF_A_RUN))) if path.is_file() else {}
    except (OSError, ValueError):
        return {}


def _summary(folder: Path, state: State, manifest: Manifest, calls: int) -> dict[str, Any]:
    """Read the summary where it is the last session's, which may have been killed before it wrote one."""
    if state not in _ENDED:
        return {}
    summary = _stored(folder / SUMMARY)
    units = _counts(summary)
    total = units.get("total", calls)
    is_of_all = total <= calls if manifest.get("additions") else total == calls  # some may be left out
    is_older = not is_of_all or (state is State.DONE and units.get("owed", 0) > 0)
    return {} if is_older else summary


def _known(manifest: Manifest, layout: Layout, state: State) -> dict[str, int]:
    """Count the calls and, where a last session wrote down what it left, those that are owed."""
    if state not in _ENDED or "ended_at" not in manifest:
        return {"total": layout.size}
    names = {cell[:4] for cell in layout.cells}
    owed = sum(cell["owed"] for cell in manifest["cells"] if cell_name(cell) in names)
    return {"total": layout.size, "owed": owed}


def _counts(summary: Mapping[str, Any]) -> dict[str, int]:
    units = _object(summary.get("units"))
    return {name: units[name] for name in _UNITS if isinstance(units.get(name), int)}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _changed_at(folder: Path) -> float:
    """Tell when a run was last written to; one without a journal by its manifest."""
    for name in (JOURNAL, MANIFEST):
        try:
            return (folder / name).stat().st_mtime
        except OSError:
            continue
    return 0.0


def _size(folder: Path) -> int:
    return sum(_sizes(folder))


def _sizes(folder: Path) -> Iterator[int]:
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                yield Path(path, name).lstat().st_size
            except OSError:  # it is gone
                continue
