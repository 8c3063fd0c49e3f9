"""How an evaluator is reached: the Evaluator protocol, and the specification that one is made from.

One module per way of reaching: command (a process per call, or workers kept alive), endpoint (HTTP), judge
(a language model).
None of them schedules, retries or journals; each is blocking code that answers one payload before a
deadline or raises EvaluationError.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from optimize_eval.errors import EvaluationError, UsageError
from optimize_eval.protocol import Answer, Payload, ScoreRange

if TYPE_CHECKING:  # commands need no judge
    from optimize_eval.kinds.judge.rubric import JudgeSpec
    from optimize_eval.models import Manners, ModelSpec

DEFAULT_TIMEOUT = 30.0
LONGEST_TIMEOUT = 10_000_000.0
ANSWER_CAP = 8 * 1024 * 1024  # bytes on stdout, in a worker's line, or in an HTTP body


class Capacity(NamedTuple):
    """What it is of use to ask of an evaluator at a time."""

    calls: int | None = None  # None: as many as anyone likes
    batch: int = 1  # payloads in one call


class Evaluator(Protocol):
    """Something that scores; safe to call from several threads at once."""

    def call(self, payload: Payload, deadline: float) -> Answer:
        """Answer before `deadline` (an instant of time.monotonic) or raise EvaluationError."""
        ...

    def call_many(self, payloads: Sequence[Payload], timeout: float) -> list[Answer | EvaluationError]:
        """Answer several, in their order, each within `timeout` seconds; a failure stands for itself."""
        ...

    @property
    def capacity(self) -> Capacity:
        """What it can take at the moment; more calls than that only wait."""
        ...

    @property
    def note(self) -> str:
        """What people should be told once about how it was reached; mostly nothing."""
        ...

    def close(self) -> None:
        """End what was started for the calls; the evaluator is not called again."""
        ...


@runtime_checkable
class Waits(Protocol):
    """An evaluator, or a model under test, that may wait long for a server that has no room."""

    def stop_waiting(self) -> None:
        """Give up what waits: the run stops. What is under way may finish."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorSpec:
    """What an evaluator is, as plain data: everything needed to reach it from another process.

    One without `argv`, `url`, `task` and a judge's model stands for the defaults that others are made from.
    """

    name: str = ""
    text: str = ""  # as it was written
    argv: tuple[str, ...] = ()
    url: str = ""
    judge: "JudgeSpec | None" = None
    cwd: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)  # as written: ${NAME} not yet put in
    timeout: float = DEFAULT_TIMEOUT
    score_range: ScoreRange = ScoreRange.UNIT
    headers: tuple[tuple[str, str], ...] = field(
        default=(), repr=False
    )  # as written: ${NAME} not yet expanded
    retries: int | None = None  # None: what its kind has by default
    persistent: bool | None = None  # None: as the program declares
    workers: int | None = None  # None: as many as there are CPUs
    keep_stderr: bool = False  # of successful calls too
    concurrency: int | None = None  # calls in flight per URL; None: no limit of its own
    weight: float = 1.0  # its share of the slots, against other evaluators
    manners: "Manners | None" = None  # towards servers of models; None: the usual ones
    task: "TaskSpecification | None" = None

    def __post_init__(self) -> None:
        if not 0 < self.timeout <= LONGEST_TIMEOUT:
            raise UsageError(
                f"a timeout of {self.timeout:g} s cannot be kept",
                hint=f"give a number of seconds above 0, at most {LONGEST_TIMEOUT:,.0f}",
            )
        if self.cwd == "":
            raise UsageError("the working directory is empty", hint="name a folder, such as .")
        for what, text in self._texts():
            _check_text(what, text)
        if any("=" in name or not name for name in self.environment):
            raise UsageError(
                "the name of an environment variable is empty or holds =", hint="write NAME and value"
            )

    def hiding(self, fields: Iterable[str]) -> "EvaluatorSpec":
        """Let a judge not be shown these fields of examples, such as candidates, which are rivals."""
        if self.judge is None:
            return self
        return replace(self, judge=replace(self.judge, hides=tuple(sorted({*self.judge.hides, *fields}))))

    def _texts(self) -> list[tuple[str, object]]:
        return [
            *(("command", word) for word in self.argv),
            *(("environment", text) for pair in self.environment.items() for text in pair),
            *([("working directory", self.cwd)] if self.cwd is not None else []),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpecification:
    """What an evaluator of tasks is: the model that is asked, and the evaluators that score what it says.

    A program as a model is run with what the EvaluatorSpec around it says of folder, environment, timeout,
    workers and keeping alive.
    """

    model: str = ""  # as it was written; empty: each payload's task model
    metrics: tuple[EvaluatorSpec, ...] = ()  # by their names, which are the metrics' ids
    outputs: str = ""  # where what models say is written down; empty: nowhere
    replayed: str = ""  # whose recorded outputs count, by identity, where a file has several of one name
    loaded: Mapping[tuple[int | None, bytes], object] = field(
        default_factory=dict, compare=False, repr=False
    )  # tasks by line and record, where their file was read already
    scorer: EvaluatorSpec | None = None  # who scores whatever a task's metric is; None: the metrics do
    api_base: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    table: "ModelSpec | None" = None  # what a table [[model]] says of the model
    keep_thoughts: bool = False  # score a model's text as it came, thoughts included
    tells_thoughts: bool = False  # as side info of each score; otherwise they are with the outputs alone
    batch_size: int | None = None  # prompts in one call at most; None: as the program declares


def _check_text(what: str, text: object) -> None:
    """Refuse what the operating system could not be given."""
    try:
        usable = isinstance(text, str) and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise UsageError(
            f"the evaluator's {what} holds {text!r}, which is no text that a program could be given",
            hint="give text without NUL characters and lone surrogates",
        )
