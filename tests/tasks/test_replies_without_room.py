"""What a reply took, where this machine has no room to score it."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import Capacity, Evaluator, EvaluatorSpec, Opened
from optimize_eval.base.protocol import Answer, Answered, Payload
from optimize_eval.models.model_kinds import ModelSpec
from optimize_eval.programs.exchange import call_singly
from optimize_eval.tasks.definition import (
    ChatCompletion,
    Entity,
    Program,
    Said,
    Scorer,
    SingleTurn,
    TaskDefinition,
)
from optimize_eval.tasks.targets import PromptTask, RecordTask, SampleTask, TaskTarget
from optimize_eval.tasks.task_evaluator import connect_task
from tests.fake_model import StartModel


class _Crowded:
    """A scorer that finds no room the first time."""

    note = ""
    capacity = Capacity()

    def __init__(self) -> None:
        self.calls = 0

    def call(self, _payload: Payload, _deadline: float) -> Answered:
        self.calls += 1
        if self.calls > 1:
            return Answer(score=1)
        failure = EvaluationError(FailureKind.START_FAILED, "no room")
        failure.no_room = "processes"
        raise failure

    def call_many(self, payloads: Sequence[Payload], timeout: float) -> list[Answered | EvaluationError]:
        return call_singly(payloads, timeout, self.call)

    def close(self) -> None:
        pass


def prompted(model: ModelSpec, opened: Opened) -> Evaluator:
    return live(PromptTask(scorer=EvaluatorSpec(name="e"), models=(model,)), opened)


def of_task(model: ModelSpec, opened: Opened) -> Evaluator:
    return live(RecordTask(scorer=EvaluatorSpec(name="e"), models=(model,)), opened)


def defined(model: ModelSpec, opened: Opened) -> Evaluator:
    solver = SingleTurn(builder=ChatCompletion(messages=[Said(role="user", content="{{ sample.id }}")]))
    scorer = Scorer(key="s", type="program", how=Program(keys={}))
    task = TaskDefinition(
        key="t",
        display_name="T",
        description="d",
        path="t.yaml",
        entity=Entity.MODEL,
        solver=solver,
        scorers=[scorer],
    )
    program = EvaluatorSpec(name="e")
    return live(SampleTask(task=task, scorer=scorer, program=program, models=(model,)), opened)


def live(task: TaskTarget, opened: Opened) -> Evaluator:
    crowded = _Crowded()
    return connect_task(EvaluatorSpec(name="e", target=task), task, lambda _spec, _opened: crowded, opened)


@pytest.mark.parametrize("made", [prompted, of_task, defined])
def test_the_next_call_says_what_the_reply_took(
    tmp_path: Path, fake_model: StartModel, made: Callable[[ModelSpec, Opened], Evaluator]
) -> None:
    served = fake_model([{"text": "1", "usage": {"prompt_tokens": 7, "completion_tokens": 2}}])
    model = ModelSpec(name="m", text=f"openai/m@{served.base}", outputs=str(tmp_path / "outputs.jsonl"))
    example = b'{"id": "a", "prompt": "How many?", "targets": ["1"], "metric": "exact_match"}'
    payload = Payload(candidate="How many?", example=example, line=1, task_model="m")
    later = time.monotonic() + 60
    with Opened() as opened:
        evaluator = made(model, opened)
        with pytest.raises(EvaluationError) as crowded:
            evaluator.call(payload, later)
        assert crowded.value.spent.usages == ()
        tokens = [evaluator.call(payload, later).spent.usages for _ in range(2)]
    assert [[one.prompt_tokens for one in usages] for usages in tokens] == [[7], []]
    assert len(served.bodies()) == 1
