"""A run on disk, opened: what its last command was about, what else run.json says, where records are.

Reading needs the folder and nothing else: no evaluator, no dataset. A command that calls opens a run with
what it is about itself, which joins what is there.

What sessions say of themselves at their begin and end changes no number and is passed over, so that a
report of a run that was killed says the same as one after the next session. A mark is compared, not times:
these are others in a copy, and the same within a tick of the clock.
"""

import dataclasses
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

from optimize_eval.base import files, strict_json
from optimize_eval.base.errors import OptimizeEvalError, UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.store import journal
from optimize_eval.store.command_units import CountsAs, Reader, View
from optimize_eval.store.folder import (
    BOARDS,
    JOURNAL,
    MANIFEST,
    OUTPUTS,
    OUTPUTS_SCHEMA,
    PROPOSALS,
    SUMMARY,
    hint_for_missing,
    hold_lock,
    read_document,
    read_manifest,
    write_document,
)
from optimize_eval.store.growth import ExampleTexts, Growth, with_texts
from optimize_eval.store.layout import CellName, Layout
from optimize_eval.store.ledger import OWED, Ledger, UnitTable, is_computed
from optimize_eval.store.manifest import (
    LEAKS,
    MISSHAPEN,
    OVERLAPS,
    Manifest,
    NotARun,
    evaluators_of,
    layout_of,
    resume_line,
    say_edited,
)
from optimize_eval.store.run_document import (
    Document,
    cell_name,
    cell_of,
    document_of,
    everything,
    selected,
    table_of,
)


@frozen
class StoredRun:
    """The folder of a run and what its files say; `ledger` counts what the manifest is about."""

    folder: Path
    manifest: Manifest
    ledger: View
    document: Document
    notes: tuple[str, ...] = ()  # what a command changed by naming it

    @property
    def layout(self) -> Layout:
        return self.ledger.layout

    @property
    def owed(self) -> int:
        """Count the units that have no record yet."""
        return self.ledger.count(OWED, range(self.layout.size))

    def set_margins(self, margins: Mapping[str, float]) -> None:
        """Look at the run with other margins than those it was given."""
        self.ledger.layout = dataclasses.replace(self.ledger.layout, margins=margins)

    def is_unused(self, evaluator: str) -> bool:
        """Return True if an evaluator has scored nothing: another may have its place."""
        return self.ledger.ledger.is_unused(evaluator)

    @contextmanager
    def reader(self, counts_as: CountsAs | None = None) -> Iterator[Reader]:
        """Open the journal for reading the records of one cell after the other, or what they count as."""
        with self.ledger.reader(self.folder / JOURNAL, counts_as) as reader:
            yield reader

    @property
    def owed_by_cell(self) -> dict[CellName, int]:
        """Count what is owed of each cell that the manifest is about."""
        return {
            cell[:4]: self.ledger.count(OWED, range(cell.start, cell.start + cell.size))
            for cell in self.layout.cells
        }

    @property
    def owed_examples(self) -> dict[CellName, list[tuple[int | None, int]]]:
        """List what is owed of each cell that the manifest is about, by line and repeat."""
        lines, repeats = {split.name: split.lines for split in self.layout.splits}, self.layout.repeats
        return {
            cell[:4]: [
                (lines[cell.split][number // repeats], number % repeats + 1)
                for number in self.ledger.never_called(range(cell.start, cell.start + cell.size))
            ]
            for cell in self.layout.cells
        }

    def note_counts(self) -> None:
        """Write down what a session has come to, cell by cell, where that is not what is written already."""
        owed = self.owed_by_cell
        counts = self.ledger.ledger.counts
        names = map(cell_name, self.document["cells"])
        cells = [cell_of(name, (*counts(name), owed.get(name, 0))) for name in names]
        is_open = self.document.get("ended_at", "") is None
        if is_open or cells != self.document["cells"]:
            update = {"ended_at": datetime.now(UTC).isoformat(timespec="seconds"), "cells": cells}
            self.document.update(update)
            write_document(self.folder, self.document)


def open_stored(run: str | Path) -> StoredRun:
    """Open a run by its folder or by its run.json; raises UsageError where there is none."""
    folder = Path(run).parent if Path(run).name == MANIFEST else Path(run)
    try:
        document = read_document(folder)
        if document is None or not (folder / JOURNAL).exists():
            raise _no_run(folder, run)
        return read_run(folder, document)
    except NotARun as error:
        if not error.message.startswith(MANIFEST):
            raise
        rest = error.message.removeprefix(MANIFEST)
        raise NotARun(f"{folder / MANIFEST}{rest}", hint=error.hint) from None


def _no_run(folder: Path, run: str | Path) -> UsageError:
    if not (folder / MANIFEST).exists() and (folder / PROPOSALS).is_file():
        hint = f"`optimize-eval report {shlex.quote(str(folder))}` says how far it is"
        return UsageError(f"{folder} is a search without a final sweep, and no run yet", hint=hint)
    return UsageError(f"there is no run in {str(run)!r}", hint=hint_for_missing(run))


def read_run(folder: Path, document: Document, notes: tuple[str, ...] = ()) -> StoredRun:
    """Read the journal of a run whose run.json is known."""
    return _run(folder, document, lambda table: Ledger.read(folder / JOURNAL, table), notes)


def _run(
    folder: Path, document: Document, read: Callable[[UnitTable], Ledger], notes: tuple[str, ...] = ()
) -> StoredRun:
    try:
        manifest, table = selected(document), table_of(document)
    except MISSHAPEN as error:
        raise say_edited(error) from None
    view = View(read(table), layout_of(manifest))
    return StoredRun(folder=folder, manifest=manifest, ledger=view, document=document, notes=notes)


def extend(
    folder: Path,
    manifest: Manifest,
    describe: Callable[[], ExampleTexts] | None,
    *,
    fresh: bool = False,
    replace: Collection[str] = (),
) -> StoredRun:
    """Make a locked folder ready for a session of what a manifest says, and say what of it is known."""
    if fresh:
        made = folder.glob(BOARDS)
        old = SUMMARY, OUTPUTS, JOURNAL, MANIFEST
        for path in (*made, *(folder / name for name in old)):
            path.unlink(missing_ok=True)
    known = read_document(folder)
    if known is None and (folder / JOURNAL).exists():
        raise NotARun(f"{folder} has a journal but no {MANIFEST}", hint="--fresh starts over")
    remade = () if known is None else tuple(_remake_headers(folder, known))
    run = look(folder, known, manifest, describe, replace=replace)
    run = dataclasses.replace(run, notes=(*remade, *run.notes)) if remade else run
    if run.document != known:
        if known is not None:  # until the session's end, the word of an earlier one is of something else
            run.document["ended_at"] = None
        write_document(folder, run.document)
    return run


def _remake_headers(folder: Path, known: Document) -> Iterator[str]:
    """Make first lines again that are damaged, and say of which files."""
    header = journal.header(known["id"], str(known.get("created_at", "")))
    for name, made in ((JOURNAL, header), (OUTPUTS, {"schema": OUTPUTS_SCHEMA})):
        if journal.remake_header(folder / name, made):
            origin = f" from {MANIFEST}" * (name == JOURNAL)
            yield f"the first line of {folder / name} was damaged, and was made again{origin}"


def look(
    folder: Path,
    known: Document | None,
    manifest: Manifest,
    describe: Callable[[], ExampleTexts] | None = None,
    *,
    replace: Collection[str] = (),
) -> StoredRun:
    """Look at a run, of which run.json is known if there is one, as it is when it is extended so."""
    if known is None:
        return _run(folder, with_texts(document_of(manifest), None, describe), Ledger)
    past = cache(lambda: Ledger.read(folder / JOURNAL, table_of(known)))
    growth = Growth(known=known, wanted=document_of(manifest), past=past, replace=replace)
    try:
        document = with_texts(growth.document(), known, describe)
    except UsageError:
        raise
    except MISSHAPEN as error:
        raise say_edited(error) from None
    return read_run(folder, document, tuple(growth.notes))


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


def journal_end(folder: Path, manifest: Manifest) -> JournalEnd:
    """Read where a run's journal ends; raises OSError, ValueError or Damaged where that cannot be told."""
    end, crc = _last_that_counts(folder / JOURNAL)
    return JournalEnd(end=end, crc=crc, run=f"{crc32(strict_json.dumps_own(_about(manifest))):08x}")


def fits(summary: Mapping[str, Any], folder: Path, manifest: Manifest) -> bool:
    """Return True if a stored summary is of all that a run has now."""
    try:
        end = journal_end(folder, manifest)
    except (OSError, ValueError, OptimizeEvalError):
        return False
    return bool(summary.get("journal") == {"end": end.end, "crc": end.crc, "run": end.run})


def _about(manifest: Manifest) -> list[Any]:
    settings = manifest.get("settings") or {}
    in_common = [settings[key] for key in (OVERLAPS, LEAKS) if key in settings]
    return [*(manifest.get(key) for key in (*_AXES, *_CHOSEN)), settings.get("margins"), *in_common]


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
    with hold_lock(folder):
        _write(folder, {_NOTE: text})


def keep_words(run: StoredRun, note: str | None, command: str) -> StoredRun:
    """Note a text of a run whose folder is held, and who works on it; None leaves the note that it has."""
    words = {_COMMAND: command, **({} if note is None else {_NOTE: note})}
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
    """Change these words in run.json, and nothing else."""
    document = strict_json.loads_own(files.load(folder / MANIFEST, files.OF_A_RUN))
    write_document(folder, _with(document, words))


def _with(manifest: Manifest, words: Mapping[str, str]) -> Manifest:
    given = {key: text.strip() for key, text in words.items()}
    changed = {**{key: value for key, value in manifest.items() if key not in given}, **given}
    return {key: value for key, value in changed.items() if value != "" or key not in given}


_SHOWN = 3


def with_everything(run: StoredRun) -> StoredRun:
    """Look at all that a run has, superseded versions by names of their own."""
    manifest = everything(run.document)
    return replace(run, manifest=manifest, ledger=run.ledger.of(layout_of(manifest)))


def say_unnamed(document: Document, named: Collection[str] = ()) -> str:
    """Say what the last command left out; empty where that is nothing. `named` are further evaluators."""
    every, chosen = everything(document), document["selection"]
    evaluators = [entry["name"] for entry in evaluators_of(every) if entry["name"] not in named]
    axes = {
        "evaluator": (evaluators, chosen["evaluators"]),
        "candidate": ([candidate["name"] for candidate in every["candidates"]], chosen["candidates"]),
        "model" if every.get("models") else "task model": (every["task_models"], chosen["task_models"]),
    }
    axis_notes = [_say_names(axis, _without(names, now)) for axis, (names, now) in axes.items()]
    return "; ".join(filter(None, [*axis_notes, *_examples(document), _repeats(document)]))


def _without(names: Iterable[Any], now: Iterable[Any]) -> list[Any]:
    chosen = frozenset(now)
    return [name for name in names if name not in chosen]


def _say_names(axis: str, names: list[Any]) -> str:
    some = [str(name or "none") for name in names[:_SHOWN]]
    more = [f"{len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else []
    return f"{axis}{'s' * (len(names) > 1)} {', '.join([*some, *more])}" if names else ""


def _examples(document: Document) -> Iterator[str]:
    chosen = {split["name"]: len(split["lines"]) for split in document["selection"]["splits"]}
    for split in document["splits"]:
        left = len(split["lines"]) - chosen.get(split["name"], 0)
        if left:
            yield f"{left:,} example{'s' * (left > 1)} of {split['name']}"


def _repeats(document: Document) -> str:
    left = document["repeats"] - document["selection"]["repeats"]
    return f"{left:,} repeat{'s' * (left > 1)}" if left else ""
