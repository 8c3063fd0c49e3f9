"""`bench --show ID`: one task step by step: prompt, output, prediction, score, and what the metric says."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from optimize_eval.base import strict_json
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.outcome import Failed, Outcome
from optimize_eval.base.protocol import Payload
from optimize_eval.cli import output
from optimize_eval.cli.cleanup import owned_processes
from optimize_eval.cli.printed.steps import block
from optimize_eval.evaluators.kinds import connect
from optimize_eval.models.model_kinds import tasks_of
from optimize_eval.run.attempt import attempt
from optimize_eval.store.folder import locked
from optimize_eval.tasks import Task, TaskFile

SCHEMA = "optimize-eval.task.v1"

_FAILED = 4  # as a bench whose models all fail

_OF_THE_TASK = ("thoughts", "output", "prediction", "metric")  # of the side info: told as steps of their own


def show(spec: EvaluatorSpec, file: TaskFile, task: Task, outputs: Path, *, as_json: bool) -> None:
    """Go through one task with each model of its evaluator; outputs that the run has are used."""
    with _held(outputs) as path, owned_processes():
        models = [(model.name, _called(spec, model, task, path)) for model in tasks_of(spec).models]
    told = {
        "schema": SCHEMA,
        "task": task.id,
        "path": file.path,
        "line": task.line,
        "metric_id": task.metric,
        "post_process": task.post_process,
        "prompt": task.prompt,
        "targets": list(task.targets),
        "models": [_told(name, outcome) for name, outcome in models],
    }
    if as_json:
        output.emit_json(told)
    else:
        output.emit("\n".join(_lines(told)))
    if all(isinstance(outcome, Failed) for _, outcome in models):
        raise typer.Exit(_FAILED)


@contextlib.contextmanager
def _held(outputs: Path) -> Iterator[str]:
    """Hold the folder of a run's outputs, if there are some, and give their path."""
    if not outputs.exists():
        yield ""
        return
    with locked(outputs.parent):
        yield str(outputs.absolute())


def _called(spec: EvaluatorSpec, model: EvaluatorSpec, task: Task, outputs: str) -> Outcome:
    known = replace(model, target=replace(tasks_of(model), outputs=outputs))
    evaluator = connect(replace(spec, target=replace(tasks_of(spec), models=(known,))))
    try:
        payload = Payload(candidate="", example=task.raw, line=task.line, task_model=model.name)
        return attempt(evaluator, payload, spec.timeout, model.retries or 0)
    finally:
        evaluator.close()


def _told(name: str, outcome: Outcome) -> dict[str, Any]:
    told = outcome.to_dict()
    side_info = told.pop("side_info", {})
    steps = {key: side_info.pop(key, None) for key in _OF_THE_TASK}
    del steps["metric"]
    return {"adapter": name, **steps, **told, "side_info": side_info}


def _lines(told: Mapping[str, Any]) -> Iterator[str]:
    yield f"{told['task']}  {told['path']}:{told['line']}"
    yield f"  scored by {told['metric_id']}, after the post-process {told['post_process']}"
    yield from block("prompt", told["prompt"])
    yield from block("targets", "\n".join(told["targets"]))
    for model in told["models"]:
        yield ""
        yield model["adapter"]
        if model["outcome"] == "failed":
            yield f"  failed    {model['kind']}: {model['message']}"
            yield from [f"  try       {model['hint']}"] * bool(model["hint"])
            continue
        if model["thoughts"] is not None:
            yield from block("thoughts", model["thoughts"])
        yield from block("output", model["output"])
        yield from block("predicted", model["prediction"])
        skipped = f"  skipped   {model.get('message')}"
        yield skipped if model["outcome"] == "skipped" else f"  score     {model['score']:g}"
        for key, value in model["side_info"].items():
            yield from block(key, value if isinstance(value, str) else strict_json.dumps(value).decode())
