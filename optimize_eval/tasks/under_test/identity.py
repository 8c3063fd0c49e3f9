"""What makes a model the same one tomorrow: its files, recorded outputs, or name and settings; no key."""

import hashlib
from dataclasses import replace
from typing import Any

import orjson

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.programs.identity import Identity, digest_of, identify_command, identify_url
from optimize_eval.tasks.target import Tasks, tasks_of
from optimize_eval.tasks.under_test.table import (
    CMD,
    HTTP,
    REPLAY,
    endpoint_spec,
    model_spec,
    parse_model,
    program_spec,
    replayed,
)

_SHOWN = 8  # of a digest

_Files = tuple[tuple[str, str], ...]


def identify_model(text: str, spec: EvaluatorSpec) -> Identity:
    """Digest what a model is; `spec` is that of the evaluator that calls it."""
    named = parse_model(text)
    if named.kind == CMD:
        program = identify_command(program_spec(named.rest, spec))
        return _identity(f"{CMD}{program.text}", [CMD, program.sha256], program.files)
    if named.kind == HTTP:
        endpoint = identify_url(endpoint_spec(named.rest, spec))
        query = f"?{endpoint.sha256[:_SHOWN]}" if "?" in named.rest else ""  # it may be all that differs
        return _identity(f"{endpoint.text}{query}", [HTTP, endpoint.sha256], ())
    if named.kind == REPLAY:
        path, chosen = replayed(named.rest, spec)
        file = path.name, digest_of(path)
        shown = f"{REPLAY}{path.name}{f'#{chosen}' if chosen else ''}"
        version = tasks_of(spec).replayed
        return _identity(shown, [REPLAY, file[1], chosen, *([version] if version else [])], (file,))
    if named.kind:
        return _identity(named.kind, [named.kind], ())
    from optimize_eval.models.from_spec import base_around  # noqa: PLC0415  see _settings

    task = tasks_of(spec)
    around = base_around(model_spec(named.rest, task))
    return _identity(named.rest, ["", named.rest, *_settings(task), *around], ())


def _settings(task: Tasks) -> list[Any]:
    from optimize_eval.models.from_spec import essence  # noqa: PLC0415  programs need no HTTP client

    if task.table:
        task = replace(
            task,
            temperature=task.temperature if task.temperature is not None else task.table.temperature,
            max_tokens=task.max_tokens or task.table.max_tokens,
            seed=task.seed if task.seed is not None else task.table.seed,
        )
    # without these a model is the one that it was in older runs
    kept = ["keep_thoughts"] * task.keep_thoughts + ["fails_refusals"] * task.fails_refusals
    table = essence(task.table) if task.table else {}
    return [task.api_base, task.temperature, task.max_tokens, task.seed, *kept, *([table] if table else [])]


def _identity(text: str, essence: list[Any], files: _Files) -> Identity:
    return Identity(name=text, text=text, files=files, sha256=sha256_of(essence))


def sha256_of(value: Any) -> str:
    return hashlib.sha256(orjson.dumps(value)).hexdigest()
