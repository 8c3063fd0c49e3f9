"""The samples of a stored run, and what was said about them, as tasks' rules see both.

A trace is made again of the replies that are written down: no model is called.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from optimize_eval.errors import EvaluationError, FailureKind
from optimize_eval.evaluator import DEFAULT_TIMEOUT, EvaluatorSpec
from optimize_eval.findings.metrics.rows import TaskRow, TaskRows
from optimize_eval.prompts.prompt import fields_of
from optimize_eval.run.plan import Plan
from optimize_eval.session.replying.prompting import of_stored, writing_to
from optimize_eval.store.stored import StoredRun
from optimize_eval.tasks.definitions.evaluating.solving import Solving
from optimize_eval.tasks.definitions.snippets import HostedSnippets, close_snippets, open_snippets
from optimize_eval.tasks.definitions.solve.trace import Trace
from optimize_eval.tasks.definitions.target import defined_of
from optimize_eval.tasks.definitions.task import Action
from optimize_eval.tasks.lives import Lives

_OF_A_TRACE = ("solver_output", "model_output", "messages", "input_prompt", "trace")


class Samples:
    """Finds a row's sample and trace; close it."""

    def __init__(self, stored: StoredRun, planned: Callable[[], Plan]) -> None:
        self._stored = stored
        self._planned = planned
        self._solving: dict[str, tuple[Solving, Lives] | None] = {}
        self.snippets: HostedSnippets = open_snippets()

    def of(self, rows: TaskRows, row: TaskRow, action: Action) -> tuple[Mapping[str, Any], Trace | None]:
        """Give what a rule looks at; raises EvaluationError where there is no trace."""
        expression = action.filter.expression
        wants_trace = any(name in expression for name in _OF_A_TRACE)
        if not wants_trace and "sample" not in expression:
            return {}, None
        plan = self._plan
        where = next((one for one in rows.cells.values() if one.evaluator in plan.layout.evaluators), None)
        if where is None:
            message = "its samples are not at hand: run the command of the run again"
            raise EvaluationError(FailureKind.REPORTED, message)
        payload = plan.unit(plan.layout.start(where) + row.place).payload
        sample = fields_of(payload.example)
        solving = self._solving_of(where.evaluator) if wants_trace else None
        if solving is None:
            return sample, None
        return sample, solving[0].trace(payload, sample, time.monotonic() + DEFAULT_TIMEOUT)

    def close(self) -> None:
        for solving, lives in filter(None, self._solving.values()):
            lives.close()
            solving.close()
        close_snippets(self.snippets)

    @cached_property
    def _plan(self) -> Plan:
        plan, stored = self._planned(), self._stored
        specs = writing_to(stored.folder, of_stored(plan.specs, stored.manifest, stored.folder))
        return replace(plan, specs=specs)

    def _solving_of(self, evaluator: str) -> tuple[Solving, Lives] | None:
        if evaluator not in self._solving:
            spec = next(one for one in self._plan.specs if one.name == evaluator)
            self._solving[evaluator] = _solving(spec)
        return self._solving[evaluator]


def _solving(spec: EvaluatorSpec) -> tuple[Solving, Lives] | None:
    target = defined_of(spec)
    if target is None or target.task.solver is None:
        return None
    lives = Lives()
    return Solving(target, target.task.solver, lives), lives
