"""Several questions in one: what becomes of a batch, and of one that fails.

A batch leaves no trace: each element is judged by the rules for single answers, and a batch without a
usable answer is asked again one by one. What may go together is said by the contract.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from optimize_eval.errors import EvaluationError
from optimize_eval.programs.codec import Answered, Asked, Contract


class Unanswered(Exception):
    """A batch got no usable answer; its questions are to be asked singly."""


def ask_in_batches(
    questions: Sequence[Asked],
    timeout: float,
    *,
    size: int,
    contract: Contract[Asked, Answered],
    one: Callable[[Asked, float], Answered],
    many: Callable[[Sequence[Asked], float], Mapping[str, Any]],
) -> list[Answered | EvaluationError]:
    """Answer questions in their order; `timeout` is each one's seconds, a batch has the sum of its own.

    `one` is given a deadline; `many` is given seconds, and returns a decoded reply.
    """
    outcomes: list[Answered | EvaluationError] = []
    for group in contract.groups(questions, size):
        if len(group) > 1:
            try:
                outcomes += contract.split(many(group, timeout * len(group)), len(group))
                continue
            except (Unanswered, ValueError):
                pass
        outcomes += ask_singly(group, timeout, one)
    return outcomes


def ask_singly(
    questions: Sequence[Asked], timeout: float, one: Callable[[Asked, float], Answered]
) -> list[Answered | EvaluationError]:
    """Answer questions one after the other, each with its own deadline."""
    return [_ask(question, timeout, one) for question in questions]


def _ask(
    question: Asked, timeout: float, one: Callable[[Asked, float], Answered]
) -> Answered | EvaluationError:
    try:
        return one(question, time.monotonic() + timeout)
    except EvaluationError as error:
        return error
