"""Shares of a run, an evaluator's or a model's: their lanes, failures of their parts, programs that changed.

Calls are counted by evaluator or, in a bench, by model. A part is what fails on its own all the same: a
scorer of a bench, a candidate or a task model of a run.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.outcome import SCORER, Failed, Outcome, Progress
from optimize_eval.evaluators.kinds import has_changed
from optimize_eval.models.model_kinds import model_has_changed
from optimize_eval.run.engine import Lane, begun_apart
from optimize_eval.run.plan import Plan, Unit
from optimize_eval.run.whereabouts import Evaluators
from optimize_eval.store.layout import Cell, Layout

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


@frozen
class Share:
    """The cells of an evaluator, or of a model whatever evaluators it is for; `shown` is what people read."""

    name: str
    shown: str
    cells: tuple[Cell, ...]
    units: tuple[range, ...]

    @property
    def size(self) -> int:
        return sum(map(len, self.units))

    def first_units(self, number: int, layout: Layout) -> list[int]:
        """Choose a unit of each split, first as the run begins, then of other examples and candidates."""
        candidate = layout.candidates[number % len(layout.candidates)]
        cells = (cell for cell in reversed(self.cells) if cell.candidate == candidate)
        firsts = {cell.split: cell for cell in cells}
        starts = {
            cell.start + min(number * layout.repeats, cell.size - layout.repeats) for cell in firsts.values()
        }
        return sorted(starts)


def shares_of(plan: Plan) -> tuple[Share, ...]:
    """Take a plan apart, in its order."""
    return tuple(_models_of(plan) if plan.by_model else _evaluators_of(plan))


def place_of(unit: Unit, plan: Plan) -> int:
    """Find which share a unit is in."""
    if plan.by_model:
        return plan.layout.task_models.index(unit.payload.task_model)
    return unit.evaluator


def _evaluators_of(plan: Plan) -> Sequence[Share]:
    layout = plan.layout
    return [
        Share(
            name=name,
            shown=name,
            cells=tuple(cell for cell in layout.cells if cell.evaluator == name),
            units=(layout.units_of(name),),
        )
        for name in layout.evaluators
    ]


def _models_of(plan: Plan) -> Sequence[Share]:
    """Take the models apart; where who scores them is not the tasks' own scorer, they are shown with it."""
    layout = plan.layout
    by = "" if layout.splits_of else f".{layout.evaluators[0]}"
    every = {
        str(name): [cell for cell in layout.cells if cell.task_model == name] for name in layout.task_models
    }
    return [
        Share(
            name=name,
            shown=f"{name}{by}",
            cells=tuple(cells),
            units=tuple(range(cell.start, cell.start + cell.size) for cell in cells),
        )
        for name, cells in every.items()
    ]


def lane_of(plan: Plan, place: int, share: Share, owed: Sequence[int], live: Evaluators) -> Lane:
    """Give an evaluator a lane of its own; in a bench each model, whatever evaluators it is for."""
    if plan.by_model:
        return Lane(units=owed, capacity=partial(live.capacity_of, share.name))
    return Lane(
        units=begun_apart(owed, place, len(plan.specs)) if plan.models else owed,
        capacity=partial(live.capacity, place),
        weight=plan.specs[place].weight,
    )


def changed_evaluators(plan: Plan, specs: Sequence[EvaluatorSpec], called: Collection[int]) -> list[str]:
    """Name those among the called ones, which are given by their places."""
    known = zip(specs, plan.identities, strict=True)
    return [
        spec.name
        for index, (spec, identity) in enumerate(known)
        if index in called and has_changed(spec, identity)
    ]


def changed_models(plan: Plan, called: Collection[str]) -> list[str]:
    """Name those among the called ones."""
    return [spec.name for spec in plan.model_specs if spec.name in called and model_has_changed(spec)]
