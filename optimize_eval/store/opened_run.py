"""A run on disk, opened: what its last command was about, what else run.json says, where records are.

Reading needs the folder and nothing else: no evaluator, no dataset. A command that calls opens a run with
what it is about itself, which joins what is there.

What a run keeps in words stands here, too: the note that somebody made, and the command that works on it. A
folder may have been renamed, or come from somebody else: so what is kept of a command is read as words, each
of which is quoted again, it starts nothing but a command of ours, and the folder is the one that was read.
"""

import dataclasses
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from optimize_eval.base.checks import check_note
from optimize_eval.base.errors import UsageError
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
    NotARun,
    hint_for_missing,
    hold_lock,
)
from optimize_eval.store.growth import ExampleTexts, Growth, with_texts
from optimize_eval.store.layout import CellName, Layout
from optimize_eval.store.ledger import OWED, Ledger
from optimize_eval.store.run_document import COMMAND, NOTE, RunDocument, counted_cell
from optimize_eval.store.run_json import read_document, write_document


@frozen
class StoredRun:
    """The folder of a run and what its files say; `ledger` counts what the document selects."""

    folder: Path
    document: RunDocument
    ledger: View
    notes: tuple[str, ...] = ()  # what a command changed by naming it

    @property
    def layout(self) -> Layout:
        return self.document.selection

    @property
    def owed(self) -> int:
        """Count the units that have no record yet."""
        return self.ledger.count(OWED, range(self.layout.size))

    def select(self, layout: Layout) -> "StoredRun":
        """Look at other examples of the run, or by other margins than those it was given."""
        document = replace(self.document, selection=layout)
        return replace(self, document=document, ledger=self.ledger.of(layout))

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
        """Count what is owed of each cell that is selected."""
        return {
            cell[:4]: self.ledger.count(OWED, range(cell.start, cell.start + cell.size))
            for cell in self.layout.cells
        }

    def owed_examples(self) -> Iterator[tuple[CellName, list[tuple[int | None, int]]]]:
        """List what is owed of each cell that is selected, by line and repeat."""
        lines, repeats = {split.name: split.lines for split in self.layout.splits}, self.layout.repeats
        for cell in self.layout.cells:
            owed = self.ledger.never_called(range(cell.start, cell.start + cell.size))
            places = (divmod(number - cell.start, repeats) for number in owed)
            yield cell[:4], [(lines[cell.split][line], repeat + 1) for line, repeat in places]

    def note_counts(self) -> None:
        """Write down what a session has come to, cell by cell, where that is not what is written already."""
        document, owed = self.document, self.owed_by_cell
        counts = self.ledger.ledger.counts
        cells = tuple(
            counted_cell(cell.name, (*counts(cell.name), owed.get(cell.name, 0))) for cell in document.cells
        )
        if document.is_open or cells != document.cells:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            write_document(self.folder, replace(document.end_at(now), cells=cells))


def open_stored(run: str | Path) -> StoredRun:
    """Open a run by its folder or by its run.json; raises UsageError where there is none."""
    folder = Path(run).parent if Path(run).name == MANIFEST else Path(run)
    document = read_document(folder)
    if document is None or not (folder / JOURNAL).exists():
        raise _no_run(folder, run)
    return read_run(folder, document)


def _no_run(folder: Path, run: str | Path) -> UsageError:
    if not (folder / MANIFEST).exists() and (folder / PROPOSALS).is_file():
        hint = f"`optimize-eval report {shlex.quote(str(folder))}` says how far it is"
        return UsageError(f"{folder} is a search without a final sweep, and no run yet", hint=hint)
    return UsageError(f"there is no run in {str(run)!r}", hint=hint_for_missing(run))


def read_run(folder: Path, document: RunDocument, notes: tuple[str, ...] = ()) -> StoredRun:
    """Read the journal of a run whose run.json is known."""
    view = View(Ledger.read(folder / JOURNAL, document), document.selection)
    return StoredRun(folder=folder, document=document, ledger=view, notes=notes)


def extend(
    folder: Path,
    wanted: RunDocument,
    describe: Callable[[], ExampleTexts] | None,
    *,
    fresh: bool = False,
    replace: Collection[str] = (),
) -> StoredRun:
    """Make a locked folder ready for a session of what is wanted, and say what of it is known."""
    if fresh:
        made = folder.glob(BOARDS)
        old = SUMMARY, OUTPUTS, JOURNAL, MANIFEST
        for path in (*made, *(folder / name for name in old)):
            path.unlink(missing_ok=True)
    known = read_document(folder, is_to_grow=True)
    if known is None and (folder / JOURNAL).exists():
        raise NotARun(f"{folder} has a journal but no {MANIFEST}", hint="--fresh starts over")
    remade = () if known is None else tuple(_remake_headers(folder, known))
    run = look(folder, known, wanted, describe, replace=replace)
    run = dataclasses.replace(run, notes=(*remade, *run.notes)) if remade else run
    if run.document != known:
        if known is not None:  # until the session's end, the word of an earlier one is of something else
            run = dataclasses.replace(run, document=run.document.end_at(None))
        write_document(folder, run.document)
    return run


def _remake_headers(folder: Path, known: RunDocument) -> Iterator[str]:
    """Make first lines again that are damaged, and say of which files."""
    header = journal.header(known.id, known.created_at or "")
    for name, made in ((JOURNAL, header), (OUTPUTS, {"schema": OUTPUTS_SCHEMA})):
        if journal.remake_header(folder / name, made):
            origin = f" from {MANIFEST}" * (name == JOURNAL)
            yield f"the first line of {folder / name} was damaged, and was made again{origin}"


def look(
    folder: Path,
    known: RunDocument | None,
    wanted: RunDocument,
    describe: Callable[[], ExampleTexts] | None = None,
    *,
    replace: Collection[str] = (),
) -> StoredRun:
    """Look at a run, of which run.json is known if there is one, as it is when it is extended so."""
    if known is None:
        document = with_texts(wanted, None, describe)
        view = View(Ledger(document), document.selection)
        return StoredRun(folder=folder, document=document, ledger=view)
    if known.origin:
        raise UsageError(
            f"{folder} holds results of {known.origin.get('tool')}, which are not called here",
            hint="choose another --out",
        )
    past = cache(lambda: Ledger.read(folder / JOURNAL, known))
    growth = Growth(known=known, wanted=wanted, past=past, replace=replace)
    document = with_texts(growth.document(), known, describe)
    return read_run(folder, document, tuple(growth.notes))


def with_everything(run: StoredRun) -> StoredRun:
    """Look at all that a run has, superseded versions by names of their own."""
    document = run.document.with_everything()
    return replace(run, document=document, ledger=run.ledger.of(document.selection))


_SHOWN = 3


def say_unnamed(document: RunDocument, named: Collection[str] = ()) -> str:
    """Say what the last command left out; empty where that is nothing. `named` are further evaluators."""
    chosen, every = document.selection, [entry.name_in_cells for entry in document.evaluators]
    model = "model" if document.selected_models else "task model"
    axes = {
        "evaluator": ([name for name in every if name not in named], chosen.evaluators),
        "candidate": ([entry.name_in_cells for entry in document.candidates], chosen.candidates),
        model: (document.every_task_model, chosen.task_models),
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


def _examples(document: RunDocument) -> Iterator[str]:
    chosen = {split.name: len(split.lines) for split in document.selection.splits}
    for split in document.splits:
        left = len(split.lines) - chosen.get(split.name, 0)
        if left:
            yield f"{left:,} example{'s' * (left > 1)} of {split.name}"


def _repeats(document: RunDocument) -> str:
    left = document.repeats - document.selection.repeats
    return f"{left:,} repeat{'s' * (left > 1)}" if left else ""


_PROGRAM = "optimize-eval"
_BY_OUT = frozenset({"run", "bench", "optimize"})  # which name their folder so
_RESCORE = "rescore"  # which names it first
_OUT = "--out"


def note_of(document: RunDocument) -> str | None:
    """Read the note; None where there is none."""
    note: object = document.words.get(NOTE)
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


def resume_line(kept: object, folder: Path) -> str:
    """Give the line for a shell; empty where what is kept is no command that resumes."""
    words = _words(kept)
    if len(words) < len((_PROGRAM, "COMMAND")) or words[0] != _PROGRAM:
        return ""
    if words[1] in _BY_OUT:
        return shlex.join(_with_out(words, str(folder)))
    if words[1] == _RESCORE and words[2:] and not words[2].startswith("-"):
        return shlex.join([*words[:2], str(folder), *words[3:]])
    return ""


def _words(kept: object) -> list[str]:
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
