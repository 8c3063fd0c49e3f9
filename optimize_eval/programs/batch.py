"""Several questions in one call: what becomes of a batch, and of one that fails.

A batch leaves no trace: each element is judged by the rules for single answers, and a batch without a
usable answer is called again one by one. What may go together is said by the contract.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from optimize_eval.base.errors import EvaluationError
from optimize_eval.programs.codec import AnswerT, Contract, QuestionT


class Unanswered(Exception):
    """A batch got no usable answer; its questions are to be sent singly."""


def call_in_batches(
    questions: Sequence[QuestionT],
    timeout: float,
    *,
    size: int,
    contract: Contract[QuestionT, AnswerT],
    one: Callable[[QuestionT, float], AnswerT],
    many: Callable[[Sequence[QuestionT], float], Mapping[str, Any]],
) -> list[AnswerT | EvaluationError]:
    """Answer questions in their order; `timeout` is each one's seconds, a batch has the sum of its own.

    `one` is given a deadline; `many` is given seconds, and returns a decoded reply.
    """
    outcomes: list[AnswerT | EvaluationError] = []
    for group in contract.groups(questions, size):
        if len(group) > 1:
            try:
                outcomes += contract.split(many(group, timeout * len(group)), len(group))
                continue
            except (Unanswered, ValueError):
                pass
        outcomes += call_singly(group, timeout, one)
    return outcomes


def call_singly(
    questions: Sequence[QuestionT], timeout: float, one: Callable[[QuestionT, float], AnswerT]
) -> list[AnswerT | EvaluationError]:
    """Answer questions one after the other, each with its own deadline."""
    return [_call(question, timeout, one) for question in questions]


def _call(
    question: QuestionT, timeout: float, one: Callable[[QuestionT, float], AnswerT]
) -> AnswerT | EvaluationError:
    try:
        return one(question, time.monotonic() + timeout)
    except EvaluationError as error:
        return error
