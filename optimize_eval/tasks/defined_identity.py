"""What makes a scorer of a task the same one tomorrow: its parts as data, whose digest it is.

Not the task's file: a scorer that is changed leaves the others as they are. Which models are under test,
units say.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

import orjson

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.models.model_kinds import ModelSpec, identify_model, model_has_changed
from optimize_eval.programs.identity import Identity
from optimize_eval.tasks.defined import DefinedScorer, Sample

_MODEL_KEYS = ("model_key", "judge_model_key")
_CODE = ("snippet",)


def plain(part: Any) -> Any:
    """Write a part with the name of its class; what is as by default is left out, so that parts may grow."""
    if is_dataclass(part) and not isinstance(part, type):
        said = {one.name: getattr(part, one.name) for one in fields(part)}
        chosen = {one.name: plain(said[one.name]) for one in fields(part) if said[one.name] != _default(one)}
        return [type(part).__name__, chosen]
    if isinstance(part, Mapping):
        return {str(key): plain(value) for key, value in part.items()}
    if isinstance(part, Sequence) and not isinstance(part, str):
        return [plain(one) for one in part]
    return part


def model_keys(part: Any) -> Iterator[str]:
    """Find the keys of models in a part and whatever is in it."""
    return _values(part, _MODEL_KEYS)


def has_code(part: Any) -> bool:
    """Return True if there is code in a part or whatever is in it."""
    return any(_values(part, _CODE))


def _values(part: Any, names: Sequence[str]) -> Iterator[str]:
    """Find the values of the fields of these names."""
    if is_dataclass(part) and not isinstance(part, type):
        for field in fields(part):
            value = getattr(part, field.name)
            if field.name in names:
                yield value
            else:
                yield from _values(value, names)
    elif isinstance(part, list | tuple):
        for field in part:
            yield from _values(field, names)


def _default(one: Any) -> Any:
    if one.default is not MISSING:
        return one.default
    return one.default_factory() if one.default_factory is not MISSING else MISSING


def identify(
    spec: EvaluatorSpec, target: DefinedScorer, identify_program: Callable[[EvaluatorSpec], Identity]
) -> Identity:
    """Digest what a scorer of a task is; `identify_program` is for the evaluator that it may be."""
    scored = identify_program(target.program) if target.program else None
    parts = [
        target.task.entity,
        plain(target.task.solver),
        plain(target.scorer.how),
        _models(target),
        scored and scored.sha256,
        [(name, _digest(samples)) for name, samples in target.samples.items()],
    ]
    return Identity(
        name=spec.name,
        text=f"task:{Path(target.task.path).name} {target.scorer.key}",
        files=scored.files if scored else (),
        sha256=_sha256(orjson.dumps(["definition", *parts])),
    )


def has_changed(
    target: DefinedScorer,
    known: Identity,
    program_has_changed: Callable[[EvaluatorSpec, Identity], bool],
) -> bool:
    """Return True if a program that scores or replies is another one now."""
    if target.program and program_has_changed(target.program, known):
        return True
    return not target.is_stored and any(map(model_has_changed, target.models))


def _models(target: DefinedScorer) -> list[Any]:
    """Digest the models that the solver and this scorer name by keys."""
    keys = dict.fromkeys((*model_keys(target.task.solver), *model_keys(target.scorer)))
    return [(key, _of_model(target.keyed[key])) for key in sorted(keys) if key in target.keyed]


def _of_model(model: ModelSpec) -> str:
    return (model.known_as or identify_model(model.with_how(environment={}))).sha256


def _digest(samples: Sequence[Sample]) -> str:
    return _sha256(b"\n".join(sample.raw for sample in samples))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
