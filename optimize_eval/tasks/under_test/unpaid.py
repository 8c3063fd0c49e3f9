"""Replies that are written down while no record of a journal beside them says what they took.

A kill between a reply and its first score leaves such ones. The first record that takes one over then says
it, so that each is counted once. Replies of other runs are none: what they took is counted there.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from optimize_eval.base.spent import is_of_reply
from optimize_eval.store import journal
from optimize_eval.store.folder import EVALUATIONS, JOURNAL

OWN = "called_here"  # of a reply that took something in this very run


def unpaid_in(outputs: Path) -> set[str]:
    """List the keys of such replies."""
    if not outputs.is_file():
        return set()
    unpaid = {str(record["key"]) for record in _records(outputs, OWN) if record.get(OWN)}
    for records in (outputs.with_name(name) for name in (JOURNAL, EVALUATIONS)):  # of a run, of a search
        for record in _records(records, "usage") if unpaid and records.is_file() else ():
            unpaid.difference_update(_paid(record))
    return unpaid


def as_copied(line: bytes) -> bytes:
    """Write the line of a reply as another run keeps it."""
    if OWN.encode() not in line:
        return line
    record = journal.decode(line)
    return journal.sealed({key: value for key, value in record.items() if key not in {OWN, "crc"}})


def _records(path: Path, having: str) -> Iterator[Mapping[str, Any]]:
    mark = f'"{having}":'.encode()
    return (journal.glance(entry.line) for entry in journal.entries(path) if mark in entry.line)


def _paid(record: Mapping[str, Any]) -> Iterator[str]:
    for usage in record.get("usage", ()):
        if is_of_reply(usage):
            yield usage.get("output") or record.get("output", "")
