"""What people note of a run: a short text in its run.json, which is not part of the run's identity."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from optimize_eval.errors import UsageError
from optimize_eval.reading import files
from optimize_eval.store.folder import MANIFEST, hint_for_missing, locked, read_manifest, write_manifest
from optimize_eval.store.manifest import Manifest
from optimize_eval.store.stored import StoredRun

_NOTE = "note"  # its key
_LONGEST = 1000


def note_of(manifest: Manifest) -> str | None:
    """Read the note; None where there is none."""
    note: Any = manifest.get(_NOTE)
    return note if isinstance(note, str) and note else None


def write_note(run: str, text: str) -> None:
    """Note a text of a run, an empty one to note nothing; raises UsageError where that cannot be."""
    check_note(text)
    folder = Path(run).parent if Path(run).name == MANIFEST else Path(run)
    if read_manifest(folder) is None:  # a folder without a run is not made one by locking it
        raise UsageError(f"there is no run in {run!r}", hint=hint_for_missing(run))
    with locked(folder):
        _write(folder, text)


def keep_note(run: StoredRun, text: str | None) -> StoredRun:
    """Note a text of a run whose folder is held; None leaves the note that it has."""
    if text is None or text.strip() == (note_of(run.manifest) or ""):
        return run
    _write(run.folder, text)
    return replace(run, manifest=_noted(run.manifest, text), document=_noted(run.document, text))


def check_note(text: str | None) -> str | None:
    """Raise UsageError for a text that cannot be kept."""
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        raise UsageError("the note is not UTF-8", hint="write it in UTF-8") from None
    if text and len(text) > _LONGEST:
        raise UsageError(f"the note has {len(text):,} letters", hint=f"at most {_LONGEST:,}")
    return text


def _write(folder: Path, text: str) -> None:
    """Change the note in run.json, of any version, and nothing else."""
    document = orjson.loads(files.load(folder / MANIFEST, files.OF_A_RUN))
    write_manifest(folder, _noted(document, text))


def _noted(manifest: Manifest, text: str) -> Manifest:
    without = {key: value for key, value in manifest.items() if key != _NOTE}
    return {**without, _NOTE: text.strip()} if text.strip() else without
