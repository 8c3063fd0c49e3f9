"""What a reply took, where this machine has no room to score it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from optimize_eval.errors import EvaluationError, FailureKind
from optimize_eval.evaluator import Capacity, EvaluatorSpec
from optimize_eval.programs.batch import call_singly
from optimize_eval.protocol import Answer, Answered, Payload
from optimize_eval.tasks.prompted import PromptedEvaluator
from optimize_eval.tasks.target import Prompted, Tasks
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


def test_the_next_call_says_what_the_reply_took(tmp_path: Path, fake_model: StartModel) -> None:
    served = fake_model([{"text": "1", "usage": {"prompt_tokens": 7, "completion_tokens": 2}}])
    task = Tasks(model=f"openai/m@{served.base}", outputs=str(tmp_path / "outputs.jsonl"))
    target = Prompted(scorer=EvaluatorSpec(name="e"), models=(EvaluatorSpec(name="m", target=task),))
    evaluator = PromptedEvaluator(EvaluatorSpec(name="e", target=target), target, lambda _spec: _Crowded())
    payload = Payload(candidate="How many?", example=b'{"id": "a"}', task_model="m")
    try:
        with pytest.raises(EvaluationError) as crowded:
            evaluator.call(payload, 0)
        assert crowded.value.spent.usages == ()
        tokens = [evaluator.call(payload, 0).spent.usages for _ in range(2)]
    finally:
        evaluator.close()
    assert [[one.prompt_tokens for one in usages] for usages in tokens] == [[7], []]
    assert len(served.bodies()) == 1
