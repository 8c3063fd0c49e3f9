"""Records on their way to the journal: a thread of its own writes down what has come, some at a time.

A slot waits for the disk only where more records than `most` are unwritten: what a kill finds on its way is
called again, and that is to be no more than a few. What is done with a record beside is the runner's.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from optimize_eval.base.outcome import Failed, Outcome, Scored
from optimize_eval.run.plan import Unit
from optimize_eval.store import journal

_GATHERING = 0.001  # seconds for which records may wait for others
_LONGEST_MESSAGE = 2048


class Record(NamedTuple):
    """An outcome and its line of the journal."""

    unit: Unit
    outcome: Outcome
    line: bytes
    usages: Sequence[Mapping[str, Any]] = ()  # what its calls of models took, as the line has them


class Scribe:
    """Calls `write` with records in the order they came, never twice at a time; thread-safe."""

    def __init__(self, write: Callable[[Sequence[Record]], None], most: int) -> None:
        self._write = write
        self._most = most
        self._waiting: deque[Record] = deque()
        self._writing = threading.Lock()
        self._has_come = threading.Event()
        self._is_closed = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, name="scribe", daemon=True)
        self._thread.start()

    def put(self, record: Record) -> None:
        """Take a record over, and wait where too many are unwritten; raises what writing has met."""
        if self._error:
            raise self._error
        self._waiting.append(record)
        if not self._has_come.is_set():
            self._has_come.set()
        if len(self._waiting) > self._most:
            self.settle()

    def settle(self) -> None:
        """Return when all that was put is written; raises what writing has met."""
        with self._writing:
            if self._waiting and not self._error:
                self._write_all()
        if self._error:
            raise self._error

    def close(self) -> None:
        """Write what is left and end; what writing has met was raised before, or is by `settle`."""
        self._is_closed = True
        self._has_come.set()
        self._thread.join()
        with self._writing:
            if not self._error:
                self._write_all()

    def _serve(self) -> None:
        while not (self._is_closed or self._error):
            self._has_come.wait()
            time.sleep(_GATHERING)
            self._has_come.clear()
            with self._writing:
                if not self._error:
                    self._write_all()

    def _write_all(self) -> None:
        try:
            if records := [self._waiting[place] for place in range(len(self._waiting))]:  # it grows meanwhile
                self._write(records)
                for _ in records:  # only now: until they are written, they count as waiting
                    self._waiting.popleft()
        except BaseException as error:  # noqa: BLE001  raised where records come from
            self._error = error


def record_of(unit: Unit, outcome: Outcome, started_at: str) -> Record:
    fields: dict[str, Any] = {"key": unit.key, **unit.coordinates, "outcome": outcome_name(outcome)}
    if isinstance(outcome, Scored):
        fields["score"] = None if outcome.is_unranked else outcome.score
        if outcome.is_unranked:
            fields["unranked"] = True
        fields["side_info"] = outcome.side_info
        fields |= {"replied": outcome.reply} if outcome.reply else {}
    else:
        if isinstance(outcome, Failed):
            fields["kind"] = str(outcome.kind)
            if outcome.stage:
                fields["stage"] = outcome.stage
        fields["message"] = outcome.message[:_LONGEST_MESSAGE].encode(errors="replace").decode()
        if outcome.side_info:
            fields["side_info"] = outcome.side_info
    if outcome.stderr:
        fields["stderr"] = outcome.stderr
    if outcome.output:
        fields["output"] = outcome.output
    if usages := [usage.to_dict() for usage in outcome.spent.usages]:
        fields["usage"] = usages
    fields["seconds"] = round(outcome.seconds, 6)
    if outcome.spent.waited:
        fields["waited"] = round(outcome.spent.waited, 6)
    fields["attempts"] = outcome.attempts
    fields["started_at"] = started_at
    return Record(unit, outcome, journal.sealed(fields), usages)


def outcome_name(outcome: Outcome) -> str:
    if isinstance(outcome, Scored):
        return "scored"
    return "failed" if isinstance(outcome, Failed) else "skipped"


class Clock:
    """The time of day as text, in milliseconds; the second is written once for all that fall into it."""

    def __init__(self) -> None:
        self._second = (-1, "")

    def now(self) -> str:
        second, rest = divmod(time.time_ns(), 1_000_000_000)
        written, text = self._second
        if written != second:
            text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            self._second = second, text
        return f"{text}.{rest // 1_000_000:03d}+00:00"
