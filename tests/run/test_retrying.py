"""Retries of calls: until when there is another one."""

import time

import pytest

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.retries_and_caps import until_answered


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
