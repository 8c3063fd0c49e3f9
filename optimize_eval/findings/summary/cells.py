"""The cells of a run, each read once, in the order of units: scores, side information, measures, times."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Protocol

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.claims.duplicates import with_copies_joined
from optimize_eval.findings.claims.families import CellFamily
from optimize_eval.findings.measures import MeasuredCells, Measures, of_cells
from optimize_eval.findings.scores import CellReading, Scores
from optimize_eval.findings.shapes.side_info import SideInfoEntry
from optimize_eval.findings.shaping import measured_in
from optimize_eval.findings.sideinfo import SideInfo
from optimize_eval.findings.summary.latency import Latency
from optimize_eval.store.layout import Cell, Layout, Split
from optimize_eval.store.view import JournalRecord


class RecordsByCell(Protocol):
    """A cell's newest records by their places in it, all or those at some places."""

    def __call__(
        self, cell: Cell, places: Iterable[int] | None = None, /
    ) -> Iterable[tuple[int, JournalRecord]]: ...


@frozen
class ReadCells:
    """What the records of all cells come to; copies among a split's lines are joined to clusters."""

    layout: Layout
    splits: Mapping[str, Split]
    scores: dict[tuple[CellFamily, str], Scores] = field(default_factory=dict)
    side_info: list[SideInfoEntry] = field(default_factory=list)
    latency: Latency = field(default_factory=Latency)
    measures: list[tuple[Cell, Measures]] = field(default_factory=list)

    @classmethod
    def read(cls, layout: Layout, records: RecordsByCell) -> "ReadCells":
        cells = cls(layout=layout, splits={split.name: with_copies_joined(split) for split in layout.splits})
        for cell in layout.cells:
            cells._take(cell, records(cell))
        return cells

    def measured(self) -> MeasuredCells:
        """Give what there is of each measure."""
        return of_cells(
            [(measured_in(cell), one, self.splits[cell.split].clusters) for cell, one in self.measures]
        )

    def _take(self, cell: Cell, records: Iterable[tuple[int, JournalRecord]]) -> None:
        lines = self.splits[cell.split].lines
        repeats = self.layout.repeats
        reading = CellReading(cell, lines, repeats, self.layout.score_range(cell.evaluator))
        side_info = SideInfo()
        measures = Measures(len(lines), repeats, self.layout.score_range(cell.evaluator))
        for place, record in records:
            reading.take(place, record)
            self.latency.take(cell, record)
            if record["outcome"] == "scored":
                side_info.take(record, lines[place // repeats])
                measures.take(place // repeats, record)
        self.measures.append((cell, measures))
        self.scores[CellFamily(cell.evaluator, cell.task_model, cell.split), cell.candidate] = reading.done()
        self.side_info.append(side_info.entry(measured_in(cell)))
