"""Replies, and what is made of them, while they are under way: who wants the same waits, and all have it."""

import threading
from copy import copy
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.manners import GivenUp
from optimize_eval.base.spent import NOTHING, Spent

_PASSING = frozenset({FailureKind.INTERNAL})  # of a call that the end of a session broke off


class Paid(Protocol):
    """What says what it took."""

    @property
    def spent(self) -> Spent: ...


Landed = TypeVar("Landed", bound=Paid)


class Flight(Generic[Landed]):
    """A call that is made, and then what came of it."""

    __slots__ = ("error", "is_over", "landed")

    def __init__(self) -> None:
        self.is_over = threading.Lock()  # held until it is; an Event would take as long as all the rest
        self.is_over.acquire()
        self.landed: Landed | None = None
        self.error: BaseException | None = None

    def result(self) -> Landed:
        """Wait for the call of somebody else; what it spent is counted there."""
        with self.is_over:
            pass
        if self.landed is not None:
            return replace(self.landed, spent=NOTHING) if self.landed.spent is not NOTHING else self.landed  # type: ignore[type-var]  # a dataclass
        if not isinstance(self.error, EvaluationError):
            raise GivenUp
        error = copy(self.error)
        error.spent = NOTHING
        raise error

    def land(self, landed: Landed | BaseException) -> None:
        """Let those who wait go on, whatever came of it."""
        if isinstance(landed, BaseException):
            self.error = copy(landed)  # who raises it puts more to it
        else:
            self.landed = landed
        self.is_over.release()


def result_of(flight: Flight[Landed]) -> Landed | EvaluationError:
    try:
        return flight.result()
    except EvaluationError as error:
        return error


def stays(error: BaseException) -> bool:
    """Return True if a failure is the model's, not this machine's or the session's."""
    return isinstance(error, EvaluationError) and not error.no_room and error.kind not in _PASSING
