"""Candidates that join a run while it is open, such as a search's proposals: a line of the journal for each.

run.json is written once before the first of them and once at the end, so each costs what it brings and no
more; after a kill the lines say what is not in run.json.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from optimize_eval.store import journal
from optimize_eval.store.document import Document, cell_name, cell_of
from optimize_eval.store.folder import JOURNAL, read_document, write_document
from optimize_eval.store.layout import Layout
from optimize_eval.store.ledger import Ledger

_NOTHING = (0, 0, 0, 0)  # called so far
_JOINING = "joining"
_JOINED = b'{"joined":'


def join(
    folder: Path, document: Document, ledger: Ledger, candidates: Sequence[Mapping[str, Any]], layout: Layout
) -> bytes:
    """Let candidates join a run's cells; gives the line that its journal is to have before their records.

    `layout` has the evaluators, task models and splits that they are called with. The document and the ledger
    grow in place.
    """
    if not document.get(_JOINING):
        document[_JOINING] = True
        write_document(folder, document)
    names = [candidate["name"] for candidate in candidates]
    splits = [split.name for split in layout.splits]
    cells = list(product(layout.evaluators, names, layout.task_models, splits))
    for cell in cells:
        ledger.start(cell)
    document["candidates"] += candidates
    document["cells"] += [cell_of(cell, _NOTHING) for cell in cells]
    return journal.sealed({"joined": {"candidates": list(candidates), "cells": cells}})


def known_document(folder: Path) -> Document | None:
    """Read run.json and, where a kill left it behind, what has joined since."""
    document = read_document(folder)
    if document is None or not document.pop(_JOINING, False):
        return document
    names = {candidate["name"] for candidate in document["candidates"]}
    there = {cell_name(cell) for cell in document["cells"]}
    for entry in journal.entries(folder / JOURNAL):
        if entry.line.startswith(_JOINED):
            told = journal.decode(entry.line)["joined"]
            cells = [cell_of(cell, _NOTHING) for cell in map(tuple, told["cells"]) if cell not in there]
            document["candidates"] += [
                candidate for candidate in told["candidates"] if candidate["name"] not in names
            ]
            document["cells"] += cells
    return document


def settled(document: Document) -> Document:
    """Give a document that has all that joined, fit to be written."""
    return {key: value for key, value in document.items() if key != _JOINING}
