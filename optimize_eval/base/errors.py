"""Every exception this package raises on purpose, the closed list of failure kinds, and exit codes.

    OptimizeEvalError
    ├── UsageError          an option, a file or an argument is wrong; nothing was called (exit 2)
    │   ├── DataError       bad lines in datasets, all of them at once
    │   └── NotARun         (store.folder) a folder whose run.json is not one of ours
    ├── CannotGoOn          the disk or the journal does not let a run go on (exit 3)
    │   ├── Damaged         (journal) a line is not what was written
    │   └── UnknownSchema   (journal) another version wrote it
    ├── Skipped             an evaluator was called and does not apply to the example: no score, no failure
    └── EvaluationError     an evaluator was called and gave no usable answer; has a FailureKind

Exceptions carry facts as attributes; `str()` of one is the text for people. What a command does with
them is decided in cli. How commands end stands here, too: the states of a run, and the exit code of each way.
Of ours this module imports only what answers spend.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.frozen import frozen
from optimize_eval.base.spent import NOTHING, Spent

SHOWN_PROBLEMS = 20


class FailureKind(StrEnum):
    """Why an evaluation has no score; what stands beside a kind is what docs/reference/endings.md says."""

    NOT_FOUND = "not_found"  # there is no such program
    START_FAILED = "start_failed"  # it is there, and cannot be started: not executable, no #! line
    TIMEOUT = "timeout"  # no answer before the deadline (--timeout, 30 s)
    EXIT_CODE = "exit_code"  # it ended with a status other than 0
    KILLED = "killed"  # a signal ended it
    NO_OUTPUT = "no_output"  # stdout was empty
    INVALID_UTF8 = "invalid_utf8"  # the answer is not UTF-8
    INVALID_JSON = "invalid_json"  # not one JSON value: noise, two answers, NaN, nesting beyond 200 levels
    NOT_AN_OBJECT = "not_an_object"  # the answer is JSON, but not an object
    MISSING_SCORE = "missing_score"  # the object has no score, and no skip that says why
    SCORE_TYPE = "score_type"  # score is a text, a boolean, null, a list or an object
    SCORE_NOT_FINITE = "score_not_finite"  # score is NaN, infinite, or too large for 64 bits
    SCORE_OUT_OF_RANGE = "score_out_of_range"  # score is below 0 or above 1
    OUTPUT_TOO_LARGE = "output_too_large"  # more than 8 MiB on stdout
    HTTP_CONNECT = "http_connect"  # an evaluator behind HTTP could not be reached
    HTTP_STATUS = "http_status"  # it refused, with its status
    HTTP_PROTOCOL = "http_protocol"  # it broke off, or spoke no HTTP
    REPORTED = "reported"  # the evaluator answered {"error": "why"}
    MODEL_ERROR = "model_error"  # a model could not be reached, or answered nonsense
    INTERNAL = "internal"  # a bug of ours


class OptimizeEvalError(Exception):
    """The root: catch this to catch everything of ours."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message


class UsageError(OptimizeEvalError, ValueError):
    """The request cannot be carried out as given; a ValueError, as programs that call us expect."""


ROOT = "_root"  # the field where the whole file is meant, in JSON: a line for people has the place alone


@frozen
class Problem:
    """One thing wrong with a data file; line and column count from 1, None where the whole file is meant."""

    path: str
    rule: str
    reason: str
    line: int | None = None
    column: int | None = None
    field: str = ""  # of a file with fields in fields: "definition.scorers[0].type"

    def __str__(self) -> str:
        position = [self.path, *(str(number) for number in (self.line, self.column) if number is not None)]
        field = f" {self.field}" if self.field and self.field != ROOT else ""
        return f"{':'.join(position)}{field}: {self.reason}"


class DataError(UsageError):
    """Data files with problems: every problem is in `problems`, the first twenty in the text."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        lines = [str(problem) for problem in problems[:SHOWN_PROBLEMS]]
        if len(problems) > SHOWN_PROBLEMS:
            lines.append(f"… and {len(problems) - SHOWN_PROBLEMS:,} more problems; validate --json lists all")
        super().__init__("\n".join(lines))
        self.problems = tuple(problems)

    def __reduce__(self) -> tuple[type["DataError"], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)


class CannotGoOn(OptimizeEvalError):
    """The disk or the journal does not let the run go on; what is journaled stands."""


class Skipped(OptimizeEvalError):
    """An evaluator does not apply to this example, for the reason in `message`.

    Evaluators in Python raise it; those that `command_evaluator` and the like make raise it where a program
    answers `{"skip": "why"}`. No failure, so no EvaluationError; `side_info` is the rest of the answer.
    """

    def __init__(self, message: str, *, side_info: JsonMapping | None = None) -> None:
        super().__init__(message)
        self.side_info: JsonMapping = side_info or {}

    def __reduce__(self) -> tuple[type["Skipped"], tuple[str], dict[str, object]]:
        return type(self), (self.message,), vars(self).copy()


class EvaluationError(OptimizeEvalError):
    """One evaluation failed: its kind, what happened, what the evaluator itself wrote, what to do next.

    `retry_after` is None where a retry is pointless, else the seconds to wait before. `answered` is
    what was answered, as it came, where a program ended well and its answer is what is wrong; `side_info`
    is what such an answer says besides. `no_room` is what this machine has too few of, where that alone is
    why a program was not started. `spent` is what was spent on models in vain, and `output` the key of the
    reply that was to be scored, where there was one; `stage` is "model" where there is none,
    and "extract" where nothing could be taken of it. `before` are the seconds until there was
    something to score.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        detail: str = "",
        hint: str = "",
        retry_after: float | None = None,
        side_info: JsonMapping | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.detail = detail
        self.retry_after = retry_after
        self.answered: bytes | None = None
        self.side_info: JsonMapping = side_info or {}
        self.no_room = ""
        self.spent: Spent = NOTHING
        self.output = ""
        self.stage = ""
        self.before = 0.0
        self.attempts = 1  # calls that were made

    def __reduce__(self) -> tuple[type["EvaluationError"], tuple[FailureKind, str], dict[str, object]]:
        return type(self), (self.kind, self.message), vars(self).copy()


DONE = 0  # done, also where nothing was shown to be better
MISSED = 1  # a gate was missed, or a check failed (`preflight`, `report --check`, `verify`)
USAGE = 2  # an option, a file or a dataset is wrong; nothing was called
COULD_NOT_GO_ON = 3  # it could not go on: a full disk, a damaged journal, a spent budget, a bug of ours
TOO_MANY_FAILURES = 4  # too many failures (more than half of calls, or --max-failures), or out of time
INTERRUPTED = 130  # interrupted: all that was started was ended, and the command that resumes is printed


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
