"""What is recorded of calls, read back: by searches, and by final sweeps, which call nothing of it again."""

from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from math import nan
from pathlib import Path
from typing import Any

from optimize_eval.base.errors import FailureKind
from optimize_eval.base.outcome import Failed, Outcome, Scored, Skipped
from optimize_eval.store import journal
from optimize_eval.store.ledger import is_unranked

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
