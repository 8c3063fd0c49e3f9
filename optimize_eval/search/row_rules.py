"""Rows that the rules of tasks in YAML leave out: for a search they are skipped, as they are for means.

A rule looks at a sample, at what was said about it and at scores, all of which are recorded: so a search that
resumes leaves out the same rows. A rule that cannot be applied to a row leaves it in.
"""

from collections.abc import Iterator, Mapping, Sequence

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import EvaluatorSpec, Opened
from optimize_eval.base.frozen import frozen
from optimize_eval.base.outcome import Outcome, Scored, Skipped
from optimize_eval.run.code_metrics import Looks, Seen, looks_at_rows
from optimize_eval.run.plan import Unit
from optimize_eval.search.goal import Outcomes
from optimize_eval.tasks.definition import Action
from optimize_eval.tasks.targets import samples_of, with_task
from optimize_eval.tasks.yaml.task_data import Actions, RuleFault


@frozen
class _RuledTask:
    """A task that has rules: its scorers' keys by their places, and each rule ready to be applied."""

    keys: Mapping[int, str]
    rules: Sequence[tuple[Action, Actions]]


class RowRules:
    """Knows which rows rules leave out."""

    def __init__(self, specs: Sequence[EvaluatorSpec], opened: Opened) -> None:
        self._tasks = list(_ruled_tasks(specs))
        self._looks = Looks(map(_as_stored, specs), opened)
        self._known: dict[str, list[str]] = {}  # rules by the key of a task's first unit

    def apply(self, units: Sequence[Unit], outcomes: Outcomes) -> Outcomes:
        """Let scores of a row that is left out count as skipped; `units` are those of the outcomes."""
        for task in self._tasks:
            if rules := self._rules(task, units, outcomes):
                why = f"left out by {', '.join(rules)}"
                outcomes = tuple(
                    _skip(outcome, why) if index in task.keys else outcome
                    for index, outcome in enumerate(outcomes)
                )
        return outcomes

    def _rules(self, task: _RuledTask, units: Sequence[Unit], outcomes: Outcomes) -> list[str]:
        first = units[next(iter(task.keys))]
        if first.key not in self._known:
            self._known[first.key] = list(self._rules_for(task, first, outcomes))
        return self._known[first.key]

    def _rules_for(self, task: _RuledTask, unit: Unit, outcomes: Outcomes) -> Iterator[str]:
        scores = dict(_scores(task, outcomes))
        for action, rule in task.rules if scores else ():
            try:
                sample, trace = self._look(action, unit)
                if rule.excluded_by(sample, trace, scores):
                    yield action.key
            except EvaluationError:
                continue  # it stays in, which the final sweep tells

    def _look(self, action: Action, unit: Unit) -> Seen:
        if not looks_at_rows(action):
            return {}, None
        return self._looks.of(unit.coordinates["evaluator"], unit.payload, action)


def _ruled_tasks(specs: Sequence[EvaluatorSpec]) -> Iterator[_RuledTask]:
    keys: dict[int, dict[int, str]] = {}
    tasks = {}
    for index, spec in enumerate(specs):
        target = samples_of(spec)
        if target and target.task.actions:
            keys.setdefault(id(target.task), {})[index] = target.scorer.key
            tasks[id(target.task)] = target.task
    for known, task in tasks.items():
        yield _RuledTask(keys=keys[known], rules=list(_ready(task.actions)))


def _ready(actions: Sequence[Action]) -> Iterator[tuple[Action, Actions]]:
    for action in actions:
        try:
            yield action, Actions([action])
        except RuleFault:
            continue  # see above


def _scores(task: _RuledTask, outcomes: Outcomes) -> Iterator[tuple[str, JsonMapping]]:
    for index, key in task.keys.items():
        outcome = outcomes[index]
        if isinstance(outcome, Scored):
            yield key, outcome.side_info["scores"]


def _skip(outcome: Outcome, why: str) -> Outcome:
    if not isinstance(outcome, Scored):
        return outcome
    return Skipped(message=why, side_info=outcome.side_info, output=outcome.output)


def _as_stored(spec: EvaluatorSpec) -> EvaluatorSpec:
    return with_task(spec, is_stored=True) if samples_of(spec) else spec
