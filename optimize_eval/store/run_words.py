"""What a run keeps in words: the note that somebody made, and the command that works on it.

A folder may have been renamed, or come from somebody else: so what is kept of a command is read as words,
each of which is quoted again, it starts nothing but a command of ours, and the folder is the one that was
read.
"""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from optimize_eval.base.checks import check_note
from optimize_eval.base.errors import UsageError
from optimize_eval.store.folder import MANIFEST, hint_for_missing, hold_lock
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.run_document import COMMAND, NOTE, RunDocument
from optimize_eval.store.run_json import read_document, write_document

_PROGRAM = "optimize-eval"
_BY_OUT = frozenset({"run", "bench", "optimize"})  # which name their folder so
_RESCORE = "rescore"  # which names it first
_OUT = "--out"


def note_of(document: RunDocument) -> str | None:
    """Read the note; None where there is none."""
    note: Any = document.words.get(NOTE)
    return note if isinstance(note, str) and note else None


def command_of(document: RunDocument, folder: Path) -> str:
    """Give the line that starts the last session again; empty where it is not known, as from Python."""
    return resume_line(document.words.get(COMMAND), folder)


def write_note(run: str, text: str) -> None:
    """Note a text of a run, an empty one to note nothing; raises UsageError where that cannot be."""
    check_note(text)
    folder = Path(run).parent if Path(run).name == MANIFEST else Path(run)
    if read_document(folder) is None:  # a folder without a run is not made one by locking it
        raise UsageError(f"there is no run in {run!r}", hint=hint_for_missing(run))
    with hold_lock(folder):
        if document := read_document(folder):
            write_document(folder, document.with_words({NOTE: text.strip()}))


def keep_words(run: StoredRun, note: str | None, command: str) -> StoredRun:
    """Note a text of a run whose folder is held, and who works on it; None leaves the note that it has."""
    words = {COMMAND: command.strip(), **({} if note is None else {NOTE: note.strip()})}
    document = run.document.with_words(words)
    if document == run.document:
        return run
    write_document(run.folder, document)
    return replace(run, document=document)


def resume_line(kept: Any, folder: Path) -> str:
    """Give the line for a shell; empty where what is kept is no command that resumes."""
    words = _words(kept)
    if len(words) < len((_PROGRAM, "COMMAND")) or words[0] != _PROGRAM:
        return ""
    if words[1] in _BY_OUT:
        return shlex.join(_with_out(words, str(folder)))
    if words[1] == _RESCORE and words[2:] and not words[2].startswith("-"):
        return shlex.join([*words[:2], str(folder), *words[3:]])
    return ""


def _words(kept: Any) -> list[str]:
    """Split into words; none where one could not be pasted: with a line break, say."""
    try:
        words = shlex.split(kept) if isinstance(kept, str) else []
    except ValueError:
        return []
    return words if all(word.isprintable() for word in words) else []


def _with_out(words: list[str], folder: str) -> list[str]:
    end = words.index("--") if "--" in words else len(words)
    for index, word in enumerate(words[:end]):
        if word == _OUT:
            return [*words[: index + 1], folder, *words[index + 2 :]]
        if word.startswith(f"{_OUT}="):
            return [*words[:index], _OUT, folder, *words[index + 1 :]]
    return [*words[:end], _OUT, folder, *words[end:]]
