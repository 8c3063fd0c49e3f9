"""What models replied, for those who read a run's records: found in outputs.jsonl by a record's `output`.

In memory is only where each line stands. Who calls models, and writes the file, is tasks' business.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from optimize_eval.store import journal

ReplyIndex = dict[str, tuple[int, int]]  # a line's length and offset, by the reply's key


class StoredReplies:
    """The replies of an open file, by their keys."""

    def __init__(self, descriptor: int, places: ReplyIndex) -> None:
        self._descriptor = descriptor
        self._places = places

    def text(self, key: str | None) -> str | None:
        """Read what a model replied; None where it is not there."""
        place = self._places.get(key or "")
        if place is None:
            return None
        text = journal.decode(os.pread(self._descriptor, *place)).get("output")
        return text if isinstance(text, str) else None


def index_of(path: Path) -> ReplyIndex:
    """Find where each reply stands; nowhere where there is no file."""
    entries = journal.entries(path, journal.AGAIN) if path.is_file() else ()
    return {str(journal.decode(entry.line).get("key")): (entry.length, entry.offset) for entry in entries}


@contextmanager
def replies_in(path: Path, known: ReplyIndex | None = None) -> Iterator[StoredReplies | None]:
    """Open the replies of a run, whose index may be known; None where it has none."""
    if not path.is_file():
        yield None
        return
    places = index_of(path) if known is None else known
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield StoredReplies(descriptor, places)
    finally:
        os.close(descriptor)
