"""What a page is made from: the documents of a run, a bench or a search as they stand in its folder.

The only module of the page that knows how a run is stored.

In the folder, models are task models and each task has scorers of its own. A model's column has the scores of
each task's first scorer, as its board does; what further ones say is a column MODEL.SCORER.
"""

import hashlib
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from typing import Any

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import OptimizeEvalError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.shipped import VERSION
from optimize_eval.data.datasets import read_dataset
from optimize_eval.findings.board_shapes import Board
from optimize_eval.findings.stored_summary import as_read, summary_of
from optimize_eval.reports.searched import search_on_a_page, unfinished_on_a_page
from optimize_eval.store import journal
from optimize_eval.store.command_units import JournalRecord
from optimize_eval.store.folder import OUTPUTS
from optimize_eval.store.layout import Cell, Layout
from optimize_eval.store.listing import StoredSearch
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.records import index_of, replies_in
from optimize_eval.store.run_json import selected_json

Places = Sequence[int]
PlacedRecords = Iterable[tuple[int, JournalRecord]]  # places in a cell, and the newest record at each
PlacedLine = tuple[Cell, int, bytes, str | None]  # a cell, a place in it, its record's line, a model's reply
Examples = Mapping[int, Any]  # of a split, decoded, by their places


PageRun = JsonDict  # what a page has of run.json: see run_json.selected_json


def evaluators_of(run: PageRun) -> list[JsonDict]:
    """List the evaluators that were named, then those that were added; units are counted in this order."""
    return [*run["evaluators"], *run.get("additions", ())]


@frozen
class PageSource:
    """A run's documents, and two ways to its records: all of them, or the lines of some examples of a split.

    `records` are for numbers: integers beyond 64 bits may be floats. `against` has for each candidate the
    place of whom it is compared with; `more` joins the page's head.
    """

    run: PageRun
    summary: JsonMapping  # as JSON has it: a page hands it on
    search: JsonMapping | None = None  # that the run ended
    boards: Mapping[str, Board] = field(default_factory=dict)
    records: Callable[[], Iterator[tuple[Cell, PlacedRecords]]]
    lines_of: Callable[[str, Places], Iterator[PlacedLine]]
    against: Sequence[int]
    more: JsonMapping = field(default_factory=dict)


def source_of(
    stored: StoredRun,
    *,
    summary: JsonMapping | None = None,
    boards: Mapping[str, Board] | None = None,
) -> PageSource:
    """Say where the documents and records of a run are; a summary that is given stands for the stored one."""
    layout = stored.document.selection
    shown = summary_of(stored) if summary is None else as_read(summary)
    search = search_on_a_page(stored.folder, shown)
    return PageSource(
        run=selected_json(stored.document),
        against=[layout.candidates.index(layout.baseline)] * len(layout.candidates),
        summary=shown if search is None else {**shown, "verdict": search["verdict"]},
        search=search,
        boards=boards or {},
        records=lambda: all_records(stored),
        lines_of=reader_of_lines(stored),
    )


def without_records(
    kind: str,
    verdict: JsonMapping,
    more: JsonMapping,
    *,
    units: Mapping[str, int] | None = None,
    search: JsonMapping | None = None,
    created_at: str | None = None,
) -> PageSource:
    """Say what a page of numbers alone is made from: of something that has no examples."""
    nothing: PageRun = {
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


def examples_of(run: PageRun) -> Mapping[str, Examples]:
    """Read the examples of each split, by their places, where their files still have what was scored."""
    settings = run.get("settings")
    paths = settings.get("paths") if isinstance(settings, dict) else None
    by_split = (paths.get("splits") if isinstance(paths, dict) else None) or {}
    return {
        split["name"]: _same_examples(split, by_split.get(split["name"])) if split["lines"] != [None] else {}
        for split in run["splits"]
    }


def _same_examples(split: JsonMapping, path: str | None) -> Examples:
    if path is None:
        return {}
    try:
        at = {example.line: example for example in read_dataset(path, most=None).examples}
    except (OptimizeEvalError, OSError):
        return {}
    return {
        index: at[line].value
        for index, (line, digest) in enumerate(zip(split["lines"], split["sha256"], strict=True))
        if line in at and hashlib.sha256(at[line].raw).hexdigest() == digest
    }


def all_records(stored: StoredRun) -> Iterator[tuple[Cell, PlacedRecords]]:
    """Read the newest record of each unit, cell by cell."""
    with stored.reader() as reader:
        for cell in stored.layout.cells:
            yield cell, reader.for_numbers(cell)


def reader_of_lines(stored: StoredRun) -> Callable[[str, Places], Iterator[PlacedLine]]:
    """Give a way to the lines of some examples, each with what a model replied, if one did."""
    path = stored.folder / OUTPUTS
    known = cache(lambda: index_of(path))

    def lines_of(split: str, places: Places) -> Iterator[PlacedLine]:
        if not stored.document.selected_models:
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


_OF_CELLS = ("rows", "side_info", "failures", "skips")  # of a summary: entries with the names of a cell


def bench_on_a_page(stored: StoredRun, source: PageSource) -> PageSource:
    """Give what the page of a run or bench is made from."""
    if not stored.document.is_bench:
        return source
    return _Columns(stored.layout).source(source)


class _Columns:
    """The columns of a bench, by what its cells are called in its folder."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._first = {
            split: name for name in reversed(layout.evaluators) for split in layout.splits_of.get(name, ())
        }

    def source(self, source: PageSource) -> PageSource:
        def records() -> Iterator[tuple[Cell, PlacedRecords]]:
            return ((self._cell(cell), known) for cell, known in source.records())

        def lines_of(split: str, places: Sequence[int]) -> Iterator[PlacedLine]:
            for cell, place, line, reply in source.lines_of(split, places):
                yield self._cell(cell), place, line, reply

        entries = {name: self._entries(source.summary.get(name, [])) for name in _OF_CELLS}
        return replace(
            source,
            run=self._run(source.run),
            summary={**source.summary, **entries},
            records=records,
            lines_of=lines_of,
        )

    def _run(self, run: PageRun) -> PageRun:
        """Write down what run.json would say if models were evaluators; they come first."""
        models = {entry["name"]: entry for entry in run["models"]}
        names = dict.fromkeys(self._cell(cell).evaluator for cell in self._layout.cells)
        columns = [
            *(name for name in models if name in names),
            *(name for name in names if name not in models),
        ]
        scorers = {self._cell(cell).evaluator: cell.evaluator for cell in self._layout.cells}
        entries = [
            models.get(name) or {"name": name, "text": name, "scorer": scorers[name]} for name in columns
        ]
        return {**run, "evaluators": entries, "additions": [], "task_models": [None]}

    def _entries(self, entries: Iterable[JsonMapping]) -> list[JsonDict]:
        return [{**entry, "evaluator": self._of_entry(entry), "task_model": None} for entry in entries]

    def _of_entry(self, one: JsonMapping) -> str:
        split = one["split"] if "split" in one else next(iter(one["splits"]), "")
        return self._name(one["evaluator"], one["task_model"], split)

    def _cell(self, cell: Cell) -> Cell:
        name = self._name(cell.evaluator, cell.task_model, cell.split)
        return cell._replace(evaluator=name, task_model=None)

    def _name(self, evaluator: str, model: str | None, split: str) -> str:
        if model is None:
            return evaluator
        return model if self._first.get(split) == evaluator else f"{model}.{evaluator}"


SEARCH = "search"  # a kind of pages


def search_source(stored: StoredSearch, *, is_running: bool) -> PageSource:
    """Say it from the search's own journal."""
    search = unfinished_on_a_page(stored, is_running=is_running)
    owed = max(0, stored.budget - stored.calls)
    return without_records(
        SEARCH,
        search["verdict"],
        {
            "commands": {
                "report": f"optimize-eval report {shlex.quote(str(stored.folder))}",
                "resume": stored.command,
            }
        },
        units={"total": stored.calls + owed, "owed": owed},
        search=search,
        created_at=stored.started_at,
    )
