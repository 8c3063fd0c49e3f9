"""`--show ID` of tasks in YAML: conversations, made again of the replies that are written down."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.opened import Opened
from optimize_eval.base.protocol import Payload
from optimize_eval.cli.example_scores import Places, Shown
from optimize_eval.models.under_test import ASSISTANT
from optimize_eval.run.plan import Plan, PlannedExample
from optimize_eval.store.command_units import Reader
from optimize_eval.store.records import LeftOut
from optimize_eval.tasks.of_samples import Solving
from optimize_eval.tasks.prompt import fields_of
from optimize_eval.tasks.targets import SampleTask, samples_of

_LONGEST = 60.0  # seconds for code of a task that makes its conversation again


class SeenTask:
    """Conversations of tasks in YAML."""

    def __init__(self, plan: Plan, reader: Reader | None, stack: ExitStack, left_out: LeftOut) -> None:
        self._records = Places(plan, reader, left_out)
        self._opened = stack.enter_context(Opened())
        self._solving: dict[str, Solving] = {}
        self._about: dict[str, Shown] = {}  # tasks by their splits
        for spec in plan.specs:
            if target := samples_of(spec):
                splits = [split.name for split in plan.layout.splits_for(spec.name)]
                self._add(replace(target, is_stored=True), splits)

    def describe(self, split: str, example: PlannedExample) -> Shown:
        about = self._about.get(split)
        return {**self._records.describe(split, example, self._steps), **({"task": about} if about else {})}

    def _add(self, target: SampleTask, splits: Sequence[str]) -> None:
        task = target.task
        about = {"display_name": task.display_name, "description": task.description.strip()}
        self._about |= dict.fromkeys(splits, about)
        new = [split for split in splits if split not in self._solving]
        if new and task.solver:
            self._solving |= dict.fromkeys(new, Solving(target, self._opened))

    def _steps(self, payload: Payload) -> Shown:
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
