"""What an evaluator of a task has live: models, and who scores. Each is made once."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import Capacity, Evaluator, Metered, Waits
from optimize_eval.base.opened import Opened
from optimize_eval.base.retries_and_caps import Caps, GivenUp
from optimize_eval.models.model_kinds import ModelSpec
from optimize_eval.models.shared import SharedModel, shared_model
from optimize_eval.models.under_test import ModelUnderTest

if TYPE_CHECKING:  # programs as models need no HTTP client
    from optimize_eval.base.retries_and_caps import Queue

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
        self._caps: Caps | None = None

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

    def stop_waiting(self) -> None:
        for live in self._all():
            if isinstance(live, Waits):
                live.stop_waiting()

    @property
    def queues(self) -> "list[Queue]":
        return [queue for live in self._all() if isinstance(live, Waits) for queue in live.queues]

    def meter(self, caps: Caps) -> None:
        """Meter what is live, and what is made later."""
        with self._making:
            self._caps = caps
        for live in self._all():
            _meter(live, caps)

    def _all(self) -> tuple[ModelUnderTest | Evaluator, ...]:
        return *self._models.values(), *self._scorers.values()

    def _made(self, lives: dict[str, _Made], name: str, make: Callable[[str], _Made]) -> _Made:
        with self._making:
            if name not in lives:
                lives[name] = live = make(name)
                _meter(live, self._caps)
            return lives[name]


def _meter(live: ModelUnderTest | Evaluator, caps: Caps | None) -> None:
    if caps and isinstance(live, Metered):
        live.meter(caps)


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
