"""How commands end: the states of a run, and the exit code of each way to end; all of it is decided here."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

from optimize_eval.base.errors import UsageError

DONE = 0
MISSED = 1  # a gate, or a check: of numbers, of files, of evaluators
USAGE = 2  # an option, a file or an argument is wrong; nothing was called
COULD_NOT_GO_ON = 3  # a full disk, a damaged journal, a budget, a bug of ours
TOO_MANY_FAILURES = 4  # or the time is up
INTERRUPTED = 130


class State(StrEnum):
    """What is known of how a run stands."""

    RUNNING = "running"
    DONE = "done"
    INTERRUPTED = "interrupted"
    TOO_MANY_FAILURES = "too_many_failures"
    OVER_BUDGET = "over_budget"
    OUT_OF_TIME = "out_of_time"
    UNFINISHED = "unfinished"  # its last session said nothing of how it ended: it was killed
    DAMAGED = "damaged"


OF_A_STATE: Mapping[State, int] = MappingProxyType(  # of those in which a session ends
    {
        State.DONE: DONE,
        State.TOO_MANY_FAILURES: TOO_MANY_FAILURES,
        State.OVER_BUDGET: COULD_NOT_GO_ON,
        State.OUT_OF_TIME: TOO_MANY_FAILURES,
        State.INTERRUPTED: INTERRUPTED,
    }
)
SEARCH_STATES: Mapping[str, State] = MappingProxyType(  # why a search ended → its state; else it is done
    {
        "interrupted": State.INTERRUPTED,
        "time": State.OUT_OF_TIME,
        "cost": State.OVER_BUDGET,
        "evaluator": State.TOO_MANY_FAILURES,
        "proposer": State.TOO_MANY_FAILURES,
    }
)


class Calls(Protocol):
    """How calls ended: a session's, or one metric's of a bench."""

    @property
    def status(self) -> State: ...

    @property
    def changed(self) -> Sequence[str]:
        """Name the evaluators that were not the same program throughout."""
        ...


def of_error(error: Exception) -> int:
    """Give the code of an error that ends a command."""
    return USAGE if isinstance(error, UsageError) else COULD_NOT_GO_ON


def of_calls(ended: Calls) -> int:
    return COULD_NOT_GO_ON if ended.changed else OF_A_STATE[ended.status]


def of_session(ends: Iterable[Calls], *, is_off_scale: bool = False, misses_gate: bool = False) -> int:
    """Give the code of the first calls that did not end well; then judges, then gates are looked at."""
    codes = (*map(of_calls, ends), TOO_MANY_FAILURES * is_off_scale, MISSED * misses_gate)
    return next(filter(None, codes), DONE)


def of_search(why: str, *, has_sweep: bool) -> int:
    """Give the code of a search that ended so; DONE: that of its final sweep counts, if there was one."""
    state = SEARCH_STATES.get(why, State.DONE)
    return DONE if has_sweep and state is State.OUT_OF_TIME else OF_A_STATE[state]
