"""What is in a folder of runs and searches, each at a glance, without reading more of a journal than its end.

Only a search's journal of proposals is read. What cannot be read is a problem of that run alone. Who leads,
what it means that a search ended so, and the numbers behind a verdict are not known here.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from optimize_eval.base import files, strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import OF_A_STATE, SEARCH_STATES, OptimizeEvalError, State, UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.store import journal
from optimize_eval.store.folder import (
    EVALUATIONS,
    JOURNAL,
    LEADERBOARD,
    MANIFEST,
    PROPOSALS,
    SEARCH,
    SUMMARY,
    NotARun,
    has_our_files,
    holder,
)
from optimize_eval.store.journal import SCHEMA, check_schema, decode, last_line
from optimize_eval.store.ledger import fits
from optimize_eval.store.opened_run import command_of, note_of, read_run, resume_line
from optimize_eval.store.run_document import ENDED, RunDocument
from optimize_eval.store.run_json import read_document

SEARCH_SCHEMA = "optimize-eval.search.v1"
KILLED = "killed"  # the last session says nothing of its end, and nobody holds the folder
_TIME = "time"  # which mostly leaves enough for the final sweep
STOPPED = frozenset({KILLED, "interrupted", "cost", "evaluator", "proposer"})  # before its final sweep

Found = JsonMapping


@frozen
class StoredSearch:
    """What is recorded; `found` are the candidates that examples chose among, the seed first."""

    folder: Path
    status: str
    sentence: str
    calls: int  # recorded, of this search's own
    about: JsonMapping = field(default_factory=dict)  # what its last command was about
    found: tuple[Found, ...] = ()
    started_at: str | None = None
    ended_at: str | None = None
    ending: Found = field(default_factory=dict)  # what the last session said at its end

    @property
    def seed(self) -> str:
        return str(self.about.get("seed", "seed"))

    @property
    def budget(self) -> int:
        return int(self.about.get("budget", 0))

    @property
    def command(self) -> str:
        """Give the line that resumes it; empty where it is not known."""
        return resume_line(self.about.get("command"), self.folder)

    def to_dict(self) -> JsonDict:
        """Give what lists of runs say of it."""
        best = self.best
        return {
            "status": self.status,
            "ended": self.sentence or None,
            "calls": self.calls,
            "budget": self.budget,
            "candidates": len(self.found),
            "best": best and {"name": self.name_of(best), "search_mean": best["search_mean"]},
            "resume": self.command or None,
        }

    def name_of(self, found: Found) -> str:
        return str(found["name"]) if found["found"] else self.seed

    @property
    def best(self) -> Found | None:
        """Give the first of those with the highest mean in the search."""
        return max(self.found, key=lambda one: float(one["search_mean"]), default=None)


def read_search(folder: Path) -> StoredSearch | None:
    """Read what is recorded of a search; None where there is none."""
    return None if not (folder / PROPOSALS).is_file() else [*_read_proposals(folder, is_whole=False)][-1]


def sessions(folder: Path) -> Iterator[StoredSearch]:
    """Read a search as it was at the end of each session that came to one."""
    yield from (search for search in _read_proposals(folder, is_whole=True) if search.ending)


def _read_proposals(folder: Path, *, is_whole: bool) -> Iterator[StoredSearch]:
    header: JsonDict = {}
    footer: JsonDict = {}
    candidates: list[JsonDict] = []
    for entry in journal.entries(folder / PROPOSALS, journal.AGAIN):
        match record := journal.decode(entry.line):
            case {"schema": str()}:
                _check_header(record, f"{folder / PROPOSALS}:{entry.number}")
                header, footer = record, {}
            case {"found": int(number)}:
                candidates[number:] = [record]
            case {"ended_at": str()}:
                footer = record
                if is_whole:
                    yield _search(folder, header, footer, candidates)
    if not is_whole:
        yield _search(folder, header, footer, candidates)


def _check_header(record: Found, where: str) -> None:
    """Refuse the first line of a session that another version wrote."""
    journal.check_schema(record, SEARCH_SCHEMA, where)
    match record:
        case {"about": {"plan": dict()}}:
            return
    raise journal.UnknownSchema(
        f"{where}: a version before 0.1.0 wrote it, and said less of the search",
        hint="start the search over: its own command with --fresh",
    )


def _search(folder: Path, header: Found, footer: Found, found: Sequence[JsonDict]) -> StoredSearch:
    return StoredSearch(
        folder=folder,
        status=str(footer.get("status", KILLED)),
        sentence=str(footer.get("sentence", "")),
        calls=_calls(folder / EVALUATIONS),
        about=header.get("about", {}),
        found=tuple(found),
        started_at=header.get("started_at"),
        ended_at=footer.get("ended_at"),
        ending=footer,
    )


def stopped_session(folder: Path) -> StoredSearch | None:
    """Read a search whose last session was stopped, where nobody continues it at the moment."""
    path = folder / PROPOSALS
    line = journal.last_line(path) if path.is_file() else None
    if line is None or holder(folder) is not None:
        return None
    status = journal.decode(line).get("status", KILLED)
    if status not in STOPPED and not (status == _TIME and _result_of(folder) != _TIME):
        return None
    search = read_search(folder)
    return search if search and search.status in {*STOPPED, _TIME} else None


def _result_of(folder: Path) -> Any:
    """Say how the search ended whose result stands."""
    try:
        return json.loads((folder / SEARCH).read_bytes()).get("status")
    except (OSError, ValueError, AttributeError):
        return None


def _calls(path: Path) -> int:
    """Count the calls that were made for the search, without those that other runs had made."""
    with suppress(FileNotFoundError):
        return sum("reused_from" not in journal.glance(entry.line) for entry in journal.entries(path))
    return 0


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


_UNITS = ("total", "scored", "failed", "skipped", "owed")


_SEARCHED = {  # how a search ended that came to no final sweep → its state; any other is a good end
    KILLED: State.UNFINISHED,
    **SEARCH_STATES,
}


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
    runs = [run for path in paths if (run := _list_run(path))]
    if not runs and (itself := _list_run(folder)):
        return [itself]
    return sorted(runs, key=lambda run: -run.changed_at)


def state_of(folder: Path) -> State:
    """Tell how a run stands."""
    if holder(folder) is not None:
        return State.RUNNING
    return _stands(_state(_footer(folder)), _document_in(folder))


def _document_in(folder: Path) -> RunDocument:
    document = read_document(folder)
    if document is None:
        raise NotARun(f"{folder / MANIFEST} is gone", hint="name the folder of a run")
    return document


def _list_run(folder: Path) -> ListedRun | None:
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


def _bare(folder: Path, state: State, held_by: str | None, verdict: JsonMapping) -> ListedRun:
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
    document, footer = _document_in(folder), _footer(folder)
    state = State.RUNNING if held_by is not None else _stands(_state(footer), document)
    summary = _summary(folder, state, document)
    board = _read_stored(folder / LEADERBOARD) if summary and document.is_bench else {}
    stopped = stopped_session(folder)
    verdict = _object((board or _read_search_of(folder, summary) or summary).get("verdict"))
    return replace(
        _bare(folder, state, held_by, verdict),
        winner=_text(verdict.get("winner")),
        search=stopped,
        note=note_of(document),
        command=stopped.command if stopped else command_of(document, folder),
        axes=_axes(document),
        created_at=document.created_at,
        ended_at=_text(footer.get("ended_at")) if state in OF_A_STATE else None,
        units=_counts(summary) or _count_known(document, state) | _owed_of_search(folder, state),
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
    verdict = _object(_read_stored(folder / SEARCH).get("verdict")) if is_done else {}
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


def _axes(document: RunDocument) -> ComparedAxes:
    layout = document.selection
    return ComparedAxes(
        evaluators=layout.evaluators,
        candidates=layout.candidates,
        task_models=layout.task_models,
        splits={split.name: len(split.lines) for split in layout.splits},
        repeats=layout.repeats,
        baseline=layout.baseline,
        is_bench=document.is_bench,
    )


def _footer(folder: Path) -> JsonDict:
    """Read what the last session wrote at its end; nothing where it is running, or was killed."""
    path = folder / JOURNAL
    line = last_line(path) if path.is_file() else None
    record = _object(decode(line)) if line else {}
    if "outcome" in record:
        return {}
    check_schema(record, SCHEMA, str(path))
    return record


def _state(footer: JsonMapping) -> State:
    if "recheck" in footer:  # which follows on the end of a run
        return State.DONE
    status = footer.get("status")  # which may be anything: somebody may have edited it
    return next((state for state in OF_A_STATE if state == status), State.UNFINISHED)


def _stands(state: State, document: RunDocument) -> State:
    """Hold what the journal's last session said against run.json: a later one may have called nothing."""
    if state in OF_A_STATE and document.is_open:
        return State.UNFINISHED  # it broke off before its first call
    is_short = state in {State.INTERRUPTED, State.OUT_OF_TIME}
    return State.DONE if is_short and _count_known(document, state).get("owed") == 0 else state


def _read_stored(path: Path) -> JsonDict:
    """Read a summary or a board; a run without a readable one has no verdict, and is a run all the same."""
    try:
        return _object(strict_json.loads_own(files.load(path, files.OF_A_RUN))) if path.is_file() else {}
    except (OSError, ValueError):
        return {}


def _summary(folder: Path, state: State, document: RunDocument) -> JsonDict:
    """Read the summary where it is of all that the run has; a killed session may have written none."""
    summary = _read_stored(folder / SUMMARY) if state in OF_A_STATE else {}
    return summary if fits(summary, folder, document) else {}


def _read_search_of(folder: Path, summary: JsonMapping) -> JsonDict:
    """Read what the search said that a run ended, which knows among how many candidates it chose."""
    if not summary or not (folder / SEARCH).is_file():
        return {}
    document = _read_stored(folder / SEARCH)
    rows, present = _object(document.get("summary")).get("rows"), summary.get("rows")
    is_of_it = isinstance(rows, list) and isinstance(present, list) and all(row in present for row in rows)
    return document if is_of_it else {}


def _count_known(document: RunDocument, state: State) -> dict[str, int]:
    """Count the calls and, where a last session wrote down what it left, those that are owed."""
    layout = document.selection
    if state not in OF_A_STATE or ENDED not in document.words:
        return {"total": layout.size}
    names = {cell[:4] for cell in layout.cells}
    owed = sum(cell.owed for cell in document.cells if cell.name in names)
    return {"total": layout.size, "owed": owed}


def _owed_of_search(folder: Path, state: State) -> dict[str, int]:
    """Count what is owed of a search's final sweep, which is small, where a kill let nobody write it down."""
    if state is not State.UNFINISHED or not (folder / PROPOSALS).is_file():
        return {}
    document = read_document(folder)
    return {"owed": read_run(folder, document).owed} if document else {}


def _counts(summary: JsonMapping) -> dict[str, int]:
    units = _object(summary.get("units"))
    return {name: units[name] for name in _UNITS if isinstance(units.get(name), int)}


def _object(value: object) -> JsonDict:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
