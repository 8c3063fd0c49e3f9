"""What a page is made from: the documents of a run as they stand in its folder, and its records.

The only module of the page that knows how a run is stored.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Any

from optimize_eval.base.errors import OptimizeEvalError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.version import VERSION
from optimize_eval.data.datasets import read_dataset
from optimize_eval.findings.board_shapes import Board
from optimize_eval.findings.stored_summary import as_read, summary_of
from optimize_eval.reports.searched import on_a_page
from optimize_eval.store import journal
from optimize_eval.store.folder import OUTPUTS
from optimize_eval.store.layout import Cell
from optimize_eval.store.manifest import Manifest
from optimize_eval.store.records import index_of, replies_in
from optimize_eval.store.stored import StoredRun
from optimize_eval.store.view import JournalRecord

Places = Sequence[int]
PlacedRecords = Iterable[tuple[int, JournalRecord]]  # places in a cell, and the newest record at each
PlacedLine = tuple[Cell, int, bytes, str | None]  # a cell, a place in it, its record's line, a model's reply
Examples = Mapping[int, Any]  # of a split, decoded, by their places


@frozen
class PageSource:
    """A run's documents, and two ways to its records: all of them, or the lines of some examples of a split.

    `records` are for numbers: integers beyond 64 bits may be floats. `against` has for each candidate the
    place of whom it is compared with; `more` joins the page's head.
    """

    run: Manifest
    summary: Mapping[str, Any]  # as JSON has it: a page hands it on
    search: Mapping[str, Any] | None = None  # that the run ended
    boards: Mapping[str, Board] = field(default_factory=dict)
    records: Callable[[], Iterator[tuple[Cell, PlacedRecords]]]
    lines_of: Callable[[str, Places], Iterator[PlacedLine]]
    against: Sequence[int]
    more: Mapping[str, Any] = field(default_factory=dict)


def source_of(
    stored: StoredRun,
    *,
    summary: Mapping[str, Any] | None = None,
    boards: Mapping[str, Board] | None = None,
) -> PageSource:
    """Say where the documents and records of a run are; a summary that is given stands for the stored one."""
    names = [candidate["name"] for candidate in stored.manifest["candidates"]]
    shown = summary_of(stored) if summary is None else as_read(summary)
    search = on_a_page(stored.folder, shown)
    return PageSource(
        run=stored.manifest,
        against=[names.index(stored.manifest["baseline"])] * len(names),
        summary=shown if search is None else {**shown, "verdict": search["verdict"]},
        search=search,
        boards=boards or {},
        records=lambda: all_records(stored),
        lines_of=reader_of_lines(stored),
    )


def without_records(
    kind: str,
    verdict: Mapping[str, Any],
    more: Mapping[str, Any],
    *,
    units: Mapping[str, int] | None = None,
    search: Mapping[str, Any] | None = None,
    created_at: str | None = None,
) -> PageSource:
    """Say what a page of numbers alone is made from: of something that has no examples."""
    nothing: Manifest = {
        **{name: [] for name in ("evaluators", "candidates", "task_models", "splits", "group_by")},
        "kind": kind,
        "repeats": 1,
        "seed": 0,
        "version": VERSION,
        "created_at": created_at,
    }
    counts = {**dict.fromkeys(("total", "scored", "failed", "skipped", "owed"), 0), **(units or {})}
    return PageSource(
        run=nothing,
        summary={"verdict": verdict, "units": counts, "rows": [], "side_info": [], "baseline": None},
        search=search,
        records=lambda: iter(()),
        lines_of=lambda _split, _places: iter(()),
        against=[],
        more=more,
    )


def examples_of(run: Manifest) -> Mapping[str, Examples]:
    """Read the examples of each split, by their places, where their files still have what was scored."""
    settings = run.get("settings")
    paths = settings.get("paths") if isinstance(settings, dict) else None
    by_split = (paths.get("splits") if isinstance(paths, dict) else None) or {}
    return {
        split["name"]: _same_examples(split, by_split.get(split["name"])) if split["lines"] != [None] else {}
        for split in run["splits"]
    }


def _same_examples(split: Mapping[str, Any], path: str | None) -> Examples:
    if path is None:
        return {}
    try:
        at = {example.line: example for example in read_dataset(path, most=None).examples}
    except (OptimizeEvalError, OSError):
        return {}
    return {
        place: at[line].value
        for place, (line, digest) in enumerate(zip(split["lines"], split["sha256"], strict=True))
        if line in at and hashlib.sha256(at[line].raw).hexdigest() == digest
    }


def all_records(stored: StoredRun) -> Iterator[tuple[Cell, PlacedRecords]]:
    """Read the newest record of each unit, cell by cell."""
    with stored.reader() as reader:
        for cell in stored.layout.cells:
            yield cell, reader.glances(cell)


def reader_of_lines(stored: StoredRun) -> Callable[[str, Places], Iterator[PlacedLine]]:
    """Give a way to the lines of some examples, each with what a model replied, if one did."""
    path = stored.folder / OUTPUTS
    known = cache(lambda: index_of(path))

    def lines_of(split: str, places: Places) -> Iterator[PlacedLine]:
        if not stored.manifest.get("models"):
            yield from ((*placed, None) for placed in _lines_at(stored, split, places))
            return
        with replies_in(path, known()) as replies:
            for cell, place, line in _lines_at(stored, split, places):
                reply = replies.text(journal.glance(line).get("output")) if replies else None
                yield cell, place, line, reply

    return lines_of


def _lines_at(stored: StoredRun, split: str, places: Places) -> Iterator[tuple[Cell, int, bytes]]:
    repeats = stored.layout.repeats
    units = [place * repeats + repeat for place in places for repeat in range(repeats)]
    with stored.reader() as reader:
        for cell in stored.layout.cells:
            if cell.split == split:
                for place, line in reader.lines(cell, units):
                    yield cell, place, line
