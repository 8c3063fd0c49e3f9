"""A task as run.json keeps it: the metrics of its scorers, and its rules, so that a report needs no YAML."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from optimize_eval.evaluator import EvaluatorSpec
from optimize_eval.frozen import frozen
from optimize_eval.tasks.definitions import filters
from optimize_eval.tasks.definitions.score import metrics
from optimize_eval.tasks.definitions.score.metrics import Metric
from optimize_eval.tasks.definitions.target import DefinedScorer, defined_of
from optimize_eval.tasks.definitions.task import Action

TASKS = "tasks"  # where the settings of a run have them


@frozen
class KeptScorer:
    """A scorer of a task that is an evaluator of a run."""

    evaluator: str
    key: str
    display_name: str = ""
    purpose: str = "score"
    metrics: Sequence[Metric] | None = None


@frozen
class KeptTask:
    """A task of a run."""

    key: str
    display_name: str
    scorers: Sequence[KeptScorer]
    actions: Sequence[Action] = ()

    @property
    def digest(self) -> str:
        """Digest the rules, by which it is known which rows were examined by them."""
        written = json.dumps([_of_action(one) for one in self.actions], separators=(",", ":"))
        return sha256(written.encode()).hexdigest()


def kept_tasks(specs: Iterable[EvaluatorSpec]) -> list[KeptTask]:
    """Find the tasks that evaluators are scorers of."""
    found: dict[int, list[tuple[str, DefinedScorer]]] = {}
    for spec in specs:
        if target := defined_of(spec):
            found.setdefault(id(target.task), []).append((spec.name, target))
    return [_kept(named) for named in found.values()]


def tasks_in(settings: Mapping[str, Any]) -> list[KeptTask]:
    """Read the tasks that a run has; none where there are none, or these were edited."""
    try:
        return [_read(one) for one in settings.get(TASKS, ())]
    except (AttributeError, KeyError, TypeError, ValueError):
        return []


def to_dict(task: KeptTask) -> dict[str, Any]:
    """Write a task as JSON."""
    return {
        "key": task.key,
        "display_name": task.display_name,
        "scorers": [_of_scorer(scorer) for scorer in task.scorers],
        **({"actions": [_of_action(one) for one in task.actions]} if task.actions else {}),
    }


def joined(known: Iterable[Mapping[str, Any]], told: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Put tasks as they are now in the place of those that were, whose other scorers stay."""
    tasks = {one["key"]: one for one in known}
    for one in told:
        before = tasks.get(one["key"], {"scorers": ()})
        scorers = {scorer["evaluator"]: scorer for scorer in (*before["scorers"], *one["scorers"])}
        tasks[one["key"]] = {**one, "scorers": [*scorers.values()]}
    return [*tasks.values()]


def _kept(named: Sequence[tuple[str, DefinedScorer]]) -> KeptTask:
    task = named[0][1].task
    scorers = [
        KeptScorer(
            evaluator=name,
            key=target.scorer.key,
            display_name=target.scorer.display_name,
            purpose=target.scorer.purpose,
            metrics=target.scorer.metrics,
        )
        for name, target in named
    ]
    return KeptTask(key=task.key, display_name=task.display_name, scorers=scorers, actions=task.actions)


def _of_scorer(scorer: KeptScorer) -> dict[str, Any]:
    chosen = scorer.metrics
    return {
        "evaluator": scorer.evaluator,
        "key": scorer.key,
        **({"display_name": scorer.display_name} if scorer.display_name else {}),
        "purpose": scorer.purpose,
        "metrics": None if chosen is None else [metrics.to_dict(one) for one in chosen],
    }


def _of_action(action: Action) -> dict[str, Any]:
    return {"key": action.key, "filter": filters.to_dict(action.filter)}


def _read(written: Mapping[str, Any]) -> KeptTask:
    return KeptTask(
        key=written["key"],
        display_name=written["display_name"],
        scorers=[_read_scorer(one) for one in written["scorers"]],
        actions=[
            Action(key=one["key"], filter=filters.filter_of(one["filter"]))
            for one in written.get("actions", ())
        ],
    )


def _read_scorer(written: Mapping[str, Any]) -> KeptScorer:
    chosen = written["metrics"]
    return KeptScorer(
        evaluator=written["evaluator"],
        key=written["key"],
        display_name=written.get("display_name", ""),
        purpose=written["purpose"],
        metrics=None if chosen is None else [metrics.metric_of(one) for one in chosen],
    )
