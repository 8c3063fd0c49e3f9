"""What makes an evaluator of tasks the same one tomorrow: its model, and the metrics that score.

A model is its program's files, its recorded outputs, or its name and settings; never a timeout or a key. All
other evaluators are identified by reach.
"""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from optimize_eval.errors import UsageError
from optimize_eval.evaluator import EvaluatorSpec, TaskSpecification
from optimize_eval.programs import identity
from optimize_eval.programs.identity import Identity, digest_of
from optimize_eval.tasks.under_test.table import (
    CMD,
    HTTP,
    REPLAY,
    endpoint_spec,
    parse_model,
    program_spec,
    replayed,
)

_SHOWN = 8  # of a digest

_Files = tuple[tuple[str, str], ...]


def identify(spec: EvaluatorSpec) -> Identity:
    """Read the files that an evaluator names, and digest what it is."""
    if spec.task is None:
        return identity.identify(spec)
    model = identify_model(spec.task.model, spec) if spec.task.model else None
    scorers = (spec.task.scorer,) if spec.task.scorer else spec.task.metrics
    metrics = [(metric.name, identity.identify(metric)) for metric in scorers]
    files = tuple(file for one in (model, *(found for _, found in metrics)) if one for file in one.files)
    return Identity(
        name=spec.name,
        text=model.text if model else f"task:{Path(spec.text).name}",
        files=tuple(dict.fromkeys(files)),
        sha256=_sha256([model and model.sha256, [(name, found.sha256) for name, found in metrics]]),
        model=model.sha256 if model else "",
    )


def has_changed(spec: EvaluatorSpec, known: Identity) -> bool:
    """Tell whether a program is not the one that was identified; data that it writes to may change."""
    if spec.task is None:
        return identity.has_changed(spec, known)
    try:
        now = identify(spec).files
    except UsageError:  # it cannot be read any more
        return True
    named = parse_model(spec.task.model) if spec.task.model else None
    asked = program_spec(named.rest, spec) if named and named.kind == CMD else spec
    return identity.has_other_programs(known, now, asked)


def identify_model(text: str, spec: EvaluatorSpec) -> Identity:
    """Digest what a model is; `spec` is that of the evaluator that asks it."""
    named = parse_model(text)
    if named.kind == CMD:
        program = identity.identify(program_spec(named.rest, spec))
        return _identity(f"{CMD}{program.text}", [CMD, program.sha256], program.files)
    if named.kind == HTTP:
        endpoint = identity.identify(endpoint_spec(named.rest, spec))
        query = f"?{endpoint.sha256[:_SHOWN]}" if "?" in named.rest else ""  # it may be all that differs
        return _identity(f"{endpoint.text}{query}", [HTTP, endpoint.sha256], ())
    if named.kind == REPLAY:
        path, chosen = replayed(named.rest, spec)
        file = path.name, digest_of(path)
        shown = f"{REPLAY}{path.name}{f'#{chosen}' if chosen else ''}"
        version = spec.task.replayed if spec.task else ""
        return _identity(shown, [REPLAY, file[1], chosen, *([version] if version else [])], (file,))
    if named.kind:
        return _identity(named.kind, [named.kind], ())
    return _identity(named.rest, ["", named.rest, *_settings(spec.task or TaskSpecification())], ())


def _settings(task: TaskSpecification) -> list[Any]:
    from optimize_eval.models.from_spec import essence  # noqa: PLC0415  programs need no HTTP client

    if task.table:
        task = replace(
            task,
            temperature=task.temperature if task.temperature is not None else task.table.temperature,
            max_tokens=task.max_tokens or task.table.max_tokens,
            seed=task.seed if task.seed is not None else task.table.seed,
        )
    kept = ["keep_thoughts"] * task.keep_thoughts  # without it a model is the one that it was in older runs
    table = essence(task.table) if task.table else {}
    return [task.api_base, task.temperature, task.max_tokens, task.seed, *kept, *([table] if table else [])]


def _identity(text: str, essence: list[Any], files: _Files) -> Identity:
    return Identity(name=text, text=text, files=files, sha256=_sha256(essence))


def _sha256(value: Any) -> str:
    return hashlib.sha256(orjson.dumps(value)).hexdigest()
