"""A task as run.json keeps it: the metrics of its scorers, and its rules, so that a report needs no YAML."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import orjson

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.evaluator import DEFAULT_TIMEOUT, EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.tasks import definition
from optimize_eval.tasks.definition import Action, Evidence, Metric
from optimize_eval.tasks.targets import METRICS_SINCE, RULES_SINCE, TASKS, SampleTask, samples_of


@frozen
class KeptScorer:
    """A scorer of a task that is an evaluator of a run."""

    evaluator: str
    key: str
    display_name: str = ""
    purpose: str = "score"
    metrics: Sequence[Metric] | None = None
    is_evidence: bool = False  # its fields are metrics already, called as they are


@frozen
class KeptTask:
    """A task of a run."""

    key: str
    display_name: str
    scorers: Sequence[KeptScorer]
    description: str = ""
    actions: Sequence[Action] = ()
    timeout: float = DEFAULT_TIMEOUT  # seconds, of a metric that is code

    @property
    def digest(self) -> str:
        """Digest the rules, by which it is known which rows were examined by them."""
        written = json.dumps([_of_action(action) for action in self.actions], separators=(",", ":"))
        return sha256(written.encode()).hexdigest()


def kept_tasks(specs: Iterable[EvaluatorSpec]) -> list[KeptTask]:
    """Find the tasks that evaluators are scorers of."""
    found: dict[int, list[tuple[EvaluatorSpec, SampleTask]]] = {}
    for spec in specs:
        if target := samples_of(spec):
            found.setdefault(id(target.task), []).append((spec, target))
    return [_task_of(named) for named in found.values()]


def tasks_in(settings: JsonMapping) -> list[KeptTask]:
    """Read the tasks that a run has; none where there are none, or these were edited."""
    try:
        return [_read(entry) for entry in settings.get(TASKS, ())]
    except (AttributeError, KeyError, TypeError, ValueError):
        return []


def to_dict(task: KeptTask) -> JsonDict:
    """Write a task as JSON."""
    return {
        "key": task.key,
        "display_name": task.display_name,
        **({"description": task.description} if task.description else {}),
        "scorers": [_of_scorer(scorer) for scorer in task.scorers],
        **({"actions": [_of_action(action) for action in task.actions]} if task.actions else {}),
        **({"timeout": task.timeout} if task.timeout != DEFAULT_TIMEOUT else {}),
    }


def joined(
    known: Iterable[JsonMapping], told: Iterable[JsonMapping], *, has_timeout: bool = False
) -> list[JsonMapping]:
    """Put tasks as they are now in the place of those that were, whose other scorers stay.

    Unless a timeout was given, the one that was given before stays, too. Rules and metrics that are others
    know since when.
    """
    tasks = [*known]
    for task in told:
        place = _place_of(task, tasks)
        before = tasks[place] if place < len(tasks) else {"scorers": ()}
        scorers = {scorer["evaluator"]: scorer for scorer in (*before["scorers"], *task["scorers"])}
        patience = {"timeout": before["timeout"]} if "timeout" in before and not has_timeout else {}
        more = {**patience, **_since(before, task)}
        tasks[place : place + 1] = [{**more, **task, "scorers": [*scorers.values()]}]
    return tasks


def dated(known: Sequence[JsonMapping], told: Iterable[JsonMapping]) -> list[JsonMapping]:
    """Date what of tasks is other than it was known when scores were made."""
    places = [(task, _place_of(task, known)) for task in told]
    return [
        {**_since(known[place], entry), **entry} if place < len(known) else entry for entry, place in places
    ]


def _since(before: JsonMapping, one: JsonMapping) -> JsonMapping:
    """Date the rules and metrics that are others now; what was dated stays so."""
    if not before["scorers"]:
        return {}
    were = {scorer["evaluator"]: scorer["metrics"] for scorer in before["scorers"]}
    is_other = {
        RULES_SINCE: _as_read(one.get("actions", [])) != before.get("actions", []),
        METRICS_SINCE: any(
            were.get(scorer["evaluator"], scorer["metrics"]) != scorer["metrics"] for scorer in one["scorers"]
        ),
    }
    dates = {key: before[key] for key in is_other if key in before}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return dates | {key: now for key, is_new in is_other.items() if is_new}


def _as_read(written: object) -> Any:
    """Give what is read back from run.json, where an integer beyond 64 bits is not an integer."""
    return orjson.loads(json.dumps(written))


def _place_of(one: JsonMapping, tasks: Sequence[JsonMapping]) -> int:
    """Find the task that has some of the same scorers, else the only one of the same key; else the end."""
    own = {scorer["evaluator"] for scorer in one["scorers"]}
    for index, task in enumerate(tasks):
        if own.intersection(scorer["evaluator"] for scorer in task["scorers"]):
            return index
    alike = [index for index, task in enumerate(tasks) if task["key"] == one["key"]]
    return alike[0] if len(alike) == 1 else len(tasks)


def _task_of(named: Sequence[tuple[EvaluatorSpec, SampleTask]]) -> KeptTask:
    task = named[0][1].task
    scorers = [
        KeptScorer(
            evaluator=spec.name,
            key=target.scorer.key,
            display_name=target.scorer.display_name,
            purpose=target.scorer.purpose,
            metrics=target.scorer.metrics,
            is_evidence=isinstance(target.scorer.how, Evidence),
        )
        for spec, target in named
    ]
    return KeptTask(
        key=task.key,
        display_name=task.display_name,
        description=task.description.strip(),
        scorers=scorers,
        actions=task.actions,
        timeout=max(spec.timeout for spec, _ in named),
    )


def _of_scorer(scorer: KeptScorer) -> JsonDict:
    chosen = scorer.metrics
    return {
        "evaluator": scorer.evaluator,
        "key": scorer.key,
        **({"display_name": scorer.display_name} if scorer.display_name else {}),
        "purpose": scorer.purpose,
        "metrics": None if chosen is None else [definition.metric_to_dict(metric) for metric in chosen],
        **({"is_evidence": True} if scorer.is_evidence else {}),
    }


def _of_action(action: Action) -> JsonDict:
    return {"key": action.key, "filter": definition.filter_to_dict(action.filter)}


def _read(written: JsonMapping) -> KeptTask:
    return KeptTask(
        key=written["key"],
        display_name=written["display_name"],
        description=written.get("description", ""),
        scorers=[_read_scorer(scorer) for scorer in written["scorers"]],
        actions=[
            Action(key=action["key"], filter=definition.filter_of(action["filter"]))
            for action in written.get("actions", ())
        ],
        timeout=float(written.get("timeout", DEFAULT_TIMEOUT)),
    )


def _read_scorer(written: JsonMapping) -> KeptScorer:
    chosen = written["metrics"]
    return KeptScorer(
        evaluator=written["evaluator"],
        key=written["key"],
        display_name=written.get("display_name", ""),
        purpose=written["purpose"],
        metrics=None if chosen is None else [definition.metric_of(metric) for metric in chosen],
        is_evidence=written.get("is_evidence", False),
    )
