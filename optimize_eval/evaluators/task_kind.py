"""A task file as an evaluator: a model is called about each task, and metrics score what it replies.

What a task is, and how models are called, is tasks' business. Metrics are evaluators of their own, which
the table makes.
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec
from optimize_eval.base.opened import Opened
from optimize_eval.evaluators import definition_kind, kinds
from optimize_eval.evaluators.command_kind import at_level
from optimize_eval.evaluators.kinds import Kind, TargetKey, as_name
from optimize_eval.models import model_kinds
from optimize_eval.models.model_kinds import HTTP, ModelSpec, Tasks, parse_model, tasks_of, without_base
from optimize_eval.programs.identity import Identity
from optimize_eval.tasks.defined import NOTHING_GIVEN, SUFFIXES, Given
from optimize_eval.tasks.dialects import OWN, is_own

if TYPE_CHECKING:
    from optimize_eval.base.checks import Keys

NO_OWN: Mapping[str, EvaluatorSpec] = {}  # evaluators of one's own, by the metrics that they are

_BEGINS = "task:"


def scorer_spec(
    name: str,
    path: str,
    metrics: Iterable[str],
    task: Tasks,
    how: EvaluatorSpec,
    *,
    sandbox: str,
    own: Mapping[str, EvaluatorSpec] = NO_OWN,
) -> EvaluatorSpec:
    """Describe the evaluator of what models reply to the tasks of a file, each scored by its metric."""
    task = replace(task, metrics=_metric_specs(metrics, how, sandbox, own))
    return how.at(task, name=name, text=path, retries=0)  # who calls a model again is the model's business


def stored_spec(scorer: EvaluatorSpec, models: Iterable[ModelSpec]) -> EvaluatorSpec:
    """Describe the evaluator of what models replied, as it is written down, whatever tasks' metrics are."""
    how = EvaluatorSpec(timeout=scorer.timeout, workers=scorer.workers)
    task = Tasks(scorer=scorer, models=tuple(models), is_stored=True)
    return how.at(task, name=scorer.name, text=scorer.text, retries=scorer.retries or 0)


def _metric_specs(
    metrics: Iterable[str],
    defaults: EvaluatorSpec,
    sandbox: str = "",
    own: Mapping[str, EvaluatorSpec] = NO_OWN,
) -> tuple[EvaluatorSpec, ...]:
    """Describe what scores: in our own folder and environment, whatever the model's are."""
    plain = replace(defaults, environment={}, headers=(), cwd=None, persistent=None, retries=None)
    specs = (own.get(text) or _shipped(text, plain) for text in dict.fromkeys(metrics))
    return tuple(at_level(spec, sandbox) for spec in specs)


def _shipped(text: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    if is_own(text):
        raise UsageError(
            f"the metric {text} is not named",
            hint=f"bench names it: -e {text.removeprefix(OWN)}=COMMAND",
        )
    return kinds.parse_evaluator(text, defaults)


def _parse(target: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    from optimize_eval.tasks.task_files import load_tasks

    name = target.removeprefix(_BEGINS).strip()
    if not name:
        raise UsageError("task: names no file", hint="name a task file: task:tasks.jsonl")
    if name.endswith(SUFFIXES):
        return definition_kind.written(name, defaults, NOTHING_GIVEN)
    file = load_tasks(Path(defaults.cwd or ".", name))
    if file.errors:
        raise UsageError(
            f"{name} has {len(file.errors)} lines that are no tasks; the first: {file.errors[0]}",
            hint=f"optimize-eval validate {shlex.quote(name)} lists all of them",
        )
    metrics = _metric_specs((task.evaluator for task in file.tasks), defaults)
    called = as_name(file.name) or "task"
    return defaults.at(Tasks(metrics=metrics), name=called, text=target, retries=defaults.retries)


def _of_file(file: str, defaults: EvaluatorSpec, settings: Mapping[str, Any]) -> EvaluatorSpec:
    if file.endswith(SUFFIXES):
        return definition_kind.written(file, defaults, Given(**settings))
    if settings:
        raise UsageError(
            f"{file} has no parameters", hint=f"omit {', '.join(settings)}: they are for tasks in YAML"
        )
    return _parse(f"{_BEGINS}{file}", defaults)


def _targets() -> dict[str, TargetKey]:
    from optimize_eval.base import checks

    return {"task": TargetKey(checks.text, _of_file)}


def _connect(spec: EvaluatorSpec, opened: Opened) -> Evaluator:
    from optimize_eval.tasks.evaluator_of_tasks import TaskEvaluator

    return TaskEvaluator(spec, kinds.connect, opened)


def _identify(spec: EvaluatorSpec) -> Identity:
    return model_kinds.identify(spec, kinds.identify)


def _has_changed(spec: EvaluatorSpec, known: Identity) -> bool:
    return model_kinds.has_changed(spec, known, kinds.identify)


def _is_served(spec: EvaluatorSpec) -> bool:
    return any(parse_model(model).kind == HTTP for model in _called(tasks_of(spec)))


def _called(task: Tasks) -> list[str]:
    """List the models that are called, as they are written; those of payloads are not known."""
    return [] if task.is_stored else [model.text for model in task.models]


def _models(spec: EvaluatorSpec, task_models: Iterable[str | None]) -> list[str]:
    """Name the provider's models among those that are called, and those that score."""
    task = tasks_of(spec)
    texts = _called(task) if task.models else [name for name in task_models if name]
    scored_by = kinds.models_called(task.scorer) if task.scorer else []
    return [*(without_base(named.rest) for named in map(parse_model, texts) if not named.kind), *scored_by]


def _settings(_folder: str) -> "Keys":
    from optimize_eval.base import checks

    return {"config": checks.table, "data": checks.table_of_texts, "model_keys": checks.table_of_texts}


KIND = Kind(
    noun="a task file",
    parse=_parse,
    targets=_targets,
    settings=_settings,
    uses=frozenset({"cwd"}),
    connect=_connect,
    identify=_identify,
    has_changed=_has_changed,
    is_served=_is_served,
    models=_models,
)
