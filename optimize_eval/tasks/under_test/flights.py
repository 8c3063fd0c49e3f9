"""Calls of a model that are under way: who wants the same reply waits, and what comes of it is for all."""

import threading
from copy import copy
from dataclasses import replace

from optimize_eval.errors import EvaluationError, FailureKind
from optimize_eval.retrying import GivenUp
from optimize_eval.spent import NOTHING
from optimize_eval.tasks.under_test.model import Output

_PASSING = frozenset({FailureKind.INTERNAL})  # of a call that the end of a session broke off


class Flight:
    """A call that is made, and then what came of it."""

    __slots__ = ("error", "is_over", "output")

    def __init__(self) -> None:
        self.is_over = threading.Lock()  # held until it is; an Event would take as long as all the rest
        self.is_over.acquire()
        self.output: Output | None = None
        self.error: BaseException | None = None

    def result(self) -> Output:
        """Wait for the call of somebody else; what it spent is counted there."""
        with self.is_over:
            pass
        if self.output is not None:
            return replace(self.output, spent=NOTHING)
        if not isinstance(self.error, EvaluationError):
            raise GivenUp
        error = copy(self.error)
        error.spent = NOTHING
        raise error


def result_of(flight: Flight) -> Output | EvaluationError:
    try:
        return flight.result()
    except EvaluationError as error:
        return error


def stays(error: BaseException) -> bool:
    """Return True if a failure is the model's, not this machine's or the session's."""
    return isinstance(error, EvaluationError) and not error.no_room and error.kind not in _PASSING
