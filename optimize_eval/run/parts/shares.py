"""What of a plan is counted, and called, together: the units of an evaluator or, in a bench, of a model."""

from collections.abc import Sequence

from optimize_eval.base.frozen import frozen
from optimize_eval.run.plan import Plan, Unit
from optimize_eval.store.layout import Cell, Layout


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
