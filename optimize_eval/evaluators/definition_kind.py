"""A task in YAML as an evaluator: `task:FILE.yaml`, of which a session makes one evaluator for each scorer.

What a task is, how its samples are solved and scored, is tasks' business. Whatever else scores within it is
an evaluator of its own, which the table makes.
"""

from collections.abc import Iterable
from pathlib import Path

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec
from optimize_eval.base.opened import Opened
from optimize_eval.evaluators import kinds
from optimize_eval.evaluators.kinds import Checks, Kind, as_name, unwritten
from optimize_eval.models.model_kinds import HTTP, parse_model, without_base
from optimize_eval.programs.identity import Identity
from optimize_eval.tasks.defined import DefinedScorer, Given, WrittenTask, defined_of


def written(file: str, defaults: EvaluatorSpec, given: Given) -> EvaluatorSpec:
    """Describe a task by its file, which is read by a session."""
    name = as_name(Path(file).stem) or "task"
    target = WrittenTask(path=file, given=given)
    return defaults.at(target, name=name, text=f"task:{file}", retries=defaults.retries)


def _target(spec: EvaluatorSpec) -> DefinedScorer:
    target = defined_of(spec)
    if target is None:
        path = spec.text.removeprefix("task:")
        raise UsageError(
            f"{spec.text} is a task with scorers of its own, and this command calls single evaluators",
            hint=f"check it: optimize-eval validate {path}; rank models by it: optimize-eval bench {path}; "
            f"compare candidates or score a dataset: optimize-eval run -e {spec.text}",
        )
    return target


def _connect(spec: EvaluatorSpec, opened: Opened) -> Evaluator:
    from optimize_eval.tasks.defined_evaluator import DefinedEvaluator

    return DefinedEvaluator(spec, _target(spec), kinds.connect, opened)


def _identify(spec: EvaluatorSpec) -> Identity:
    from optimize_eval.tasks.defined_identity import identify

    return identify(spec, _target(spec), kinds.identify)


def _has_changed(spec: EvaluatorSpec, known: Identity) -> bool:
    from optimize_eval.tasks.defined_identity import has_changed

    return has_changed(_target(spec), known, kinds.has_changed)


def _is_served(spec: EvaluatorSpec) -> bool:
    return any(parse_model(text).kind == HTTP for text in _texts(_target(spec)))


def _models(spec: EvaluatorSpec, _task_models: Iterable[str | None]) -> list[str]:
    """Name the models of providers: those under test, and those that the task names by keys."""
    named = map(parse_model, _texts(_target(spec)))
    return [without_base(one.rest) for one in named if not one.kind]


def _texts(target: DefinedScorer) -> list[str]:
    models = () if target.is_stored else target.models
    return [model.text for model in (*models, *target.keyed.values())]


KIND = Kind(
    noun="a task in YAML",
    parse=unwritten,
    targets=dict,
    connect=_connect,
    identify=_identify,
    has_changed=_has_changed,
    is_served=_is_served,
    models=_models,
    checks=Checks.TASKS,
    is_started=False,
)
