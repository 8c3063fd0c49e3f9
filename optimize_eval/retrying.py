"""Retries where they may help: after a pause, as long as there is time and an attempt left."""

import time
from collections.abc import Callable
from typing import TypeVar

from optimize_eval.errors import EvaluationError
from optimize_eval.spent import NOTHING, Spent

FIRST_PAUSE = 0.1  # seconds before the second attempt; each further pause is twice as long

Pause = Callable[[float], None]  # waits so many seconds, or raises something of its own to give up

_Answer = TypeVar("_Answer")


class GivenUp(Exception):
    """A call was not made, or not once more, because the run stops.

    `spent` is what was spent on models before that, and `output` the key of a reply that was to be scored.
    """

    def __init__(self) -> None:
        super().__init__()
        self.spent: Spent = NOTHING
        self.output = ""


def until_answered(
    call: Callable[[float], _Answer], deadline: float, retries: int, pause: Pause = time.sleep
) -> tuple[_Answer, Spent]:
    """Call until there is an answer, a failure that another call cannot fix, or no time or attempt left.

    `call` is given the deadline, which seconds of waiting put off: for a turn at a server, or for what is
    scored. Beside the answer stands what was spent in vain before; a failure has it in its `spent`.
    """
    number, in_vain = 0, NOTHING
    while True:
        try:
            return call(deadline), in_vain
        except GivenUp as given_up:
            given_up.spent = in_vain + given_up.spent
            raise
        except EvaluationError as error:
            deadline += error.spent.waited + error.before
            in_vain = error.spent = in_vain + error.spent
            wait = max(FIRST_PAUSE * 2**number, error.retry_after or 0.0)
            number += 1
            if number > retries or error.retry_after is None or time.monotonic() + wait >= deadline:
                raise
        try:
            pause(wait)
        except GivenUp as given_up:
            given_up.spent = in_vain
            raise
