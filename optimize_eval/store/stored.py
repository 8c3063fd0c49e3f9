"""A run on disk, opened: what its last command was about, and where each unit's newest record is.

Reading needs the folder and nothing else: no evaluator, no dataset. A command that calls opens a run with
what it is about itself, which joins what is there.
"""

import dataclasses
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.store import journal
from optimize_eval.store.document import Document, cell_name, cell_of, document_of, selected, table_of
from optimize_eval.store.folder import (
    BOARDS,
    JOURNAL,
    MANIFEST,
    OUTPUTS,
    OUTPUTS_SCHEMA,
    PROPOSALS,
    SUMMARY,
    hint_for_missing,
    read_document,
    write_document,
)
from optimize_eval.store.growing.example_texts import ExampleTexts, with_texts
from optimize_eval.store.growing.extend import Growth
from optimize_eval.store.keys import CellName
from optimize_eval.store.layout import Layout
from optimize_eval.store.ledger import OWED, Ledger, UnitTable
from optimize_eval.store.manifest import MISSHAPEN, Manifest, NotARun, edited, layout_of
from optimize_eval.store.view import CountsAs, Reader, View


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
                (lines[cell.split][place // repeats], place % repeats + 1)
                for place in self.ledger.never_called(range(cell.start, cell.start + cell.size))
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
        raise edited(error) from None
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
        old = SUMMARY, OUTPUTS, JOURNAL, MANIFEST, f"{MANIFEST}.v1"
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
        raise edited(error) from None
    return read_run(folder, document, tuple(growth.notes))
