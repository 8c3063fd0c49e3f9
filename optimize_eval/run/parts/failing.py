"""Parts of a run that fail too often where the whole does not.

Calls are counted by evaluator or, in a bench, by model. A part is what fails on its own all the same: a
scorer of a bench, a candidate or a task model of a run.
"""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from optimize_eval.base.outcome import SCORER, Failed, Outcome, Progress
from optimize_eval.run.plan import Plan, Unit
from optimize_eval.store.layout import Cell

Count = Callable[[range], int]


class Prevalent(NamedTuple):
    """The parts that failed and scored nothing, and those that failed more often than not."""

    unscored: tuple[Progress, ...] = ()
    weak: tuple[Progress, ...] = ()


class _Part(NamedTuple):
    """What an evaluator is called about: with a name for people."""

    name: str
    evaluator: str
    candidate: str | None = None
    task_model: str | None = None

    def has(self, cell: Cell) -> bool:
        is_of = self.candidate in {None, cell.candidate} and self.task_model in {None, cell.task_model}
        return is_of and cell.evaluator == self.evaluator


class PartFailures:
    """The failures of a plan's parts."""

    def __init__(self, plan: Plan) -> None:
        self._layout = plan.layout
        self._is_bench = plan.by_model
        self._progress: dict[_Part, Progress] = {}

    def count(self, unit: Unit, outcome: Outcome) -> None:
        if isinstance(outcome, Failed) and (outcome.stage == SCORER or not self._is_bench):
            for part in self._parts_of(unit):
                progress = self._progress.get(part) or self._begin(part)
                progress.count(outcome, unit.coordinates)

    def prevalent(self, scored: Count, skipped: Count, told: Collection[Progress] = ()) -> Prevalent:
        """List them, but for parts of evaluators that are `told` of as a whole."""
        unscored: list[Progress] = []
        weak: list[Progress] = []
        whole = {progress.name for progress in told}
        for part, progress in self._progress.items():
            units = [
                range(cell.start, cell.start + cell.size) for cell in self._layout.cells if part.has(cell)
            ]
            many = sum(map(scored, units))
            progress.skipped = sum(map(skipped, units))
            if many < progress.failed and (self._is_bench or part.evaluator not in whole):
                (weak if many else unscored).append(progress)
        return Prevalent(tuple(unscored), tuple(weak))

    def _parts_of(self, unit: Unit) -> Iterator[_Part]:
        layout, where = self._layout, unit.coordinates
        evaluator = layout.evaluators[unit.evaluator]
        if self._is_bench:
            yield _Part(evaluator, evaluator)
            return
        if len(layout.candidates) > 1:
            candidate = where["candidate"]
            yield _Part(f"{evaluator} on {candidate}", evaluator, candidate=candidate)
        if len(layout.task_models) > 1:
            model = where.get("task_model")
            yield _Part(f"{evaluator} with {model}", evaluator, task_model=model)

    def _begin(self, part: _Part) -> Progress:
        size = sum(cell.size for cell in self._layout.cells if part.has(cell))
        progress = self._progress[part] = Progress(part.name, total=size, done=0)
        return progress
