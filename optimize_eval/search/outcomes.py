"""What a search needs of whoever scores: outcomes of pairs, and what is recorded of them, read back.

A search never knows how a run is stored, nor how calls are made. What is recorded is not called again, a
recorded failure neither: inside a search it is final.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from math import nan
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from optimize_eval.base.errors import FailureKind
from optimize_eval.base.outcome import Failed, Outcome, Scored, Skipped
from optimize_eval.store import journal
from optimize_eval.store.ledger import is_unranked


class Trial(NamedTuple):
    """A candidate, as evaluators are given it, and where its example stands; None: there are no examples."""

    text: str
    split: str
    line: int | None


Outcomes = tuple[Outcome, ...]  # of a pair, one for each evaluator, in their order


class Scorer(Protocol):
    """Scores pairs by every evaluator of a search."""

    @property
    def made(self) -> int:
        """Count the calls that were made for the search, in earlier sessions, too."""
        ...

    def owed(self, pairs: Sequence[Trial]) -> int:
        """Count the calls that scoring these pairs would take now."""
        ...

    def reply(self, outcomes: Outcomes) -> str | None:
        """Give what the model replied that was scored, where candidates are prompts."""
        ...

    def score(self, pairs: Sequence[Trial]) -> list[Outcomes]:
        """Make the calls that are owed; raises Over where the search was stopped before they were made."""
        ...


OF_ITS_PLACE = frozenset(  # and what it took, which the search has counted
    ("key", "evaluator", "candidate", "task_model", "split", "line", "repeat", "crc", "usage", "waited")
)


def scored_in(path: Path, keys: Container[str] | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the final records of a journal, what was scored or skipped, with their keys: all or the wanted."""
    with suppress(FileNotFoundError):
        for entry in journal.entries(path):
            record = journal.glance(entry.line)
            is_final = record.get("outcome") in {"scored", "skipped"}
            if is_final and (keys is None or record["key"] in keys):
                yield record["key"], journal.decode(entry.line)


def outcome_of(record: Mapping[str, Any]) -> Outcome:
    """Read what became of a call."""
    output = record.get("output", "")
    match record["outcome"]:
        case "scored":
            has_label = is_unranked(record)
            return Scored(
                score=nan if has_label else float(record["score"]),
                side_info=record["side_info"],
                seconds=record["seconds"],
                output=output,
                is_unranked=has_label,
            )
        case "failed":
            return Failed(
                kind=FailureKind(record["kind"]),
                message=record["message"],
                hint="",
                stderr=record.get("stderr", ""),
                side_info=record.get("side_info", {}),
                seconds=record["seconds"],
                output=output,
            )
    return Skipped(message=record.get("message", ""), side_info=record.get("side_info", {}), output=output)
