"""Metrics of tasks that are evaluators of one's own: `metric: "evaluator:NAME"`, which `-e NAME=…` names.

Their ids in results end in a part of what the evaluator is: boards of different ones are not compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.evaluators.kinds import identify
from optimize_eval.tasks import TaskFile
from optimize_eval.tasks.dialects import OWN

_DIGITS = 8


def with_own_metrics(
    files: Sequence[TaskFile], own: Sequence[EvaluatorSpec]
) -> tuple[list[TaskFile], dict[str, EvaluatorSpec], tuple[EvaluatorSpec, ...]]:
    """Give files whose tasks name evaluators by their ids, these evaluators, and those that no task names."""
    known = {f"{OWN}{spec.name}": spec for spec in own}
    wanted = dict.fromkeys(
        task.metric for file in files for task in file.tasks if task.metric.startswith(OWN)
    )
    metrics = {name: _metric(name, files, known) for name in wanted}
    if not metrics:
        return [*files], {}, tuple(own)
    ids = {name: spec.name for name, spec in metrics.items()}
    named = [
        replace(
            file, tasks=tuple(replace(task, metric=ids.get(task.metric, task.metric)) for task in file.tasks)
        )
        for file in files
    ]
    others = tuple(spec for name, spec in known.items() if name not in wanted)
    return named, metrics, others


def _metric(name: str, files: Sequence[TaskFile], known: Mapping[str, EvaluatorSpec]) -> EvaluatorSpec:
    spec = known.get(name)
    if spec is None:
        path = next(file.path for file in files if any(task.metric == name for task in file.tasks))
        named = name.removeprefix(OWN)
        raise UsageError(f"{path}: the metric {name} is not named", hint=f"name it: -e {named}=./{named}")
    if spec.score_range is not ScoreRange.UNIT:
        raise UsageError("a leaderboard has scores from 0 to 1", hint="omit --score-range")
    return replace(spec, name=f"{name}@{identify(spec).sha256[:_DIGITS]}")
