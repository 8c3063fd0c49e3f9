"""What makes an evaluator of a task the same one tomorrow; which models are under test, units say.

Of a task in YAML these are the parts of one scorer as data, whose digest it is. Not the task's file: a scorer
that is changed leaves the others as they are. How an evaluator that scores is identified is handed in.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.models.model_kinds import ModelSpec, identify_model, sha256_of
from optimize_eval.programs.identity import Identity
from optimize_eval.tasks.targets import PromptTask, RecordTask, Sample, SampleTask, TaskTarget

_MODEL_KEYS = ("model_key", "judge_model_key")
_CODE = ("snippet",)


def plain(part: Any) -> Any:
    """Write a part with the name of its class; what is as by default is left out, so that parts may grow."""
    if is_dataclass(part) and not isinstance(part, type):
        said = {slot.name: getattr(part, slot.name) for slot in fields(part)}
        chosen = {
            entry.name: plain(said[entry.name])
            for entry in fields(part)
            if said[entry.name] != _default(entry)
        }
        return [type(part).__name__, chosen]
    if isinstance(part, Mapping):
        return {str(key): plain(value) for key, value in part.items()}
    if isinstance(part, Sequence) and not isinstance(part, str):
        return [plain(item) for item in part]
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


Identify = Callable[[EvaluatorSpec], Identity]


def identify(spec: EvaluatorSpec, task: TaskTarget, identify_scorer: Identify) -> Identity:
    """Digest what scores, with the files that it names; which models are under test, the units say."""
    match task:
        case RecordTask():
            return _of_records(spec, task, identify_scorer)
        case PromptTask():
            return _of_prompts(spec, task, identify_scorer)
        case SampleTask():
            return _of_samples(spec, task, identify_scorer)
    raise TypeError(type(task))


def _of_records(spec: EvaluatorSpec, task: RecordTask, identify_scorer: Identify) -> Identity:
    scorers = [(scorer.name, identify_scorer(scorer)) for scorer in task.evaluators]
    files = (file for _, known in scorers for file in known.files)
    judge = task.scorer.target if task.scorer else None
    shown = ["shown the prompt"] if getattr(judge, "shows_prompt", False) else []
    return Identity(
        name=spec.name,
        text=scorers[0][1].text if task.scorer else f"task:{Path(spec.text).name}",
        files=tuple(dict.fromkeys(files)),
        sha256=sha256_of([None, [(name, known.sha256) for name, known in scorers], *shown]),
    )


def _of_prompts(spec: EvaluatorSpec, task: PromptTask, identify_scorer: Identify) -> Identity:
    """Give the scorer's identity, and with it what of a reply it scores."""
    known = identify_scorer(replace(task.scorer, name=spec.name))
    if not task.extract:
        return known
    digest = sha256_of(["extract", task.extract, known.sha256])
    return replace(known, text=f"{known.text} --extract {task.extract}", sha256=digest)


def _of_samples(spec: EvaluatorSpec, target: SampleTask, identify_scorer: Identify) -> Identity:
    scored = identify_scorer(target.program) if target.program else None
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
        sha256=sha256_of(["definition", *parts]),
    )


def _models(target: SampleTask) -> list[Any]:
    """Digest the models that the solver and this scorer name by keys."""
    keys = dict.fromkeys((*model_keys(target.task.solver), *model_keys(target.scorer)))
    return [(key, _of_model(target.keyed[key])) for key in sorted(keys) if key in target.keyed]


def _of_model(model: ModelSpec) -> str:
    return (model.known_as or identify_model(model.with_how(environment={}))).sha256


def _digest(samples: Sequence[Sample]) -> str:
    return hashlib.sha256(b"\n".join(sample.raw for sample in samples)).hexdigest()
