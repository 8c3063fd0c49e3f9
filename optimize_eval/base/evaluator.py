"""What an evaluator is: the Evaluator protocol, the specification that one is made from, and what is live.

Which kinds there are, and what each makes of its target, is said in evaluators.kinds. No evaluator schedules,
retries or journals; each is blocking code that answers one payload before a deadline or raises
EvaluationError.

`Opened` is what a command has live: evaluators and models, files of replies, processes that run code. Whoever
has something called owns one, hands it down to all that is made, and closes it. Nothing that is made closes
what it was made of, so it does not matter who else takes part in that.
"""

import os
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field, replace
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

from optimize_eval.base.errors import EvaluationError, FailureKind, UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import Answered, Payload, ScoreRange
from optimize_eval.base.retries_and_caps import Caps, Queue

if TYPE_CHECKING:  # commands call no models
    from optimize_eval.base.retries_and_caps import Manners


DEFAULT_TIMEOUT = 30.0
LONGEST_TIMEOUT = 10_000_000.0
ANSWER_CAP = 8 * 1024 * 1024  # bytes on stdout, in a worker's line, or in an HTTP body


class Capacity(NamedTuple):
    """How many calls at once are of use, and how many payloads in one call."""

    calls: int | None = None  # None: as many as anyone likes
    batch: int = 1  # payloads in one call


class Evaluator(Protocol):
    """Something that scores; safe to call from several threads at once."""

    def call(self, payload: Payload, deadline: float) -> Answered:
        """Answer before `deadline` (an instant of time.monotonic) or raise EvaluationError."""
        ...

    def call_many(self, payloads: Sequence[Payload], timeout: float) -> list[Answered | EvaluationError]:
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
class ScoresReplies(Protocol):
    """An evaluator of replies that are written down, each of which costs once."""

    def has_reply(self, payload: Payload) -> bool:
        """Return True if a payload's reply is there, so that no model is called for it."""
        ...


@runtime_checkable
class CallsModels(Protocol):
    """An evaluator of what models reply, by their names as task models."""

    def capacity_of(self, task_model: str) -> Capacity:
        """Say what one of the models can take at the moment."""
        ...


class Target(Protocol):
    """What a specification is of: plain data of its kind, which checks itself when it is made."""

    kind: ClassVar[str]  # a row's name in evaluators.kinds


@runtime_checkable
class Sighted(Protocol):
    """A target that is shown an example's fields, and may be shown fewer of them."""

    @property
    def shows(self) -> tuple[str, ...]: ...
    @property
    def hides(self) -> tuple[str, ...]: ...
    @property
    def human(self) -> tuple[str, ...]: ...
    @property
    def rival_fields(self) -> tuple[str, ...]: ...
    @property
    def objective_fields(self) -> tuple[str, ...]: ...
    def hiding(self, fields: Collection[str], *, models: bool = False) -> Self: ...


@runtime_checkable
class Compares(Protocol):
    """A target that may compare what it scores with the same of the baseline."""

    @property
    def compares_with_baseline(self) -> bool: ...


class KnownGood(NamedTuple):
    """What an evaluator has to score high, on trial: a field of the examples, or else a file's text."""

    written: str
    path: str


@frozen
class EvaluatorSpec:
    """What an evaluator is, as plain data: everything needed to reach it from another process.

    Kinds make one of the defaults that options give, with `at`. The target of such defaults is what options
    say for one kind alone, as an objective is for judges.
    """

    name: str = ""
    text: str = ""  # as it was written
    target: Target | None = None
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
    weight: float = 1.0  # its share of the slots, against other evaluators
    manners: "Manners | None" = None  # towards servers of models; None: the usual ones
    good: KnownGood | None = None  # puts it on trial, before a run
    bad: tuple[str, ...] = ()  # files of what has to score lower there

    def at(self, target: Target, *, name: str, text: str, retries: int | None) -> Self:
        """Make the specification of a target; the one place where the rest of it is checked."""
        check_how(self)
        return replace(self, target=target, name=name, text=text, retries=retries)

    def change(self, **values: Any) -> Self:
        """Change it; what is so already makes no other specification."""
        is_so = all(getattr(self, name) == value for name, value in values.items())
        return self if is_so else replace(self, **values)

    def hiding(self, fields: Iterable[str], *, models: bool = False) -> Self:
        """Let a judge not be shown these fields of examples, such as candidates, which are rivals.

        With `models` it is not told either which model replied: it might prefer a name.
        """
        hidden = tuple(fields)
        if not (hidden or models) or not isinstance(self.target, Sighted):
            return self
        return replace(self, target=self.target.hiding(hidden, models=models))


def check_how(spec: EvaluatorSpec) -> None:
    """Refuse what no evaluator or model could be called with."""
    if not 0 < spec.timeout <= LONGEST_TIMEOUT:
        raise UsageError(
            f"a timeout of {spec.timeout:g} s cannot be kept",
            hint=f"give a number of seconds above 0, at most {LONGEST_TIMEOUT:,.0f}",
        )
    if spec.cwd == "":
        raise UsageError("the working directory is empty", hint="name a folder, such as .")
    if spec.cwd is not None:
        check_text("working directory", spec.cwd)
    for text in (text for pair in spec.environment.items() for text in pair):
        check_text("environment", text)
    if any("=" in name or not name for name in spec.environment):
        raise UsageError(
            "the name of an environment variable is empty or holds =", hint="write NAME and value"
        )


def check_text(what: str, text: object) -> None:
    """Refuse what the operating system could not be given."""
    try:
        usable = isinstance(text, str) and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise UsageError(
            f"the evaluator's {what} holds {text!r}, which is not a text that a program could be given",
            hint="give text without NUL characters and lone surrogates",
        )


class Closes(Protocol):
    """What has an end."""

    def close(self) -> None: ...


@runtime_checkable
class Waits(Protocol):
    """An evaluator, or a model under test, that may wait long for a server that has no room."""

    def stop_waiting(self) -> None:
        """Give up what waits: the run stops. What is under way may finish."""
        ...

    @property
    def queues(self) -> Sequence[Queue]:
        """What waits for a server at the moment."""
        ...


@runtime_checkable
class Metered(Protocol):
    """An evaluator, or a model under test, whose calls of models cost something."""

    def meter(self, caps: Caps) -> None:
        """Ask these caps before each call of a model, and tell them what it took."""
        ...


Live = TypeVar("Live", bound=Closes)


class Opened:
    """Live things, which end together: the last to be made first, so none before what it is made of.

    What calls models asks the caps first, if there are some.
    """

    def __init__(self, caps: Caps | None = None) -> None:
        self._caps = caps
        self._making = RLock()  # what is made may share in turn
        self._shared: dict[Hashable, Any] = {}
        self._live: list[Closes] = []
        self._is_closed = False

    def share(self, key: Hashable, make: Callable[[], Live]) -> Live:
        """Give the one live thing of a key, which is made for the first who asks."""
        with self._making:
            if key not in self._shared:
                self._shared[key] = self.keep(make)
            shared: Live = self._shared[key]
            return shared

    def keep(self, make: Callable[[], Live]) -> Live:
        """Make what nobody shares, and keep it until the end."""
        with self._making:
            if self._is_closed:
                raise EvaluationError(FailureKind.INTERNAL, "the evaluator was closed")
            live = make()
            if self._caps and isinstance(live, Metered):
                live.meter(self._caps)
            self._live.append(live)
            return live

    def stop_waiting(self) -> None:
        """Let nothing wait for a server any more; calls in flight continue."""
        for live in [*self._live]:
            if isinstance(live, Waits):
                live.stop_waiting()

    @property
    def waiting(self) -> str:
        """Say which calls wait for servers that have no room; mostly none does."""
        queues = [queue for live in [*self._live] if isinstance(live, Waits) for queue in live.queues]
        return "; ".join(map(str, {queue.who: queue for queue in queues}.values()))

    def close(self) -> None:
        """End all, also where one fails; be it several times, as by a run that is stopped."""
        with self._making:
            self._is_closed = True
            ending, self._live = self._live, []
        with ExitStack() as closing:
            for live in ending:
                closing.callback(live.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
