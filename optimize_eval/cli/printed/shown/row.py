"""`--show ID`: an example step by step: prompts as sent, replies, thoughts, scores and why.

Of a task in YAML the conversation is made again of the replies that are written down; nothing is called.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import pairwise
from typing import Any, Protocol

from optimize_eval.base import strict_json
from optimize_eval.base.errors import EvaluationError, UsageError
from optimize_eval.base.protocol import Payload
from optimize_eval.cli import output
from optimize_eval.cli.printed.shown.places import Places, Told
from optimize_eval.cli.printed.steps import block
from optimize_eval.data.candidates import THE_PROMPT, THE_TASK
from optimize_eval.findings.metric_rows import left_out
from optimize_eval.findings.side_info import fields_said, reason_of
from optimize_eval.findings.wording import reply_marks
from optimize_eval.models.model_kinds import prompted_of
from optimize_eval.models.outputs import Outputs, key_of
from optimize_eval.models.under_test import reply_facts
from optimize_eval.run.plan import Plan, PlannedExample
from optimize_eval.store.folder import JOURNAL, OUTPUTS
from optimize_eval.store.stored import StoredRun
from optimize_eval.store.view import Reader
from optimize_eval.tasks.defined import defined_of
from optimize_eval.tasks.of_replies import extraction_of, id_of, prompt_for
from optimize_eval.tasks.prompt import fields_of

SCHEMA = "optimize-eval.row.v1"

_NOT_CALLED = "not called yet"
_NO_CANDIDATES = (THE_TASK.name, THE_PROMPT.name)


def show(plan: Plan, run: StoredRun, wanted: str, *, as_json: bool) -> None:
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
        seen = _seen(plan, run, reader, stack)
        told: Told = {"schema": SCHEMA, "examples": [seen.told(split, example) for split, example in found]}
    if as_json:
        output.emit_json(told)
    else:
        output.emit("\n".join(line for example in told["examples"] for line in _lines(example)))


def _seen(plan: Plan, run: StoredRun, reader: Reader | None, stack: ExitStack) -> "_Seen":
    if any(map(defined_of, plan.specs)):
        from optimize_eval.cli.printed.shown.sample import SeenTask  # noqa: PLC0415  most runs have no task in YAML

        return SeenTask(plan, reader, stack, left_out(run) if reader else {})
    outputs = Outputs(run.folder / OUTPUTS)
    stack.callback(outputs.close)
    return _SeenPrompt(plan, reader, outputs)


def _examples(plan: Plan, wanted: str) -> list[tuple[str, PlannedExample]]:
    """Find examples by their id, else by their line, alone or with its split as headings have it."""
    splits = zip(plan.layout.splits, plan.examples, strict=True)
    every = [(split.name, example) for split, examples in splits for example in examples]
    by_id = [pair for pair in every if id_of(fields_of(pair[1].raw)) == wanted]
    return by_id or [(split, one) for split, one in every if wanted in {str(one.line), f"{split}:{one.line}"}]


class _Seen(Protocol):
    """What a run has of its examples."""

    def told(self, split: str, example: PlannedExample) -> Told: ...


class _SeenPrompt:
    """Prompts as they were sent, and what was replied."""

    def __init__(self, plan: Plan, reader: Reader | None, outputs: Outputs) -> None:
        self._records = Places(plan, reader)
        self._outputs = outputs
        target = prompted_of(plan.specs[0])
        self._extract = target.extract if target else ""

    def told(self, split: str, example: PlannedExample) -> Told:
        return self._records.told(split, example, self._steps)

    def _steps(self, payload: Payload) -> Told:
        prompt = prompt_for(payload)
        digests = {model.name: model.sha256 for model in self._records.plan.models}
        reply = self._outputs.find(key_of(digests[payload.task_model or ""], prompt))
        steps: Told = {"reply": reply.text, "thoughts": reply.reasoning or None} if reply else {"reply": None}
        steps |= {"replied": facts} if reply and (facts := reply_facts(reply)) else {}
        if reply and self._extract:
            with suppress(EvaluationError):  # then the scores say so
                steps["extracted"] = extraction_of(self._extract)(reply.text)
        return {"messages": prompt.messages, **steps}


def _lines(told: Mapping[str, Any]) -> Iterator[str]:
    yield f"{told['id'] or 'example'}  {told['split']}:{told['line']}"
    if task := told.get("task"):
        yield from block("task", f"{task['display_name']}: {task['description']}")
    for reply in told["replies"]:
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
            yield _scored(evaluator, score, reply.get("not_shown"))


def _conversation(items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Lay out a conversation; who calls functions may say nothing beside."""
    for item, following in pairwise([*items, {}]):
        if item.get("content") != "" or following.get("type") != "function_call":
            yield from _said(item)


def _said(item: Mapping[str, Any]) -> list[str]:
    """Lay out a message, a call of a function, or what it gave back."""
    match item:
        case {"type": "function_call", "name": name, "arguments": arguments}:
            return [*block("calls", f"{name} {strict_json.dumps(arguments).decode()}")]
        case {"type": "function_call_output", "output": output}:
            return [*block("gave", output if isinstance(output, str) else strict_json.dumps(output).decode())]
    return [*block(item["role"], item["content"])]


def _scored(evaluator: str, score: Mapping[str, Any], told: str | None) -> str:
    if score["outcome"] == "owed":
        return f"  {evaluator}: {_NOT_CALLED}"
    if score["outcome"] == "skipped":
        return f"  {evaluator}: skipped, {score.get('message', '')}"
    if score["outcome"] != "scored":
        words = score.get("message", "")
        kind = f"{score['outcome']}, {score.get('kind', '')}"
        return f"  {evaluator}: {kind}" + ("" if words == told else f": {words}")
    side_info = score["side_info"]
    reason = fields_said(side_info) or reason_of(side_info)
    said = f" ({' '.join(reason.split())})" if reason else ""
    left = f", left out by {', '.join(rules)}" if (rules := score.get("excluded_by")) else ""
    return f"  {evaluator}: {_number_of(score)}{said}{left}"


def _number_of(score: Mapping[str, Any]) -> str:
    return "no number" if score["score"] is None else f"{score['score']:g}"
