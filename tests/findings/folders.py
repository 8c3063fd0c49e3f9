"""A run's folder in which one session follows another, as it is in memory: nothing is called or written."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from optimize_eval.findings.summary import summarise
from optimize_eval.findings.summary_shape import Summary
from optimize_eval.findings.tried import corrections_in, shown_by
from optimize_eval.store.command_units import View
from optimize_eval.store.layout import Layout
from optimize_eval.store.ledger import Ledger
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.tried import keep_tried_elsewhere
from tests.findings.made import LEAD, Made, document_of, made


@dataclass
class SessionFolder:
    """What is scored is known, by candidate and split; each session names some of it."""

    scores: dict[str, dict[str, Sequence[float]]]
    folder: Path = Path("/nowhere")
    ledger: Ledger = field(init=False)
    end: int = 0

    def __post_init__(self) -> None:
        self.ledger = Ledger(replace(document_of(self._made(self.scores).layout), cells=()))

    def session(self, *names: str, rows: int | None = None) -> Summary:
        """Score what these candidates owe on the first rows, and say what comes out."""
        of = self._made(names, rows)
        run = self._run(of.layout)
        self._score(of)
        summary, _ = summarise(of.layout, of.records, tried=corrections_in(run, of.layout))
        for note in shown_by(run, summary):
            self.ledger.judged.append((self._next(), {"judged": note, "shown_at": "2026-11-20"}))
        return summary

    def reuse(self, other: "SessionFolder") -> None:
        """Know what was tried in another folder, as if scores were taken from there."""
        keep_tried_elsewhere(self.run, other.run)

    @property
    def run(self) -> StoredRun:
        return self._run(self._made(self.scores).layout)

    def _made(self, names: Iterable[str], rows: int | None = None) -> Made:
        splits = next(iter(self.scores.values()))
        sha256 = {name: [f"{n:016x}" for n in range(len(scores))][:rows] for name, scores in splits.items()}
        return made({LEAD: {name: self._some(name, rows) for name in names}}, sha256=sha256)

    def _some(self, name: str, rows: int | None) -> dict[str, Sequence[float]]:
        return {split: scores[:rows] for split, scores in self.scores[name].items()}

    def _run(self, layout: Layout) -> StoredRun:
        document = document_of(self._made(self.scores).layout, sha256="program")
        return StoredRun(
            folder=self.folder,
            document=replace(document, selection=layout),
            ledger=View(self.ledger, layout),
        )

    def _score(self, of: Made) -> None:
        for cell in of.layout.cells:
            start = self.ledger.start(cell[:4])
            for place in range(cell.size):
                if not self.ledger.states[start + place]:
                    self.ledger.enter(start + place, "scored", self._next())

    def _next(self) -> int:
        self.end += 1
        return self.end
