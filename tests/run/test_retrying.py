"""Retries of calls: until when there is another one."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import Capacity, EvaluatorSpec
from optimize_eval.base.retries_and_caps import FIRST_PAUSE, until_answered, wait_after_batch
from optimize_eval.models.model_kinds import ModelSpec, identify_model
from optimize_eval.models.outputs import Outputs
from optimize_eval.models.shared import SharedModel
from optimize_eval.models.under_test import Output, Prompt


@pytest.mark.parametrize(("before", "outcome"), [(0.0, "failed"), (3600.0, "scored")])
def test_the_seconds_until_there_was_something_to_score_are_not_the_scorers(
    before: float, outcome: str
) -> None:
    failures = [EvaluationError(FailureKind.EXIT_CODE, "once", retry_after=0.0)]
    failures[0].before = before

    def call(_deadline: float) -> str:
        if failures:
            raise failures.pop()
        return "scored"

    try:
        came, *_ = until_answered(call, time.monotonic() - 1800, 1)
    except EvaluationError:
        came = "failed"
    assert came == outcome


def test_what_failed_in_a_batch_has_the_time_that_is_left_as_if_it_had_been_called_alone() -> None:
    busy, paused = EvaluationError(FailureKind.MODEL_ERROR, "busy", retry_after=3.0), list[float]()
    assert wait_after_batch(busy, 10.0, 2.0, 1, paused.append) == 5.0
    assert wait_after_batch(busy, 10.0, 2.0, 0, paused.append) is None  # it may not be retried
    assert wait_after_batch(busy, 3.0, 2.0, 1, paused.append) is None  # it would be too late
    assert wait_after_batch(busy, 4.0, 2.0, 1, paused.append) == FIRST_PAUSE
    assert paused == [3.0, 3.0]


class Busy:
    """A model that has room for one of several calls, and then for one alone, which has a deadline."""

    note, capacity, deadline = "", Capacity(), 0.0

    def generate(self, prompt: Prompt, deadline: float) -> Output:
        self.deadline = deadline
        return Output(text=prompt.text)

    def generate_many(self, prompts: Sequence[Prompt], _timeout: float) -> list[Output | EvaluationError]:
        busy = EvaluationError(FailureKind.MODEL_ERROR, "busy", retry_after=3 * FIRST_PAUSE)
        return [busy, *(Output(text=prompt.text) for prompt in prompts[1:])]

    def close(self) -> None: ...


def test_a_model_that_failed_in_a_batch_is_called_within_the_time_of_the_first_call(tmp_path: Path) -> None:
    spec, busy = ModelSpec(text="toy", how=EvaluatorSpec(timeout=5), retries=1), Busy()
    model = SharedModel(spec, identify_model(spec), outputs := Outputs(tmp_path / "o.jsonl"), busy)
    until = time.monotonic() + 5
    replies = model.generate_many([Prompt(text="a"), Prompt(text="b")], 5)
    outputs.close()
    assert [reply.text for reply in replies if isinstance(reply, Output)] == ["a", "b"]
    assert busy.deadline < until + 2 * FIRST_PAUSE  # with the whole time anew it would have three
