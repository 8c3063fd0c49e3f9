"""The places of an example in a run, candidate by candidate and model by model, with the scores there."""

from collections.abc import Callable, Mapping
from itertools import product
from types import MappingProxyType
from typing import Any

from optimize_eval.base.protocol import Payload
from optimize_eval.data.candidates import Candidate
from optimize_eval.run.plan import Plan, PlannedExample
from optimize_eval.store.command_units import JournalRecord, Reader
from optimize_eval.store.records import LeftOut, unit_of
from optimize_eval.tasks.of_replies import id_of
from optimize_eval.tasks.templates.template import fields_of

Shown = dict[str, Any]


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

    def _score(self, where: Mapping[str, Any]) -> Shown:
        shown = _score(self._record(where))
        rules = self._left_out.get(unit_of(where)) if shown["outcome"] == "scored" else None
        return {**shown, "excluded_by": list(rules)} if rules else shown

    def _record(self, where: Mapping[str, Any]) -> JournalRecord | None:
        number = self.plan.layout.number(where)
        return None if self._reader is None or number is None else self._reader.record(number)


def _score(record: JournalRecord | None) -> Shown:
    if record is None:
        return {"outcome": "owed"}
    if record["outcome"] == "scored":
        return {"outcome": "scored", "score": record["score"], "side_info": record["side_info"]}
    return {key: record[key] for key in ("outcome", "kind", "message") if key in record}
