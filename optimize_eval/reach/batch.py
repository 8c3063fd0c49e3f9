"""Several examples in one question: which payloads go together, and what becomes of a batch that fails.

A batch leaves no trace: each element is judged by the rules for single answers, and a batch without a
usable answer is asked again one by one.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from optimize_eval.errors import EvaluationError
from optimize_eval.protocol import Answer, Payload, ScoreRange, split_batch

Call = Callable[[Payload, float], Answer]  # payload, deadline → answer
AskMany = Callable[[Sequence[Payload], float], Mapping[str, Any]]  # payloads, seconds → decoded answer


class Unanswered(Exception):
    """A batch got no usable answer; its payloads are to be asked singly."""


def ask_in_batches(
    payloads: Sequence[Payload],
    timeout: float,
    *,
    size: int,
    score_range: ScoreRange,
    one: Call,
    many: AskMany,
) -> list[Answer | EvaluationError]:
    """Answer payloads in their order; `timeout` is each one's seconds, a batch has the sum of its own."""
    outcomes: list[Answer | EvaluationError] = []
    for group in _groups(payloads, size):
        if len(group) > 1:
            outcomes += _ask_together(group, timeout, score_range, one, many)
        else:
            outcomes += ask_singly(group, timeout, one)
    return outcomes


def ask_singly(payloads: Sequence[Payload], timeout: float, one: Call) -> list[Answer | EvaluationError]:
    """Answer payloads one after the other, each with its own deadline."""
    return [_ask(payload, timeout, one) for payload in payloads]


def _ask_together(
    group: Sequence[Payload], timeout: float, score_range: ScoreRange, one: Call, many: AskMany
) -> list[Answer | EvaluationError]:
    try:
        return split_batch(many(group, timeout * len(group)), len(group), score_range)
    except (Unanswered, ValueError):
        return ask_singly(group, timeout, one)


def _ask(payload: Payload, timeout: float, one: Call) -> Answer | EvaluationError:
    try:
        return one(payload, time.monotonic() + timeout)
    except EvaluationError as error:
        return error


def _groups(payloads: Sequence[Payload], size: int) -> Iterator[Sequence[Payload]]:
    """Cut into runs of at most `size` that differ in their example only; one without example stays alone."""
    for (_, _, has_example), run in groupby(payloads, key=_what_a_batch_shares):
        members = list(run)
        step = size if has_example else 1
        for start in range(0, len(members), step):
            yield members[start : start + step]


def _what_a_batch_shares(payload: Payload) -> tuple[str, str | None, bool]:
    return payload.candidate, payload.task_model, payload.example is not None
