"""What people note of a run: a short text in its run.json, which is no part of what makes a run the same."""

from pathlib import Path
from typing import Any

from optimize_eval.errors import UsageError
from optimize_eval.store.folder import MANIFEST, locked, read_manifest, write_json
from optimize_eval.store.manifest import Manifest

NOTE = "note"  # its key
_LONGEST = 1000


def noted(manifest: Manifest, text: str | None) -> Manifest:
    """Give a manifest a note; an empty one stands for none, None leaves what is there."""
    return manifest if text is None else {**manifest, NOTE: _checked(text.strip())}


def note_of(manifest: Manifest) -> str | None:
    """Read the note; None where there is none."""
    note: Any = manifest.get(NOTE)
    return note if isinstance(note, str) and note else None


def write_note(run: str, text: str) -> None:
    """Note a text of a run on disk, or take its note away; raises UsageError where that cannot be."""
    folder = Path(run).parent if Path(run).name == MANIFEST else Path(run)
    if read_manifest(folder) is None:  # a folder without a run is not made one by locking it
        raise UsageError(f"there is no run in {run!r}", hint="`optimize-eval runs` lists what there is")
    with locked(folder):
        manifest = read_manifest(folder) or {}
        write_json(folder / MANIFEST, noted(manifest, text))


def _checked(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError("the note is not UTF-8", hint="write it in UTF-8") from None
    if len(text) > _LONGEST:
        raise UsageError(f"the note has {len(text):,} letters", hint=f"at most {_LONGEST:,}")
    return text
