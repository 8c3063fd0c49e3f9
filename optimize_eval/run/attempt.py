"""One unit: call an evaluator within a deadline, retry where that may help, and make an outcome of it.

The one place that catches EvaluationError. A failure is a type of its own, never a number.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import Evaluator
from optimize_eval.base.outcome import Failed, Outcome, Scored, Skipped
from optimize_eval.base.protocol import Answered, Payload, Skip
from optimize_eval.base.retries_and_caps import GivenUp, Pause, until_answered, wait_after_batch
from optimize_eval.base.spent import NOTHING

STDERR_SHOWN = 2048


def attempt(
    evaluator: Evaluator, payload: Payload, timeout: float, retries: int = 0, pause: Pause = time.sleep
) -> Outcome:
    """Call the evaluator; `timeout` seconds include all attempts and the pauses between them."""
    started = time.monotonic()
    call = partial(evaluator.call, payload)  # no function of ours, which each call would go through
    answer: Answered | EvaluationError
    try:
        answered, in_vain, calls = until_answered(call, started + timeout, retries, pause)
    except EvaluationError as error:
        answer, calls = error, error.attempts
    else:
        answer = answered if in_vain is NOTHING else replace(answered, spent=in_vain + answered.spent)
    return _outcome(answer, time.monotonic() - started - answer.spent.waited, calls)


def attempt_many(
    evaluator: Evaluator,
    payloads: Sequence[Payload],
    timeout: float,
    retries: int = 0,
    pause: Pause = time.sleep,
) -> list[Outcome | GivenUp]:
    """Call with several payloads, in one batch where the evaluator takes it; retry failures one by one.

    GivenUp stands for itself, with what was spent before.
    """
    started = time.monotonic()
    try:
        answers = evaluator.call_many(payloads, timeout)
    except GivenUp as given_up:
        return [given_up, *(GivenUp() for _ in payloads[1:])]
    seconds = (time.monotonic() - started) / len(payloads)
    outcomes: list[Outcome | GivenUp] = [_outcome(answer, seconds, 1) for answer in answers]
    for index, answer in enumerate(answers):
        if isinstance(answer, EvaluationError):
            once_more = partial(attempt, evaluator, payloads[index], retries=retries - 1, pause=pause)
            with_again = _with_retry(answer, once_more, timeout, seconds, retries, pause)
            outcomes[index] = with_again or outcomes[index]
    return outcomes


def _with_retry(
    error: EvaluationError,
    once_more: Callable[..., Outcome],
    timeout: float,
    seconds: float,
    retries: int,
    pause: Pause,
) -> Outcome | GivenUp | None:
    """Call once more about what failed in a batch, where that may help; what was spent counts for it, too."""
    try:
        left = wait_after_batch(error, timeout, seconds, retries, pause)
        if left is None:
            return None
        again = once_more(timeout=left)
    except GivenUp as given_up:
        given_up.spent = error.spent + given_up.spent
        return given_up
    spent = seconds + (error.retry_after or 0.0) + again.seconds
    return replace(again, attempts=again.attempts + 1, seconds=spent, spent=error.spent + again.spent)


def _outcome(answer: Answered | EvaluationError, seconds: float, attempts: int) -> Outcome:
    if isinstance(answer, EvaluationError):
        return Failed(
            kind=answer.kind,
            message=answer.message,
            hint=answer.hint,
            stderr=_tail(answer.detail),
            side_info=answer.side_info,
            seconds=seconds,
            attempts=attempts,
            retry_after=answer.retry_after,
            no_room=answer.no_room,
            spent=answer.spent,
            output=answer.output,
            stage=answer.stage,
        )
    if isinstance(answer, Skip):
        return Skipped(
            message=answer.why,
            side_info=answer.side_info,
            seconds=seconds,
            attempts=attempts,
            stderr=_tail(answer.stderr),
            spent=answer.spent,
            output=answer.output,
        )
    return Scored(
        score=answer.score,
        side_info=answer.side_info,
        seconds=seconds,
        attempts=attempts,
        stderr=_tail(answer.stderr),
        spent=answer.spent,
        output=answer.output,
        is_unranked=answer.is_unranked,
        reply=answer.reply,
    )


def _tail(text: str) -> str:
    return text if len(text) <= STDERR_SHOWN else "…" + text[1 - STDERR_SHOWN :]
