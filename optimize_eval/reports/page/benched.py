"""A bench as a page has it: a column for each model, where a run has its evaluators.

In the folder, models are task models and each task has scorers of its own. A model's column has the scores of
each task's first scorer, as its board does; what further ones say is a column MODEL.SCORER.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from optimize_eval.findings.board_models import is_of_former_layout
from optimize_eval.reports.page.source import PageSource, PlacedLine, PlacedRecords
from optimize_eval.store.layout import Cell, Layout
from optimize_eval.store.manifest import Manifest, is_bench
from optimize_eval.store.stored import StoredRun

_OF_CELLS = ("rows", "side_info", "failures", "skips")  # of a summary: entries with the names of a cell


def on_a_page(stored: StoredRun, source: PageSource) -> PageSource:
    """Give what the page of a run or bench is made from."""
    if not is_bench(stored.manifest) or is_of_former_layout(stored.manifest):
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

    def _run(self, run: Manifest) -> Manifest:
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

    def _entries(self, entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        return [{**one, "evaluator": self._of_entry(one), "task_model": None} for one in entries]

    def _of_entry(self, one: Mapping[str, Any]) -> str:
        split = one["split"] if "split" in one else next(iter(one["splits"]), "")
        return self._name(one["evaluator"], one["task_model"], split)

    def _cell(self, cell: Cell) -> Cell:
        name = self._name(cell.evaluator, cell.task_model, cell.split)
        return cell._replace(evaluator=name, task_model=None)

    def _name(self, evaluator: str, model: str | None, split: str) -> str:
        if model is None:
            return evaluator
        return model if self._first.get(split) == evaluator else f"{model}.{evaluator}"
