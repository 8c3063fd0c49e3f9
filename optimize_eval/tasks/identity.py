"""What makes an evaluator of tasks the same one tomorrow: its model, and the metrics that score.

A model is its program's files, its recorded outputs, or its name and settings; never a timeout or a key. How
a scorer is identified is handed in, for it may be of any kind.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from optimize_eval.errors import UsageError
from optimize_eval.evaluator import EvaluatorSpec
from optimize_eval.programs.identity import (
    Identity,
    digest_of,
    has_other_programs,
    identify_command,
    identify_url,
)
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

Identify = Callable[[EvaluatorSpec], Identity]

_SHOWN = 8  # of a digest

_Files = tuple[tuple[str, str], ...]


def identify(spec: EvaluatorSpec, identify_scorer: Identify) -> Identity:
    """Read the files that a model and its scorers name, and digest what they are."""
    task = tasks_of(spec)
    model = identify_model(task.model, spec) if task.model else None
    scorer = task.scorer.target if task.scorer else None
    scorers = [(scorer.name, identify_scorer(scorer)) for scorer in task.scorers]
    files = tuple(
        file for identity in (model, *(known for _, known in scorers)) if identity for file in identity.files
    )
    return Identity(
        name=spec.name,
        text=model.text if model else _text_of(spec, scorers),
        files=tuple(dict.fromkeys(files)),
        sha256=_sha256(
            [
                model and model.sha256,
                [(name, known.sha256) for name, known in scorers],
                *(["shown the prompt"] if getattr(scorer, "shows_prompt", False) else []),
            ]
        ),
        model=model.sha256 if model else "",
    )


def _text_of(spec: EvaluatorSpec, scorers: Sequence[tuple[str, Identity]]) -> str:
    """Write down what scores: a task file, or who does so in the place of its metrics."""
    return scorers[0][1].text if tasks_of(spec).scorer else f"task:{Path(spec.text).name}"


def has_changed(spec: EvaluatorSpec, known: Identity, identify_scorer: Identify) -> bool:
    """Return True if a program is not the one that was identified; data that it writes to may change."""
    try:
        now = identify(spec, identify_scorer).files
    except UsageError:  # it cannot be read any more
        return True
    task = tasks_of(spec)
    named = parse_model(task.model) if task.model else None
    program = program_spec(named.rest, spec) if named and named.kind == CMD else spec
    return has_other_programs(known, now, program)


def model_has_changed(spec: EvaluatorSpec) -> bool:
    """Return True if the program of a model, which was identified when it was planned, is another one now."""
    task = tasks_of(spec)
    named = parse_model(task.model)
    if named.kind != CMD or task.known_as is None:
        return False
    try:
        now = identify_model(task.model, spec).files
    except UsageError:  # it cannot be read any more
        return True
    return has_other_programs(task.known_as, now, program_spec(named.rest, spec))


def model_of(known: Identity) -> Identity:
    """Give the identity of the model that an evaluator of tasks calls."""
    return Identity(name=known.text, text=known.text, files=(), sha256=known.model)


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
    return Identity(name=text, text=text, files=files, sha256=_sha256(essence))


def _sha256(value: Any) -> str:
    return hashlib.sha256(orjson.dumps(value)).hexdigest()
