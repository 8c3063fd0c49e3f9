"""A search's own journal: JSON lines, so that the same command resumes where it was killed.

A search is replayed, not loaded: GEPA runs again with the same seed, scores come from the run's journal,
and this file answers the rest: how many calls each step took from the budget, which calls had
failed when they were looked at, and what proposers replied to a request with this digest. What leads
elsewhere (another seed, dataset, evaluator or proposer) is another search, and is refused.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.store import journal
from optimize_eval.store.listing import SEARCH_SCHEMA

Record = JsonMapping  # a line of the journal
_NOTHING: Record = MappingProxyType({})


class RecordedStep(NamedTuple):
    """What GEPA had scored together: a digest of the pairs, and the calls that they took from the budget."""

    pairs: str
    calls: int


class SearchState:
    """What is recorded of a search, and the writing of more; without a path it is kept in memory only."""

    def __init__(self, path: Path | None, settings: Record, about: Record = _NOTHING) -> None:
        """Read what is there; `about` is for whoever looks at the search from outside."""
        self._path = path
        self._steps: list[RecordedStep] = []
        self._failed: dict[int, list[JsonDict]] = {}  # by step
        self._replies: defaultdict[str, list[JsonDict]] = defaultdict(list)  # by digest
        self._times: Counter[str] = Counter()
        self._found: list[JsonDict] = []
        self._recorded: Record = {}  # settings of the last session
        end = self._read(settings) if path else 0
        self._journal = journal.Journal(path, end) if path else None
        self._write(header_of(settings, about) | {"started_at": _now()})

    def calls(self, step: int, pairs: str, owed: Callable[[], int]) -> int:
        """Tell how many calls a step takes from the budget: as many as when it was first made.

        Where it is about other pairs than then, since a proposer that had failed does no more, what later
        steps took was spent in vain, and counts here.
        """
        if self._is_known(step, pairs):
            return self._steps[step].calls
        return owed() + sum(later.calls for later in self._steps[step:])

    def enter(self, step: int, pairs: str, calls: int, about: Record = _NOTHING) -> None:
        """Record what a step takes, before its calls are made: a kill among them must not give them back.

        `about` is for whoever checks what came of it.
        """
        if not self._is_known(step, pairs):
            self._set(step, RecordedStep(pairs, calls))
            self._write({"step": step, "pairs": pairs, "calls": calls, **about})

    def _is_known(self, step: int, pairs: str) -> bool:
        return step < len(self._steps) and self._steps[step].pairs == pairs

    def _set(self, place: int, step: RecordedStep) -> None:
        """Put a step in its place; what was recorded from there on belongs to an abandoned path."""
        del self._steps[place:]
        self._steps.append(step)
        self._failed = {
            step_number: failed for step_number, failed in self._failed.items() if step_number < place
        }

    def failures_of(self, step: int) -> list[JsonDict] | None:
        """List the failures that a step found; None where it was not seen to its end."""
        return self._failed.get(step)

    def fail(self, step: int, failed: Sequence[Record]) -> None:
        """Record the failures of a step: the final sweep calls them again, and the search must not change."""
        self._failed[step] = [dict(failure) for failure in failed]
        self._write({"step": step, "failed": self._failed[step]})

    def reply(self, digest: str) -> Record | None:
        """Find what was replied to this request, each time it comes up the next one."""
        replies, times = self._replies[digest], self._times[digest]
        self._times[digest] += 1
        return replies[times] if times < len(replies) else None

    def add_reply(self, digest: str, reply: Record) -> None:
        self._write({"request": digest, **reply})

    def add_found(self, candidate: Record) -> None:
        """Record a candidate that examples chose among, once; those that came after another one go."""
        number = int(candidate["found"])
        if self._found[number : number + 1] != [candidate]:
            self._found[number:] = [dict(candidate)]
            self._write(candidate)

    def end(self, status: str, sentence: str, more: Record = _NOTHING) -> None:
        """Record how a session ended, and what it counted on its way."""
        self._write({"ended_at": _now(), "status": status, "sentence": sentence, **more})

    def close(self) -> None:
        if self._journal:
            self._journal.close()

    def _write(self, record: Record) -> None:
        if self._journal:
            self._journal.append(journal.seal(record))

    def _read(self, settings: Record) -> int:
        end = 0
        failed_in_a_row: list[list[JsonDict]] = []
        with suppress(FileNotFoundError):
            for entry in journal.entries(self._path or Path(), journal.AGAIN):
                record = journal.decode(entry.line)
                self._enter(record, failed_in_a_row, entry.number)
                end = entry.offset + entry.length
        _forget(failed_in_a_row)
        if self._steps or self._replies:  # else a first command that could not begin does not bind the next
            self._check(settings)
        return end

    def _enter(
        self,
        record: Record,
        failed_in_a_row: list[list[JsonDict]],
        number: int,
    ) -> None:
        match record:
            case {"schema": str()}:
                journal.check_schema(record, SEARCH_SCHEMA, f"{self._path}:{number}")
                self._recorded = record.get("settings", {})
                _forget(failed_in_a_row)
            case {"step": int(step), "pairs": str(pairs), "calls": int(calls)}:
                self._set(step, RecordedStep(pairs, calls))
            case {"found": int(number)}:
                self._found[number:] = [{name: value for name, value in record.items() if name != "crc"}]
            case {"step": int(step), "failed": list(failed)}:
                self._failed[step] = failed
            case {"request": str(digest)}:
                replies = self._replies[digest]
                replies.append(dict(record))
                failed_in_a_row.append(replies)
                if "candidate" in record:
                    failed_in_a_row.clear()

    def _check(self, wanted: Record) -> None:
        recorded = self._recorded
        changed = sorted(key for key in {**recorded, **wanted} if recorded.get(key) != wanted.get(key))
        if changed:
            raise UsageError(
                f"the search in {(self._path or Path()).parent} had {', '.join(map(_another, changed))}",
                hint="name another folder with --out, or start over with --fresh",
            )


def header_of(settings: Record, about: Record) -> JsonDict:
    """Begin a session: what leads the search, and what whoever looks at it from outside wants to know."""
    return {"schema": SEARCH_SCHEMA, "settings": dict(settings), "about": dict(about)}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _another(name: str) -> str:
    """Say that something was another one.

    >>> _another("--seed"), _another("proposers")
    ('another --seed', 'other proposers')
    """
    return f"other {name}" if name.endswith("s") and not name.startswith("-") else f"another {name}"


def _forget(failed_in_a_row: list[list[JsonDict]]) -> None:
    """Take back failures at a session's end: whoever fixed the proposer wants it called again."""
    for replies in failed_in_a_row:
        replies.pop()
    failed_in_a_row.clear()
