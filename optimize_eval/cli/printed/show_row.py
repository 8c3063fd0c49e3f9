"""`run --prompt … --show ID`: an example step by step: prompts as sent, replies, thoughts, scores and why."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from itertools import product
from typing import Any

from optimize_eval.cli import output
from optimize_eval.cli.printed.steps import block
from optimize_eval.errors import EvaluationError, UsageError
from optimize_eval.findings.reasons import reason_of
from optimize_eval.prompts.prompt import fields_of
from optimize_eval.protocol import Payload
from optimize_eval.run.plan import Plan, PlannedExample
from optimize_eval.store.folder import JOURNAL, OUTPUTS
from optimize_eval.store.stored import StoredRun
from optimize_eval.store.view import JournalRecord, Reader
from optimize_eval.tasks.extract import extraction_of
from optimize_eval.tasks.prompted import id_of, prompt_for
from optimize_eval.tasks.target import prompted_of
from optimize_eval.tasks.under_test.outputs import Outputs, key_of

SCHEMA = "optimize-eval.row.v1"

_NOT_CALLED = "not called yet"

Told = dict[str, Any]


def show(plan: Plan, run: StoredRun, wanted: str, *, as_json: bool) -> None:
    """Go through an example with each prompt and model; nothing is called."""
    found = _examples(plan, wanted)
    if not found:
        raise UsageError(
            f"no example has the id {wanted!r}", hint="name an id, or the line of an example, 7 or train:7"
        )
    with ExitStack() as stack:
        has_records = (run.folder / JOURNAL).exists()
        reader = stack.enter_context(run.reader()) if has_records else None
        outputs = Outputs(run.folder / OUTPUTS)
        stack.callback(outputs.close)
        seen = _Seen(plan, reader, outputs)
        told: Told = {"schema": SCHEMA, "examples": [seen.told(split, example) for split, example in found]}
    if as_json:
        output.emit_json(told)
    else:
        output.emit("\n".join(line for example in told["examples"] for line in _lines(example)))


def _examples(plan: Plan, wanted: str) -> list[tuple[str, PlannedExample]]:
    """Find examples by their id, else by their line, alone or with its split as headings have it."""
    splits = zip(plan.layout.splits, plan.examples, strict=True)
    every = [(split.name, example) for split, examples in splits for example in examples]
    by_id = [pair for pair in every if id_of(fields_of(pair[1].raw)) == wanted]
    return by_id or [(split, one) for split, one in every if wanted in {str(one.line), f"{split}:{one.line}"}]


class _Seen:
    """What a run has of its examples."""

    def __init__(self, plan: Plan, reader: Reader | None, outputs: Outputs) -> None:
        self._plan = plan
        self._reader = reader
        self._outputs = outputs
        target = prompted_of(plan.specs[0])
        self._extract = target.extract if target else ""

    def told(self, split: str, example: PlannedExample) -> Told:
        axes = product(self._plan.candidates, self._plan.models, range(1, self._plan.layout.repeats + 1))
        return {
            "id": id_of(fields_of(example.raw)),
            "split": split,
            "line": example.line,
            "example": fields_of(example.raw),
            "replies": [
                self._reply(split, example, candidate.name, candidate.text, model.name, model.sha256, repeat)
                for candidate, model, repeat in axes
            ],
        }

    def _reply(
        self, split: str, example: PlannedExample, name: str, text: str, model: str, sha256: str, repeat: int
    ) -> Told:
        prompt = prompt_for(Payload(candidate=text, example=example.raw, line=example.line, repeat=repeat))
        reply = self._outputs.find(key_of(sha256, prompt))
        where = {"candidate": name, "task_model": model, "split": split, "line": example.line}
        records = {
            evaluator: self._record({**where, "evaluator": evaluator, "repeat": repeat})
            for evaluator in self._plan.layout.evaluators
        }
        steps: Told = {"reply": reply.text, "thoughts": reply.reasoning or None} if reply else {"reply": None}
        if reply and self._extract:
            with suppress(EvaluationError):  # then the scores say so
                steps["extracted"] = extraction_of(self._extract)(reply.text)
        return {
            "prompt": name,
            "model": model,
            "repeat": repeat,
            "messages": prompt.messages,
            **steps,
            "scores": {evaluator: _score(record) for evaluator, record in records.items()},
        }

    def _record(self, where: Mapping[str, Any]) -> JournalRecord | None:
        number = self._plan.layout.number(where)
        return None if self._reader is None or number is None else self._reader.record(number)


def _score(record: JournalRecord | None) -> Told:
    if record is None:
        return {"outcome": "owed"}
    if record["outcome"] == "scored":
        return {"outcome": "scored", "score": record["score"], "side_info": record["side_info"]}
    return {key: record[key] for key in ("outcome", "kind", "message") if key in record}


def _lines(told: Mapping[str, Any]) -> Iterator[str]:
    yield f"{told['id'] or 'example'}  {told['split']}:{told['line']}"
    for reply in told["replies"]:
        again = f", repeat {reply['repeat']}" if reply["repeat"] > 1 else ""
        yield from ("", f"{reply['prompt']} → {reply['model']}{again}")
        for message in reply["messages"]:
            yield from block(message["role"], message["content"])
        if reply.get("thoughts"):
            yield from block("thoughts", reply["thoughts"])
        if reply["reply"] is not None:
            yield from block("reply", reply["reply"])
        if "extracted" in reply:
            yield from block("extracted", reply["extracted"])
        for evaluator, score in reply["scores"].items():
            yield _scored(evaluator, score)


def _scored(evaluator: str, score: Mapping[str, Any]) -> str:
    if score["outcome"] == "owed":
        return f"  {evaluator}: {_NOT_CALLED}"
    if score["outcome"] == "skipped":
        return f"  {evaluator}: skipped, {score.get('message', '')}"
    if score["outcome"] != "scored":
        return f"  {evaluator}: {score['outcome']}, {score.get('kind', '')}: {score.get('message', '')}"
    reason = reason_of(score["side_info"])
    return f"  {evaluator}: {score['score']:g}" + (f" ({' '.join(reason.split())})" if reason else "")
