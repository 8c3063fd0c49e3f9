"""Failures of a bench's scorers: calls are counted by model there, and these are no model's fault."""

from collections.abc import Callable

from optimize_eval.run.outcome import SCORER, Failed, Outcome, Progress
from optimize_eval.run.plan import Plan, Unit


class ScorerFailures:
    """The failures of a bench that were its scorers' own; in other runs evaluators are counted anyway."""

    def __init__(self, plan: Plan) -> None:
        self._layout = plan.layout
        self._counts = plan.by_model
        self._progress: dict[int, Progress] = {}

    def count(self, unit: Unit, outcome: Outcome) -> None:
        if self._counts and isinstance(outcome, Failed) and outcome.stage == SCORER:
            one = self._progress.get(unit.evaluator) or self._begin(unit.evaluator)
            one.count(outcome, unit.coordinates)

    def prevalent(self, scored: Callable[[range], int]) -> tuple[list[Progress], list[Progress]]:
        """List the scorers that failed and scored nothing, and those that failed more often than not."""
        pairs = [
            (one, scored(self._layout.units_of(self._layout.evaluators[place])))
            for place, one in sorted(self._progress.items())
        ]
        return [one for one, many in pairs if not many], [one for one, many in pairs if 0 < many < one.failed]

    def _begin(self, place: int) -> Progress:
        name = self._layout.evaluators[place]
        one = self._progress[place] = Progress(name, total=len(self._layout.units_of(name)), done=0)
        return one
