"""Whether a program that stays answers as one that is started anew: looked at before it is relied on.

A process that has answered another payload is sent again what was answered before by one of its own. Chance
is no fault: only a difference that stays while processes of their own agree is blamed on being kept alive.
"""

import threading
from collections.abc import Callable
from typing import Generic

from optimize_eval.programs.codec import QuestionT

_ROUNDS = 3  # in which processes of their own must answer the same again


class Proof(Generic[QuestionT]):
    """What a process of its own answered to the first question, until one that stays has shown the same."""

    def __init__(self, question: QuestionT, likeness: object) -> None:
        self.question = question
        self._likeness = likeness
        self._turn = threading.Lock()  # whoever has it talks to the process that stays

    def begin(self, question: QuestionT) -> bool:
        """Return True if the caller is to talk to a process that stays, and then to find the fault.

        Others are not: until that is over, each has a process of its own.
        """
        return question.task_model == self.question.task_model and self._turn.acquire(blocking=False)

    def end(self) -> None:
        self._turn.release()

    def fault(self, stays: Callable[[QuestionT], object], anew: Callable[[QuestionT], object]) -> str:
        """Say what being kept alive changes; empty where it is nothing."""
        said = stays(self.question)
        if said == self._likeness or any(anew(self.question) != self._likeness for _ in range(_ROUNDS)):
            return ""
        return f"the first payload scored {self._likeness}, and {said} once it was kept alive"
