"""What a list says of a run or a search, and the age and size of a folder, which need no reading."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path

from optimize_eval.base.frozen import frozen
from optimize_eval.store.folder import EVALUATIONS, JOURNAL, MANIFEST, PROPOSALS
from optimize_eval.store.listing.searches import StoredSearch


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


@frozen
class ComparedAxes:
    """What a run compares, and by what."""

    evaluators: tuple[str, ...]
    candidates: tuple[str, ...]
    task_models: tuple[str | None, ...]
    splits: Mapping[str, int]  # with the number of their examples
    repeats: int
    baseline: str
    is_bench: bool


@frozen
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
    search: StoredSearch | None = None  # one that is no run yet, or that was continued since


def changed_at(folder: Path) -> float:
    """Tell when a run was last written to; one without a journal by its manifest."""
    for name in (JOURNAL, EVALUATIONS, MANIFEST, PROPOSALS):
        try:
            return (folder / name).stat().st_mtime
        except OSError:
            continue
    return 0.0


def size_of(folder: Path) -> int:
    return sum(_sizes(folder))


def _sizes(folder: Path) -> Iterator[int]:
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                yield Path(path, name).lstat().st_size
            except OSError:  # it is gone
                continue
