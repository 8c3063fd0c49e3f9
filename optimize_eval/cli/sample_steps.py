"""`--show ID` of tasks in YAML: conversations, made again of the replies that are written down."""

import time
from contextlib import ExitStack
from dataclasses import replace

from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.opened import Opened
from optimize_eval.base.protocol import Payload
from optimize_eval.cli.example_scores import Places, Told
from optimize_eval.models.under_test import ASSISTANT
from optimize_eval.run.plan import Plan, PlannedExample
from optimize_eval.store.command_units import Reader
from optimize_eval.store.records import LeftOut
from optimize_eval.tasks.defined import DefinedScorer, defined_of
from optimize_eval.tasks.defined_evaluator import Solving
from optimize_eval.tasks.definition import Solver
from optimize_eval.tasks.lives import Lives
from optimize_eval.tasks.prompt import fields_of

_LONGEST = 60.0  # seconds for code of a task that makes its conversation again


class SeenTask:
    """Conversations of tasks in YAML."""

    def __init__(self, plan: Plan, reader: Reader | None, stack: ExitStack, left_out: LeftOut) -> None:
        self._records = Places(plan, reader, left_out)
        self._opened = stack.enter_context(Opened())
        self._solving: dict[str, Solving] = {}
        self._about: dict[str, Told] = {}  # tasks by their splits
        for spec in plan.specs:
            target = defined_of(spec)
            if target:
                about = {
                    "display_name": target.task.display_name,
                    "description": target.task.description.strip(),
                }
                self._about |= {one.name: about for one in plan.layout.splits_for(spec.name)}
            solver = target.task.solver if target else None
            if target and solver:
                self._add(plan, spec, replace(target, is_stored=True), solver)

    def told(self, split: str, example: PlannedExample) -> Told:
        about = self._about.get(split)
        return {**self._records.told(split, example, self._steps), **({"task": about} if about else {})}

    def _add(self, plan: Plan, spec: EvaluatorSpec, target: DefinedScorer, solver: Solver) -> None:
        new = [one.name for one in plan.layout.splits_for(spec.name) if one.name not in self._solving]
        if new:
            self._solving |= dict.fromkeys(new, Solving(target, solver, Lives(), self._opened))

    def _steps(self, payload: Payload) -> Told:
        solving = self._solving.get(payload.split)
        if solving is None:  # of a dataset
            return {"messages": [], "reply": None}
        try:
            trace = solving.trace(payload, fields_of(payload.example), time.monotonic() + _LONGEST)
        except EvaluationError as error:
            hint = {"hint": error.hint} if error.hint else {}
            return {"messages": [], "reply": None, "not_shown": error.message, **hint}
        facts = {"replied": dict(trace.facts)} if trace.facts else {}
        return {"messages": list(trace.items), "reply": trace.last_text(ASSISTANT), **facts}
