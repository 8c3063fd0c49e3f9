"""`--show ID`: an example or a task step by step: prompts, replies, thoughts, scores and why.

Of a task in YAML the conversation is made again of the replies that are written down; nothing is called.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import typer

from optimize_eval.base import errors, strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec, Opened
from optimize_eval.base.outcome import Failed, Outcome
from optimize_eval.base.protocol import Payload
from optimize_eval.cli import output
from optimize_eval.cli.host import owned_processes
from optimize_eval.data.candidates import THE_PROMPT, THE_TASK, Candidate
from optimize_eval.evaluators.kinds import connect
from optimize_eval.findings.metric_rows import left_out
from optimize_eval.findings.side_info import fields_said, reason_of
from optimize_eval.findings.wording import reply_marks
from optimize_eval.models.model_kinds import ModelSpec
from optimize_eval.models.outputs import Outputs, key_of
from optimize_eval.models.under_test import ASSISTANT, reply_facts
from optimize_eval.run.attempt import attempt
from optimize_eval.run.plan import Plan, PlannedExample
from optimize_eval.store.command_units import JournalRecord, Reader
from optimize_eval.store.folder import JOURNAL, OUTPUTS, hold_lock
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.records import LeftOut, unit_of
from optimize_eval.tasks import Task, TaskFile
from optimize_eval.tasks.of_replies import extraction_of, id_of, prompt_for
from optimize_eval.tasks.of_samples import Solving
from optimize_eval.tasks.targets import (
    PromptTask,
    SampleTask,
    definitions_in,
    models_of,
    samples_of,
    with_task,
)
from optimize_eval.tasks.templates.template import fields_of

Shown = JsonDict


class Places:
    """What is told of every example: each of its places with the scores that are recorded there."""

    def __init__(self, plan: Plan, reader: Reader | None, left_out: LeftOut = MappingProxyType({})) -> None:
        self.plan = plan
        self._reader = reader
        self._left_out = left_out

    def describe(self, split: str, example: PlannedExample, steps: Callable[[Payload], Shown]) -> Shown:
        layout, fields = self.plan.layout, fields_of(example.raw)
        axes = product(self.plan.candidates, layout.task_models, range(1, layout.repeats + 1))
        return {
            "id": id_of(fields),
            "split": split,
            "line": example.line,
            "example": fields,
            "replies": [self._reply(split, example, *place, steps) for place in axes],
        }

    def _reply(
        self,
        split: str,
        example: PlannedExample,
        candidate: Candidate,
        model: str | None,
        repeat: int,
        steps: Callable[[Payload], Shown],
    ) -> Shown:
        payload = Payload(
            candidate=candidate.text,
            example=example.raw,
            task_model=model,
            split=split,
            line=example.line,
            repeat=repeat,
        )
        where = {
            "candidate": candidate.name,
            "task_model": model,
            "split": split,
            "line": example.line,
            "repeat": repeat,
        }
        layout = self.plan.layout
        scorers = [
            name for name in layout.evaluators if split in {known.name for known in layout.splits_for(name)}
        ]
        return {
            "prompt": candidate.name,
            "model": model,
            "repeat": repeat,
            **steps(payload),
            "scores": {name: self._score({**where, "evaluator": name}) for name in scorers},
        }

    def _score(self, where: JsonMapping) -> Shown:
        shown = _score(self._record(where))
        rules = self._left_out.get(unit_of(where)) if shown["outcome"] == "scored" else None
        return {**shown, "excluded_by": list(rules)} if rules else shown

    def _record(self, where: JsonMapping) -> JournalRecord | None:
        number = self.plan.layout.number(where)
        return None if self._reader is None or number is None else self._reader.record(number)


def _score(record: JournalRecord | None) -> Shown:
    if record is None:
        return {"outcome": "owed"}
    if record["outcome"] == "scored":
        return {"outcome": "scored", "score": record["score"], "side_info": record["side_info"]}
    return {key: record[key] for key in ("outcome", "kind", "message") if key in record}


def block(head: str, text: str) -> Iterator[str]:
    """Write a text line by line beside its heading, as it is: blanks count."""
    for number, line in enumerate(text.split("\n")):
        yield f"  {head if not number else '':<9} │ {line}"


ROW_SCHEMA = "optimize-eval.row.v1"

_NOT_CALLED = "not called yet"
_LONGEST_CODE = 60.0  # seconds for code of a task that makes its conversation again
_NO_CANDIDATES = (THE_TASK.name, THE_PROMPT.name)


def show_row(plan: Plan, run: StoredRun, wanted: str, *, as_json: bool) -> None:
    """Go through an example with each prompt and model; nothing is called."""
    found = _examples(plan, wanted)
    if not found:
        line = f"{plan.layout.splits[0].name}:7"
        raise UsageError(
            f"no example has the id {wanted!r}", hint=f"name an id, or the line of an example, 7 or {line}"
        )
    with ExitStack() as stack:
        has_records = (run.folder / JOURNAL).exists()
        reader = stack.enter_context(run.reader()) if has_records else None
        seen = _look_into(plan, run, reader, stack)
        shown: Shown = {
            "schema": ROW_SCHEMA,
            "examples": [seen.describe(split, example) for split, example in found],
        }
    if as_json:
        output.emit_json(shown)
    else:
        output.emit("\n".join(line for example in shown["examples"] for line in _lines_of_row(example)))


def _look_into(plan: Plan, run: StoredRun, reader: Reader | None, stack: ExitStack) -> "_Seen":
    if definitions_in(plan.specs):
        return _SeenTask(plan, reader, stack, left_out(run) if reader else {})
    outputs = Outputs(run.folder / OUTPUTS)
    stack.callback(outputs.close)
    return _SeenPrompt(plan, reader, outputs)


def _examples(plan: Plan, wanted: str) -> list[tuple[str, PlannedExample]]:
    """Find examples by their id, else by their line, alone or with its split as headings have it."""
    splits = zip(plan.layout.splits, plan.examples, strict=True)
    every = [(split.name, example) for split, examples in splits for example in examples]
    by_id = [pair for pair in every if id_of(fields_of(pair[1].raw)) == wanted]
    return by_id or [
        (split, example)
        for split, example in every
        if wanted in {str(example.line), f"{split}:{example.line}"}
    ]


class _Seen(Protocol):
    """What a run has of its examples."""

    def describe(self, split: str, example: PlannedExample) -> Shown: ...


class _SeenTask:
    """Conversations of tasks in YAML."""

    def __init__(self, plan: Plan, reader: Reader | None, stack: ExitStack, left_out: LeftOut) -> None:
        self._records = Places(plan, reader, left_out)
        self._opened = stack.enter_context(Opened())
        self._solving: dict[str, Solving] = {}
        self._about: dict[str, Shown] = {}  # tasks by their splits
        for spec in plan.specs:
            if target := samples_of(spec):
                splits = [split.name for split in plan.layout.splits_for(spec.name)]
                self._add(replace(target, is_stored=True), splits)

    def describe(self, split: str, example: PlannedExample) -> Shown:
        about = self._about.get(split)
        return {**self._records.describe(split, example, self._steps), **({"task": about} if about else {})}

    def _add(self, target: SampleTask, splits: Sequence[str]) -> None:
        task = target.task
        about = {"display_name": task.display_name, "description": task.description.strip()}
        self._about |= dict.fromkeys(splits, about)
        new = [split for split in splits if split not in self._solving]
        if new and task.solver:
            self._solving |= dict.fromkeys(new, Solving(target, self._opened))

    def _steps(self, payload: Payload) -> Shown:
        solving = self._solving.get(payload.split)
        if solving is None:  # of a dataset
            return {"messages": [], "reply": None}
        try:
            trace = solving.trace(payload, fields_of(payload.example), time.monotonic() + _LONGEST_CODE)
        except EvaluationError as error:
            hint = {"hint": error.hint} if error.hint else {}
            return {"messages": [], "reply": None, "not_shown": error.message, **hint}
        facts = {"replied": dict(trace.facts)} if trace.facts else {}
        return {"messages": list(trace.items), "reply": trace.last_text(ASSISTANT), **facts}


class _SeenPrompt:
    """Prompts as they were sent, and what was replied."""

    def __init__(self, plan: Plan, reader: Reader | None, outputs: Outputs) -> None:
        self._records = Places(plan, reader)
        self._outputs = outputs
        target = plan.specs[0].target
        self._extract = target.extract if isinstance(target, PromptTask) else ""

    def describe(self, split: str, example: PlannedExample) -> Shown:
        return self._records.describe(split, example, self._steps)

    def _steps(self, payload: Payload) -> Shown:
        prompt = prompt_for(payload)
        digests = {model.name: model.sha256 for model in self._records.plan.models}
        reply = self._outputs.find(key_of(digests[payload.task_model or ""], prompt))
        steps: Shown = (
            {"reply": reply.text, "thoughts": reply.reasoning or None} if reply else {"reply": None}
        )
        steps |= {"replied": facts} if reply and (facts := reply_facts(reply)) else {}
        if reply and self._extract:
            with suppress(EvaluationError):  # then the scores say so
                steps["extracted"] = extraction_of(self._extract)(reply.text)
        return {"messages": prompt.messages, **steps}


def _lines_of_row(shown: JsonMapping) -> Iterator[str]:
    yield f"{shown['id'] or 'example'}  {shown['split']}:{shown['line']}"
    if task := shown.get("task"):
        yield from block("task", f"{task['display_name']}: {task['description']}")
    for reply in shown["replies"]:
        again = f", repeat {reply['repeat']}" if reply["repeat"] > 1 else ""
        named = [name for name in (reply["prompt"], reply["model"]) if name and name not in _NO_CANDIDATES]
        yield from ("", f"{' → '.join(named) or reply['prompt']}{again}")
        yield from _conversation(reply["messages"])
        if "not_shown" in reply:
            yield f"  there is no conversation: {reply['not_shown']}"
        if "hint" in reply:
            yield f"    try: {reply['hint']}"
        if reply.get("thoughts"):
            yield from block("thoughts", reply["thoughts"])
        if reply["reply"] is not None and "type" not in reply["messages"][0]:
            yield from block("reply", reply["reply"])
        if marks := [*reply_marks(reply.get("replied", {}))]:
            yield f"  ! {', '.join(marks)}"
        if "extracted" in reply:
            yield from block("extracted", reply["extracted"])
        for evaluator, score in reply["scores"].items():
            yield _score_line(evaluator, score, reply.get("not_shown"))


def _conversation(items: Sequence[JsonMapping]) -> Iterator[str]:
    """Lay out a conversation; who calls functions may say nothing beside."""
    for item, following in pairwise([*items, {}]):
        if item.get("content") != "" or following.get("type") != "function_call":
            yield from _lay_out(item)


def _lay_out(item: JsonMapping) -> list[str]:
    """Lay out a message, a call of a function, or what it gave back."""
    match item:
        case {"type": "function_call", "name": name, "arguments": arguments}:
            return [*block("calls", f"{name} {strict_json.dumps(arguments).decode()}")]
        case {"type": "function_call_output", "output": output}:
            return [*block("gave", output if isinstance(output, str) else strict_json.dumps(output).decode())]
    return [*block(item["role"], item["content"])]


def _score_line(evaluator: str, score: JsonMapping, shown: str | None) -> str:
    if score["outcome"] == "owed":
        return f"  {evaluator}: {_NOT_CALLED}"
    if score["outcome"] == "skipped":
        return f"  {evaluator}: skipped, {score.get('message', '')}"
    if score["outcome"] != "scored":
        words = score.get("message", "")
        kind = f"{score['outcome']}, {score.get('kind', '')}"
        return f"  {evaluator}: {kind}" + ("" if words == shown else f": {words}")
    side_info = score["side_info"]
    reason = fields_said(side_info) or reason_of(side_info)
    said = f" ({' '.join(reason.split())})" if reason else ""
    left = f", left out by {', '.join(rules)}" if (rules := score.get("excluded_by")) else ""
    return f"  {evaluator}: {_number_of(score)}{said}{left}"


def _number_of(score: JsonMapping) -> str:
    return "no number" if score["score"] is None else f"{score['score']:g}"


TASK_SCHEMA = "optimize-eval.task.v1"

_OF_THE_TASK = ("thoughts", "output", "prediction", "metric")  # of the side info: told as steps of their own


def show_task(spec: EvaluatorSpec, file: TaskFile, task: Task, outputs: Path, *, as_json: bool) -> None:
    """Go through one task with each model of its evaluator; outputs that the run has are used."""
    with _hold(outputs) as path, owned_processes():
        models = [(model.name, _call(spec, model, task, path)) for model in models_of(spec)]
    shown = {
        "schema": TASK_SCHEMA,
        "task": task.id,
        "path": file.path,
        "line": task.line,
        "metric_id": task.metric,
        "post_process": task.post_process,
        "prompt": task.prompt,
        "targets": list(task.targets),
        "models": [_describe(name, outcome) for name, outcome in models],
    }
    if as_json:
        output.emit_json(shown)
    else:
        output.emit("\n".join(_lines_of_task(shown)))
    if all(isinstance(outcome, Failed) for _, outcome in models):
        raise typer.Exit(errors.TOO_MANY_FAILURES)


@contextlib.contextmanager
def _hold(outputs: Path) -> Iterator[str]:
    """Hold the folder of a run's outputs, if there are some, and give their path."""
    if not outputs.exists():
        yield ""
        return
    with hold_lock(outputs.parent):
        yield str(outputs.absolute())


def _call(spec: EvaluatorSpec, model: ModelSpec, task: Task, outputs: str) -> Outcome:
    known = replace(model, outputs=outputs)
    with Opened() as opened:
        evaluator = connect(with_task(spec, models=(known,)), opened)
        payload = Payload(candidate="", example=task.raw, line=task.line, task_model=model.name)
        return attempt(evaluator, payload, spec.timeout, model.retries)


def _describe(name: str, outcome: Outcome) -> JsonDict:
    shown = outcome.to_dict()
    side_info = shown.pop("side_info", {})
    steps = {key: side_info.pop(key, None) for key in _OF_THE_TASK}
    del steps["metric"]
    return {"adapter": name, **steps, **shown, "side_info": side_info}


def _lines_of_task(shown: JsonMapping) -> Iterator[str]:
    yield f"{shown['task']}  {shown['path']}:{shown['line']}"
    yield f"  scored by {shown['metric_id']}, after the post-process {shown['post_process']}"
    yield from block("prompt", shown["prompt"])
    yield from block("targets", "\n".join(shown["targets"]))
    for model in shown["models"]:
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
