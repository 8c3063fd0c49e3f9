"""A task as an evaluator: models are called about a task file, prompts or a task in YAML, and replies scored.

What a task is, and how models are called, is tasks' business. Who scores within it is an evaluator of its
own, which the table makes. `-e` names task files; a session puts prompts and models around others, and makes
an evaluator of each scorer of a task in YAML.
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from optimize_eval.base import checks
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec, Opened
from optimize_eval.evaluators import kinds
from optimize_eval.evaluators.command_kind import at_level
from optimize_eval.evaluators.kinds import Checks, Kind, TargetKey, as_name, unwritten
from optimize_eval.models.model_kinds import (
    HTTP,
    ModelSpec,
    model_has_changed,
    parse_model,
    without_base,
)
from optimize_eval.programs.identity import Identity, has_other_programs
from optimize_eval.tasks.targets import (
    NOTHING_GIVEN,
    OWN,
    SUFFIXES,
    Given,
    PromptTask,
    RecordTask,
    TaskTarget,
    WrittenTask,
    identify,
    is_own,
    task_of,
)

if TYPE_CHECKING:
    from optimize_eval.base.checks import Keys

NO_OWN: Mapping[str, EvaluatorSpec] = {}  # evaluators of one's own, by the metrics that they are

_BEGINS = "task:"


def of_records(
    name: str,
    path: str,
    metrics: Iterable[str],
    task: RecordTask,
    how: EvaluatorSpec,
    *,
    sandbox: str,
    own: Mapping[str, EvaluatorSpec] = NO_OWN,
) -> EvaluatorSpec:
    """Describe the evaluator of what models reply to the tasks of a file, each scored by its metric."""
    task = replace(task, metrics=_metric_specs(metrics, how, sandbox, own))
    return how.at(task, name=name, text=path, retries=0)  # who calls a model again is the model's business


def of_stored(scorer: EvaluatorSpec, models: Iterable[ModelSpec]) -> EvaluatorSpec:
    """Describe the evaluator of what models replied, as it is written down, whatever tasks' metrics are."""
    how = EvaluatorSpec(timeout=scorer.timeout, workers=scorer.workers)
    task = RecordTask(scorer=scorer, models=tuple(models), is_stored=True)
    return how.at(task, name=scorer.name, text=scorer.text, retries=scorer.retries or 0)


def of_prompts(
    scorer: EvaluatorSpec, models: Iterable[ModelSpec], *, extract: str = "", is_stored: bool = False
) -> EvaluatorSpec:
    """Describe the evaluator of the models' replies to prompts that another one scores."""
    target = PromptTask(scorer=scorer, models=tuple(models), extract=extract, is_stored=is_stored)
    return replace(scorer, target=target)


def _metric_specs(
    metrics: Iterable[str],
    defaults: EvaluatorSpec,
    sandbox: str = "",
    own: Mapping[str, EvaluatorSpec] = NO_OWN,
) -> tuple[EvaluatorSpec, ...]:
    """Describe what scores: in our own folder and environment, whatever the model's are."""
    plain = defaults.change(environment={}, headers=(), cwd=None, persistent=None, retries=None)
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
        return written_task(name, defaults, NOTHING_GIVEN)
    file = load_tasks(Path(defaults.cwd or ".", name))
    if file.errors:
        raise UsageError(
            f"{name} has {len(file.errors)} lines that are no tasks; the first: {file.errors[0]}",
            hint=f"optimize-eval validate {shlex.quote(name)} lists all of them",
        )
    metrics = _metric_specs((task.evaluator for task in file.tasks), defaults)
    called = as_name(file.name) or "task"
    return defaults.at(RecordTask(metrics=metrics), name=called, text=target, retries=defaults.retries)


def written_task(file: str, defaults: EvaluatorSpec, given: Given) -> EvaluatorSpec:
    """Describe a task in YAML by its file, which is read by a session."""
    name = as_name(Path(file).stem) or "task"
    target = WrittenTask(path=file, given=given)
    return defaults.at(target, name=name, text=f"task:{file}", retries=defaults.retries)


def _of_file(file: str, defaults: EvaluatorSpec, settings: JsonMapping) -> EvaluatorSpec:
    if file.endswith(SUFFIXES):
        return written_task(file, defaults, Given(**settings))
    if settings:
        raise UsageError(
            f"{file} has no parameters", hint=f"omit {', '.join(settings)}: they are for tasks in YAML"
        )
    return _parse(f"{_BEGINS}{file}", defaults)


def _targets() -> dict[str, TargetKey]:
    return {"task": TargetKey(checks.text, _of_file)}


def _settings(_folder: str) -> "Keys":
    return {"config": checks.table, "data": checks.table_of_texts, "model_keys": checks.table_of_texts}


def _task(spec: EvaluatorSpec) -> TaskTarget:
    """Give the task that an evaluator is of; raises UsageError for one in YAML that no session has read."""
    if task := task_of(spec):
        return task
    path = spec.text.removeprefix(_BEGINS)
    raise UsageError(
        f"{spec.text} is a task with scorers of its own, and this command calls single evaluators",
        hint=f"check it: optimize-eval validate {path}; rank models by it: optimize-eval bench {path}; "
        f"compare candidates or score a dataset: optimize-eval run -e {spec.text}",
    )


def _connect(spec: EvaluatorSpec, opened: Opened) -> Evaluator:
    from optimize_eval.tasks.task_evaluator import connect_task

    return connect_task(spec, _task(spec), kinds.connect, opened)


def _identify(spec: EvaluatorSpec) -> Identity:
    return identify(spec, _task(spec), kinds.identify)


def _has_changed(spec: EvaluatorSpec, known: Identity) -> bool:
    """Return True if a program that scores or replies is another one now."""
    task = _task(spec)
    if isinstance(task, RecordTask):  # whose models are looked at by themselves
        return _has_other_metrics(spec, known)
    if any(kinds.has_changed(evaluator, known) for evaluator in task.evaluators):
        return True
    return any(map(model_has_changed, task.called))


def _has_other_metrics(spec: EvaluatorSpec, known: Identity) -> bool:
    try:
        now = _identify(spec).files
    except UsageError:  # it cannot be read any more
        return True
    return has_other_programs(known, now, spec)


def _is_served(spec: EvaluatorSpec) -> bool:
    task = _task(spec)
    if isinstance(task, PromptTask) and kinds.is_served(task.scorer):
        return True
    return any(parse_model(model.text).kind == HTTP for model in task.called)


def _models(spec: EvaluatorSpec, task_models: Iterable[str | None]) -> list[str]:
    """Name the provider's models among those that are called, and those that score."""
    task = _task(spec)
    texts = [model.text for model in task.called]
    if isinstance(task, RecordTask) and not task.models:
        texts = [name for name in task_models if name]
    called = (without_base(named.rest) for named in map(parse_model, texts) if not named.kind)
    return [*called, *(name for scorer in task.of_all for name in kinds.models_called(scorer))]


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
KIND_IN_YAML = KIND._replace(  # of whose scorers a session makes one each
    noun="a task in YAML",
    parse=unwritten,
    targets=dict,
    settings=lambda _folder: {},
    uses=frozenset(),
    checks=Checks.TASKS,
    is_started=False,
)
