"""A task as an evaluator: its models reply to a payload, and what comes of that is scored.

What is asked, and who scores, differs between tasks in JSONL, prompts and tasks in YAML, each of which is a
Form with a module of its own. Here is what is the same: what the whole took, which reply it was about, and
whose failure it is.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Generic, Protocol, TypeVar, runtime_checkable

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import Capacity, Evaluator, EvaluatorSpec, Opened
from optimize_eval.base.frozen import change
from optimize_eval.base.protocol import Answered, Payload, Skip
from optimize_eval.base.retries_and_caps import GivenUp
from optimize_eval.base.spent import NOTHING, Spent
from optimize_eval.models.model_kinds import ModelSpec
from optimize_eval.models.shared import SharedModel, shared_model
from optimize_eval.models.under_test import ModelUnderTest
from optimize_eval.programs.exchange import call_singly
from optimize_eval.tasks.targets import TaskTarget

Connect = Callable[[EvaluatorSpec, Opened], Evaluator]
_Made = TypeVar("_Made", ModelUnderTest, Evaluator)


class Lives:
    """Live models and scorers by their names, each made when it is needed first; thread-safe."""

    def __init__(self, specs: Mapping[str, ModelSpec], opened: Opened, *, is_stored: bool = False) -> None:
        self._specs = specs
        self._is_stored = is_stored
        self.opened = opened
        self._making = threading.Lock()
        self._models: dict[str, ModelUnderTest] = {}
        self._scorers: dict[str, Evaluator] = {}

    def shared(self, name: str) -> SharedModel:
        """Give one of the models, whose replies all evaluators share."""
        model = self.model(name, lambda name: self.share(self.spec(name)))
        assert isinstance(model, SharedModel)  # noqa: S101  for the checker
        return model

    def share(self, spec: ModelSpec) -> SharedModel:
        return shared_model(spec, self.opened, is_stored=self._is_stored)

    def spec(self, name: str) -> ModelSpec:
        if name in self._specs:
            return self._specs[name]
        message = f"{name!r} is not among the models: {', '.join(self._specs)}"
        raise EvaluationError(FailureKind.INTERNAL, message)

    def model(self, name: str, make: Callable[[str], ModelUnderTest]) -> ModelUnderTest:
        return self._models.get(name) or self._made(self._models, name, make)

    def scorer(self, name: str, make: Callable[[str], Evaluator]) -> Evaluator:
        return self._scorers.get(name) or self._made(self._scorers, name, make)

    @property
    def note(self) -> str:
        return "; ".join(live.note for live in self._all() if live.note)

    @property
    def capacity(self) -> Capacity:
        """What the models can take, in batches as large as each of them takes."""
        capacities = [model.capacity for model in tuple(self._models.values())]
        if len(capacities) == 1:
            return capacities[0]
        calls = [capacity.calls for capacity in capacities if capacity.calls is not None]
        return Capacity(
            calls=sum(calls) if calls and len(calls) == len(capacities) else None,
            batch=min((capacity.batch for capacity in capacities), default=1),
        )

    def _all(self) -> tuple[ModelUnderTest | Evaluator, ...]:
        return *self._models.values(), *self._scorers.values()

    def _made(self, lives: dict[str, _Made], name: str, make: Callable[[str], _Made]) -> _Made:
        with self._making:
            if name not in lives:
                lives[name] = make(name)
            return lives[name]


@contextmanager
def failing_as_model(name: str = "model") -> Iterator[None]:
    """Let whatever goes wrong be the model's failure, not the evaluator's."""
    try:
        yield
    except EvaluationError as error:
        be_the_models(error, name)
        raise
    except GivenUp as given_up:
        given_up.spent = given_up.spent.of_reply
        raise


def be_the_models(error: EvaluationError, name: str = "model") -> None:
    """Say of a failure that it is the model's."""
    error.message = f"{name}: {error.message}"
    if error.kind is not FailureKind.INTERNAL:
        error.kind = FailureKind.MODEL_ERROR
    error.stage = "model"
    error.spent = error.spent.of_reply
    error.retry_after = None  # it was called again already, as often as it may be


class Solved(Protocol):
    """What models replied to a payload, before it is scored."""

    @property
    def key(self) -> str:
        """The key of its last reply in outputs.jsonl, by which reports find it; empty where it has none."""
        ...

    @property
    def spent(self) -> Spent: ...

    @property
    def facts(self) -> JsonMapping:
        """What is to be known of the reply beside its text."""
        ...


SolvedT = TypeVar("SolvedT", bound=Solved)
SolvedT_co = TypeVar("SolvedT_co", bound=Solved, covariant=True)


class Form(Protocol[SolvedT]):
    """How tasks of one form are solved and scored; for several threads."""

    lives: Lives
    batch: int | None  # payloads at most that are solved in one call; None: as many as models take

    def solve(self, payload: Payload, deadline: float) -> SolvedT:
        """Let models reply, or raise EvaluationError or GivenUp."""
        ...

    def score(self, solved: SolvedT, timeout: float) -> Answered:
        """Score, or raise EvaluationError; either says what scoring took alone."""
        ...

    def charge(self, solved: SolvedT, error: EvaluationError) -> None:
        """Let a failure to score say what all of it took, or keep that for the next call."""
        ...

    def capacity_of(self, task_model: str) -> Capacity:
        """Say what one of the models can take at the moment."""
        ...

    def has_reply(self, payload: Payload) -> bool:
        """Return True if it is known that no model is called for a payload any more."""
        ...


@runtime_checkable
class InBatches(Protocol[SolvedT_co]):
    """A form whose models may reply to several payloads in one call."""

    def solve_many(
        self, payloads: Sequence[Payload], timeout: float
    ) -> Iterator[SolvedT_co | EvaluationError]:
        """Let models reply to several, in their order; a failure stands for itself."""
        ...


class TaskEvaluator(Generic[SolvedT]):
    """Calls models about payloads, and who scores about what they reply."""

    def __init__(self, form: Form[SolvedT], timeout: float) -> None:
        self._form = form
        self._timeout = timeout
        self._lives = form.lives
        self.capacity_of = form.capacity_of
        self.has_reply = form.has_reply

    @property
    def note(self) -> str:
        """What people should be told of models and scorers."""
        return self._lives.note

    @property
    def capacity(self) -> Capacity:
        return in_batches(self._lives.capacity, self._form.batch)

    def call(self, payload: Payload, deadline: float) -> Answered:
        return self._score(self._form.solve(payload, deadline), self._timeout)

    def call_many(self, payloads: Sequence[Payload], timeout: float) -> list[Answered | EvaluationError]:
        """Let the models reply in batches if they take them, then score one after the other."""
        if not isinstance(self._form, InBatches):
            return call_singly(payloads, timeout, self.call)
        every = self._form.solve_many(payloads, timeout)
        return [
            solved if isinstance(solved, EvaluationError) else self._score_or_why(solved, timeout)
            for solved in every
        ]

    def close(self) -> None:
        """Nothing of what it calls is its own."""

    def _score_or_why(self, solved: SolvedT, timeout: float) -> Answered | EvaluationError:
        try:
            return self._score(solved, timeout)
        except EvaluationError as error:
            return error

    def _score(self, solved: SolvedT, timeout: float) -> Answered:
        try:
            answer = self._form.score(solved, timeout)
        except EvaluationError as error:
            error.output = solved.key
            self._form.charge(solved, error)
            raise
        except GivenUp as given_up:
            given_up.output, given_up.spent = solved.key, solved.spent + given_up.spent
            raise
        return _about(answer, solved)


def in_batches(capacity: Capacity, most: int | None) -> Capacity:
    """Take no larger batches than so many."""
    return capacity if most is None or capacity.batch <= most else capacity._replace(batch=most)


def _about(answer: Answered, solved: Solved) -> Answered:
    """Let an answer say which reply it is about, and what both took."""
    spent = solved.spent if answer.spent is NOTHING else solved.spent + answer.spent
    facts = {} if isinstance(answer, Skip) else solved.facts
    if not facts:
        return change(answer, spent=spent, output=solved.key)
    refused = {"refused": True} if "refused" in facts else {}
    return change(
        answer, spent=spent, output=solved.key, reply=facts, side_info={**answer.side_info, **refused}
    )


_FORMS = {"RecordTask": "of_records", "PromptTask": "of_replies", "SampleTask": "of_samples"}


def connect_task(spec: EvaluatorSpec, task: TaskTarget, connect: Connect, opened: Opened) -> Evaluator:
    """Make the live evaluator of a task; of its form alone there is a module to load."""
    form = import_module(f"optimize_eval.tasks.{_FORMS[type(task).__name__]}").FORM
    return TaskEvaluator(form(spec, task, connect, opened), spec.timeout)
