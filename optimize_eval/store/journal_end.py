"""Where a run's journal ends, and whether a stored summary is of all that the run has.

What sessions say of themselves at their begin and end changes no number and is passed over, so that a
report of a run that was killed says the same as one after the next session. A mark is compared, not times:
these are others in a copy, and the same within a tick of the clock.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from optimize_eval.base import files, strict_json
from optimize_eval.base.errors import OptimizeEvalError
from optimize_eval.base.frozen import frozen
from optimize_eval.store import journal
from optimize_eval.store.folder import JOURNAL
from optimize_eval.store.ledger import is_computed
from optimize_eval.store.run_document import LEAKS, OVERLAPS, RunDocument
from optimize_eval.store.run_json import selected_json

_AXES = ("evaluators", "additions", "candidates", "task_models", "models", "splits")
_CHOSEN = ("plan", "repeats", "baseline", "seed", "cluster_by", "group_by")
_SAID = frozenset(
    {"outcome", "changed", "changed_models", "usage", "beside"}
)  # of which a line has one that counts
_FIRST_LOOK = 1 << 16  # bytes at the journal's end


@frozen
class JournalEnd:
    """Where the last line ends that counts, the checksum of that line, and that of what the run is about."""

    end: int
    crc: str
    run: str


def journal_end(folder: Path, document: RunDocument) -> JournalEnd:
    """Read where a run's journal ends; raises OSError, ValueError or Damaged where that cannot be told."""
    end, crc = _last_that_counts(folder / JOURNAL)
    return JournalEnd(end=end, crc=crc, run=f"{crc32(strict_json.dumps_own(_about(document))):08x}")


def fits(summary: Mapping[str, Any], folder: Path, document: RunDocument) -> bool:
    """Return True if a stored summary is of all that a run has now."""
    try:
        end = journal_end(folder, document)
    except (OSError, ValueError, OptimizeEvalError):
        return False
    return bool(summary.get("journal") == {"end": end.end, "crc": end.crc, "run": end.run})


def _about(document: RunDocument) -> list[Any]:
    selected, settings = selected_json(document), document.settings
    in_common = [settings[key] for key in (OVERLAPS, LEAKS) if key in settings]
    return [*(selected.get(key) for key in (*_AXES, *_CHOSEN)), settings.get("margins"), *in_common]


def _last_that_counts(path: Path) -> tuple[int, str]:
    """Look from the journal's end, further back where a line is long."""
    with files.open_file(path) as stream:
        size, look = path.stat().st_size, _FIRST_LOOK
        while True:
            start = max(0, size - look)
            stream.seek(start)
            before, newline, _torn = stream.read(size - start).rpartition(b"\n")
            skipped = before.find(b"\n") + 1 if start else 0  # the first line may have begun before
            end = start + len(before) + len(newline)
            if start == 0 or skipped:
                for line in reversed((before + newline)[skipped:].split(b"\n")[:-1]):
                    if _counts(journal.glance(line)):
                        return end, line[-10:-2].decode("ascii", "replace")
                    end -= len(line) + 1
            if not start:
                return 0, ""
            look *= 8


def _counts(line: Mapping[str, Any]) -> bool:
    return not _SAID.isdisjoint(line) or is_computed(line)
