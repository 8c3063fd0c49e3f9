"""A search as its own journal tells of it: how far it came, how it ended, and the command that resumes it.

What leads a search, and what it means that it ended so, is not known here.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from optimize_eval.base.frozen import frozen
from optimize_eval.store import journal
from optimize_eval.store.folder import EVALUATIONS, PROPOSALS, SEARCH, holder
from optimize_eval.store.resumed import resume_line

SCHEMA = "optimize-eval.search.v1"
KILLED = "killed"  # the last session says nothing of its end, and nobody holds the folder
UNKNOWN = "unknown"  # an earlier version wrote no ends
_TIME = "time"  # which mostly leaves enough for the final sweep
STOPPED = frozenset({KILLED, "interrupted", "cost", "evaluator", "proposer"})  # before its final sweep

Found = Mapping[str, Any]


@frozen
class StoredSearch:
    """What is recorded; `found` are the candidates that examples chose among, the seed first."""

    folder: Path
    status: str
    sentence: str
    calls: int  # recorded, of this search's own
    about: Mapping[str, Any] = field(default_factory=dict)  # what its last command was about
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

    def to_dict(self) -> dict[str, Any]:
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
    return None if not (folder / PROPOSALS).is_file() else [*_read(folder, is_whole=False)][-1]


def sessions(folder: Path) -> Iterator[StoredSearch]:
    """Read a search as it was at the end of each session that came to one."""
    yield from (search for search in _read(folder, is_whole=True) if search.ending)


def _read(folder: Path, *, is_whole: bool) -> Iterator[StoredSearch]:
    header: dict[str, Any] = {}
    footer: dict[str, Any] = {}
    found: list[dict[str, Any]] = []
    for entry in journal.entries(folder / PROPOSALS, journal.AGAIN):
        match record := journal.decode(entry.line):
            case {"schema": str()}:
                journal.check_schema(record, SCHEMA, f"{folder / PROPOSALS}:{entry.number}")
                header, footer = record, {}
            case {"found": int(number)}:
                found[number:] = [record]
            case {"ended_at": str()}:
                footer = record
                if is_whole:
                    yield _search(folder, header, footer, found)
    if not is_whole:
        yield _search(folder, header, footer, found)


def _search(folder: Path, header: Found, footer: Found, found: Sequence[dict[str, Any]]) -> StoredSearch:
    return StoredSearch(
        folder=folder,
        status=str(footer.get("status", KILLED if "started_at" in header else UNKNOWN)),
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
