"""What models are, digested once for all evaluators, and models of a run by what they replied."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.models.model_kinds import Tasks, tasks_of
from optimize_eval.programs.identity import Identity
from optimize_eval.run.replan import models_of
from optimize_eval.store.folder import OUTPUTS
from optimize_eval.store.manifest import Manifest


def identity_of(model: EvaluatorSpec) -> Identity:
    """Give what a model was digested to be, by the name that it has here."""
    known = tasks_of(model).known_as
    if known is None:
        raise UsageError(f"the model {model.name} is not known", hint="name it with --model")
    return replace(known, name=model.name)


def with_outputs_in(path: str, models: Iterable[EvaluatorSpec]) -> tuple[EvaluatorSpec, ...]:
    """Let models write their replies down."""
    return tuple(replace(model, target=replace(tasks_of(model), outputs=path)) for model in models)


def stored_models(manifest: Manifest, folder: Path) -> tuple[EvaluatorSpec, ...]:
    """Give the models of a run by what they replied; none of them is called, and they may be gone."""
    outputs = str((folder / OUTPUTS).absolute())
    return tuple(_stored(known, outputs) for known in models_of(manifest))


def _stored(known: Identity, outputs: str) -> EvaluatorSpec:
    target = Tasks(model=known.text, outputs=outputs, known_as=known)
    return EvaluatorSpec(name=known.name, text=known.text, target=target)
