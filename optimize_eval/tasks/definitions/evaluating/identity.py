"""What makes a scorer of a task the same one tomorrow: how its samples are solved, and how they are scored.

Not the task's file: a scorer that is changed leaves the others as they are. Which models are under test,
units say.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.models.model_kinds import identify_model, model_has_changed, tasks_of
from optimize_eval.programs.identity import Identity
from optimize_eval.tasks.definitions.evaluating.plain import model_keys, plain
from optimize_eval.tasks.definitions.target import DefinedScorer, Sample


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


def _of_model(spec: EvaluatorSpec) -> str:
    task = tasks_of(spec)
    return (task.known_as or identify_model(task.model, replace(spec, environment={}))).sha256


def _digest(samples: Sequence[Sample]) -> str:
    return _sha256(b"\n".join(sample.raw for sample in samples))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
