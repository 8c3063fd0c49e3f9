"""The samples of a stored run, and what was said about them, as tasks' rules see both.

A trace is made again of the replies that are written down: no model is called.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.opened import Opened
from optimize_eval.base.protocol import Payload
from optimize_eval.findings.metric_rows import TaskRow, TaskRows
from optimize_eval.run.plan import Plan
from optimize_eval.run.prompting import of_stored, writing_to
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.tasks.code import HostedSnippets, share_snippets
from optimize_eval.tasks.definition import Action
from optimize_eval.tasks.of_samples import Solving
from optimize_eval.tasks.prompt import fields_of
from optimize_eval.tasks.targets import samples_of
from optimize_eval.tasks.trace import Trace

Seen = tuple[Mapping[str, Any], Trace | None]  # a sample, and what was said about it

_OF_A_TRACE = ("solver_output", "model_output", "messages", "input_prompt", "trace")


class Looks:
    """Gives a rule what it looks at; its specifications are of stored replies."""

    def __init__(self, specs: Iterable[EvaluatorSpec], opened: Opened) -> None:
        self._specs = {spec.name: spec for spec in specs}
        self._opened = opened
        self._solving: dict[str, Solving | None] = {}

    def of(self, evaluator: str, payload: Payload, action: Action) -> Seen:
        """Give a sample and its trace, where the rule wants one; raises EvaluationError."""
        sample = fields_of(payload.example)
        solving = self._solving_of(evaluator) if _names(action, _OF_A_TRACE) else None
        if solving is None:
            return sample, None
        return sample, solving.trace(payload, sample, time.monotonic() + self._specs[evaluator].timeout)

    def _solving_of(self, evaluator: str) -> Solving | None:
        if evaluator not in self._solving:
            self._solving[evaluator] = _solving(self._specs[evaluator], self._opened)
        return self._solving[evaluator]


def looks_at_rows(action: Action) -> bool:
    """Return True if a rule looks at more than scores."""
    return _names(action, ("sample", *_OF_A_TRACE))


class Samples:
    """Finds what rules look at in a run; close it."""

    def __init__(self, stored: StoredRun, planned: Callable[[], Plan], sandbox: str) -> None:
        """Take a run, what gives its samples, and the level at which tasks' code is run."""
        self._stored = stored
        self._planned = planned
        self._looks: Looks | None = None
        self._sandbox = sandbox
        self._opened = Opened()

    def of(self, rows: TaskRows, row: TaskRow, action: Action) -> Seen:
        """Give what a rule looks at; raises EvaluationError where there is no trace."""
        if not looks_at_rows(action):
            return {}, None
        plan = self._plan
        where = next((cell for cell in rows.cells.values() if cell.evaluator in plan.layout.evaluators), None)
        if where is None:
            message = "its samples are not at hand: run the command of the run again"
            raise EvaluationError(FailureKind.REPORTED, message)
        payload = plan.unit(plan.layout.start(where) + row.place).payload
        self._looks = self._looks or Looks(plan.specs, self._opened)
        return self._looks.of(where.evaluator, payload, action)

    def snippets(self, task: str) -> HostedSnippets:
        """Give what runs the code of a task."""
        return share_snippets(self._opened, self._sandbox, f"metrics of {task}")

    def close(self) -> None:
        self._opened.close()

    @cached_property
    def _plan(self) -> Plan:
        plan, stored = self._planned(), self._stored
        specs = writing_to(stored.folder, of_stored(plan.specs, stored.document, stored.folder))
        return replace(plan, specs=specs)


def _names(action: Action, fields: Iterable[str]) -> bool:
    return any(name in action.filter.expression for name in fields)


def _solving(spec: EvaluatorSpec, opened: Opened) -> Solving | None:
    target = samples_of(spec)
    return Solving(target, opened) if target and target.task.solver else None
