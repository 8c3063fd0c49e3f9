"""Fresh calls about single examples, which are in none of a run's numbers: a ledger of their own.

They stand in the run's journal with `confirm` in the index of `repeat`, so that their keys are their own and
no later --repeats meets them. One that failed is not made again: whether it fails is what is asked.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from optimize_eval.store import journal
from optimize_eval.store.command_units import View
from optimize_eval.store.folder import JOURNAL
from optimize_eval.store.layout import CellName, Layout
from optimize_eval.store.ledger import CONFIRM, OWED, Ledger
from optimize_eval.store.opened_run import StoredRun

_FEWEST = 40
_TIMES = 4  # the calls that an example had

Lines = Sequence[int | None]


def fresh_calls(repeats: int) -> int:
    """Say how many fresh calls decide about an example that had so many."""
    return max(_FEWEST, _TIMES * repeats)


class Confirmations(View):
    """The fresh calls about some examples."""

    again = re.compile(b"%c+" % OWED)

    @property
    def has_some(self) -> bool:
        return any(self.ledger.states)


class ConfirmLedger(Ledger):
    """Where fresh calls stand in a run's journal; all else that it says is the run's own ledger's."""

    counter = CONFIRM

    def __init__(self, run: StoredRun, layout: Layout) -> None:
        super().__init__(replace(run.document, cells=()))
        whole = run.ledger.ledger
        self.repeats = layout.repeats
        self._lines = {split.name: {line: n for n, line in enumerate(split.lines)} for split in layout.splits}
        self.end, self.spending = whole.end, whole.spending
        self.changed, self.changed_models = whole.changed, whole.changed_models
        for cell in layout.cells:
            self.start(cell[:4])

    def read_confirmations(self, run: StoredRun) -> None:
        """Take in the lines of fresh calls, which the run's own ledger has checked."""
        for entry in journal.entries(run.folder / JOURNAL):
            record = journal.glance(entry.line)
            number = self._number(record, entry.offset) if CONFIRM in record else None
            if number is not None and number >= 0:
                self.enter(number, record["outcome"], entry.offset)


def confirmations_of(run: StoredRun, suspects: Mapping[CellName, Lines], repeats: int) -> Confirmations:
    """Give the fresh calls about some examples by their cells, each of which had so many calls."""
    layout = _about(run.layout, suspects, fresh_calls(repeats))
    ledger = ConfirmLedger(run, layout)
    if suspects and run.ledger.ledger.has_confirmations:
        ledger.read_confirmations(run)
    return Confirmations(ledger, layout)


def _about(layout: Layout, suspects: Mapping[CellName, Lines], repeats: int) -> Layout:
    """Give the smallest layout in which all of these are; of none one that is not asked for anything."""
    if not suspects:
        return replace(layout, splits=tuple(split.at(()) for split in layout.splits), repeats=repeats)
    evaluators, candidates, models, splits = (frozenset(axis) for axis in zip(*suspects, strict=True))
    lines = {
        name: {line for cell, own in suspects.items() if cell[3] == name for line in own} for name in splits
    }
    kept = [
        pair for pair in zip(layout.evaluators, layout.score_ranges, strict=True) if pair[0] in evaluators
    ]
    return replace(
        layout,
        evaluators=tuple(name for name, _ in kept),
        score_ranges=tuple(score_range for _, score_range in kept),
        candidates=tuple(name for name in layout.candidates if name in candidates),
        task_models=tuple(name for name in layout.task_models if name in models),
        splits=tuple(
            split.at([index for index, line in enumerate(split.lines) if line in lines[split.name]])
            for split in layout.splits
            if split.name in splits
        ),
        repeats=repeats,
    )
