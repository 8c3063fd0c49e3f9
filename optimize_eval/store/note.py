"""What run.json says beside what a run is about: what people note of it, and the command that resumes it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from optimize_eval.base import files, strict_json
from optimize_eval.base.errors import UsageError
from optimize_eval.store.folder import MANIFEST, hint_for_missing, locked, read_manifest, write_manifest
from optimize_eval.store.manifest import Manifest
from optimize_eval.store.resumed import resume_line
from optimize_eval.store.stored import StoredRun

_NOTE, _COMMAND = "note", "command"  # their keys
_LONGEST = 1000


def note_of(manifest: Manifest) -> str | None:
    """Read the note; None where there is none."""
    note: Any = manifest.get(_NOTE)
    return note if isinstance(note, str) and note else None


def command_of(manifest: Manifest, folder: Path) -> str:
    """Give the line that starts the last session again; empty where it is not known, as from Python."""
    return resume_line(manifest.get(_COMMAND), folder)


def write_note(run: str, text: str) -> None:
    """Note a text of a run, an empty one to note nothing; raises UsageError where that cannot be."""
    check_note(text)
    folder = Path(run).parent if Path(run).name == MANIFEST else Path(run)
    if read_manifest(folder) is None:  # a folder without a run is not made one by locking it
        raise UsageError(f"there is no run in {run!r}", hint=hint_for_missing(run))
    with locked(folder):
        _write(folder, {_NOTE: text})


def keep_words(run: StoredRun, note: str | None, command: str) -> StoredRun:
    """Note a text of a run whose folder is held, and who works on it; None leaves the note that it has."""
    words = {} if run.document.get("upgraded") else {_COMMAND: command}  # a first version stays what it was
    words |= {} if note is None else {_NOTE: note}
    if _with(run.document, words) == run.document:
        return run
    _write(run.folder, words)
    return replace(run, manifest=_with(run.manifest, words), document=_with(run.document, words))


def check_note(text: str | None) -> str | None:
    """Raise UsageError for a text that cannot be kept."""
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        raise UsageError("the note is not UTF-8", hint="write it in UTF-8") from None
    if text and len(text) > _LONGEST:
        raise UsageError(f"the note has {len(text):,} letters", hint=f"at most {_LONGEST:,}")
    return text


def _write(folder: Path, words: Mapping[str, str]) -> None:
    """Change these words in run.json, of any version, and nothing else."""
    document = strict_json.loads_own(files.load(folder / MANIFEST, files.OF_A_RUN))
    write_manifest(folder, _with(document, words))


def _with(manifest: Manifest, words: Mapping[str, str]) -> Manifest:
    given = {key: text.strip() for key, text in words.items()}
    changed = {**{key: value for key, value in manifest.items() if key not in given}, **given}
    return {key: value for key, value in changed.items() if value != "" or key not in given}
