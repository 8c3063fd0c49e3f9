"""One unit: call an evaluator within a deadline, retry where that may help, and make an outcome of it.

The one place that catches EvaluationError. A failure is a type of its own, never a number.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import Evaluator
from optimize_eval.base.outcome import Failed, Outcome, Scored, Skipped
from optimize_eval.base.protocol import Answered, Payload, Skip
from optimize_eval.base.retries_and_caps import FIRST_PAUSE, GivenUp, Pause, until_answered
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
        wait = answer.retry_after if isinstance(answer, EvaluationError) and retries else None
        if wait is not None and wait < timeout:
            try:
                pause(max(FIRST_PAUSE, wait))
                left = max(FIRST_PAUSE, timeout - seconds - wait)  # as if it had been called singly
                again = attempt(evaluator, payloads[index], left, retries - 1, pause)
            except GivenUp as given_up:
                given_up.spent = answer.spent + given_up.spent
                outcomes[index] = given_up
            else:
                spent = seconds + wait + again.seconds
                whole = answer.spent + again.spent
                outcomes[index] = replace(again, attempts=again.attempts + 1, seconds=spent, spent=whole)
    return outcomes


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
