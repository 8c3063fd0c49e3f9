"""Any evaluator, of what models reply to prompts: the candidate is a prompt, and never seen by the evaluator.

No text names it: a session puts it around the evaluators that were named. What it does is tasks' business.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

import orjson

from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec
from optimize_eval.base.opened import Opened
from optimize_eval.evaluators import kinds
from optimize_eval.evaluators.kinds import Kind, unwritten
from optimize_eval.models import model_kinds
from optimize_eval.models.model_kinds import HTTP, ModelSpec, Prompted, parse_model, prompted_of, without_base
from optimize_eval.programs.identity import Identity


def around(
    scorer: EvaluatorSpec, models: Sequence[ModelSpec], *, extract: str = "", is_stored: bool = False
) -> EvaluatorSpec:
    """Make the evaluator of the models' replies that another one scores."""
    target = Prompted(scorer=scorer, models=tuple(models), extract=extract, is_stored=is_stored)
    return replace(scorer, target=target)


def _target(spec: EvaluatorSpec) -> Prompted:
    target = prompted_of(spec)
    assert target, "the table chose this kind by the target"  # noqa: S101  for the checker
    return target


def _connect(spec: EvaluatorSpec, opened: Opened) -> Evaluator:
    from optimize_eval.tasks.of_replies import PromptedEvaluator

    return PromptedEvaluator(spec, _target(spec), kinds.connect, opened)


def _identify(spec: EvaluatorSpec) -> Identity:
    """Give the scorer's identity, and with it what of a reply it scores; which models, the units say."""
    target = _target(spec)
    known = kinds.identify(replace(target.scorer, name=spec.name))
    if not target.extract:
        return known
    digest = hashlib.sha256(orjson.dumps(["extract", target.extract, known.sha256])).hexdigest()
    return replace(known, text=f"{known.text} --extract {target.extract}", sha256=digest)


def _has_changed(spec: EvaluatorSpec, known: Identity) -> bool:
    """Return True if the scorer's program is another one now, or a model's."""
    target = _target(spec)
    if kinds.has_changed(target.scorer, known):
        return True
    return not target.is_stored and any(model_kinds.model_has_changed(model) for model in target.models)


def _is_served(spec: EvaluatorSpec) -> bool:
    target = _target(spec)
    models = () if target.is_stored else target.models
    return kinds.is_served(target.scorer) or any(parse_model(model.text).kind == HTTP for model in models)


def _models(spec: EvaluatorSpec, _task_models: Iterable[str | None]) -> list[str]:
    target = _target(spec)
    named = [] if target.is_stored else [parse_model(model.text) for model in target.models]
    called = [without_base(one.rest) for one in named if not one.kind]
    return [*called, *kinds.models_called(target.scorer)]


KIND = Kind(
    noun="an evaluator of replies",
    parse=unwritten,
    targets=dict,
    connect=_connect,
    identify=_identify,
    has_changed=_has_changed,
    is_served=_is_served,
    models=_models,
)
