"""The solver of a task, live: samples become traces, each made once for all scorers of the task."""

import os
import threading
from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import Capacity, EvaluatorSpec
from optimize_eval.base.protocol import Payload
from optimize_eval.base.spent import NOTHING
from optimize_eval.models.model_kinds import tasks_of
from optimize_eval.models.shared import SharedModel, shared_model
from optimize_eval.tasks.definitions.snippets import close_snippets, open_snippets
from optimize_eval.tasks.definitions.solve.calling import SharedModels
from optimize_eval.tasks.definitions.solve.parts import Solver
from optimize_eval.tasks.definitions.solve.solvers import digest_of, solve
from optimize_eval.tasks.definitions.solve.trace import Trace
from optimize_eval.tasks.definitions.solve.traces import Traces
from optimize_eval.tasks.definitions.target import DefinedScorer
from optimize_eval.tasks.lives import Lives
from optimize_eval.tasks.prompted import id_of
from optimize_eval.templates import hosted

_Place = tuple[str, str, bool]
_OPEN: dict[_Place, tuple[Traces, int]] = {}  # by outputs, solver and whether models are called; with users
_OPENING = threading.Lock()


class Solving:
    """Makes traces; safe to call from several threads."""

    def __init__(self, target: DefinedScorer, solver: Solver, lives: Lives) -> None:
        self._target = target
        self._solver = solver
        self._lives = lives
        self._specs = {**{_keyed(key): spec for key, spec in target.keyed.items()}, **_named(target)}
        for spec in target.models:
            self._model(spec.name)  # what is wrong with it is to be known before any call
        self._place = _outputs(target), digest_of(solver), target.is_stored
        self._traces = _open_traces(self._place, len(target.task.scorers))
        self._snippets = open_snippets(target.sandbox, target.task.path)
        hosted.hold()

    def trace(self, payload: Payload, sample: Mapping[str, Any], deadline: float) -> Trace:
        """Give a sample's trace, or raise EvaluationError of stage solver or model."""
        try:
            return self._traces.of(_key(payload), partial(self._solved, payload, sample, deadline))
        except EvaluationError as error:
            self.take_back(payload, error)
            raise

    def take_back(self, payload: Payload, error: EvaluationError) -> None:
        """Let the next call tell what this one took, where this machine had no room: it has no record."""
        if error.no_room and error.spent.usages:
            self._traces.owe(_key(payload), error.spent)
            error.spent = NOTHING

    def capacity_of(self, name: str) -> Capacity:
        """Say what a model under test can take at the moment."""
        return Capacity(calls=self._model(name).capacity.calls) if name in self._specs else Capacity()

    def close(self) -> None:
        hosted.release()
        close_snippets(self._snippets)
        _close_traces(self._place)

    def _solved(self, payload: Payload, sample: Mapping[str, Any], deadline: float) -> Trace:
        return solve(
            self._solver,
            sample,
            models=SharedModels(partial(self._called, payload.task_model or "")),
            snippets=self._snippets,
            deadline=deadline,
            candidate=payload.candidate,
            known_as=id_of(sample),
            repeat=payload.repeat,
            most_turns=self._target.max_turns,
        )

    def _called(self, under_test: str, key: str | None) -> SharedModel:
        return self._model(under_test if key is None else _keyed(key))

    def _model(self, name: str) -> SharedModel:
        model = self._lives.model(name, self._connected)
        assert isinstance(model, SharedModel)  # noqa: S101  for the checker
        return model

    def _connected(self, name: str) -> SharedModel:
        if name not in self._specs:
            raise EvaluationError(
                FailureKind.INTERNAL, f"{name!r} is not among the models: {', '.join(self._specs)}"
            )
        return shared_model(self._specs[name], is_stored=self._target.is_stored)


def _named(target: DefinedScorer) -> dict[str, EvaluatorSpec]:
    return {spec.name: spec for spec in target.models}


def _key(payload: Payload) -> Hashable:
    return (
        payload.split,
        payload.line,
        payload.example,
        payload.candidate,
        payload.task_model,
        payload.repeat,
    )


def _keyed(key: str) -> str:
    """Tell a key of the task apart from the name of a model under test."""
    return f"model_key {key}"


def _outputs(target: DefinedScorer) -> str:
    return next((os.path.realpath(tasks_of(spec).outputs) for spec in target.models), "")


def _open_traces(place: _Place, scorers: int) -> Traces:
    """Take part in the traces of a task; close each opening."""
    with _OPENING:
        traces, users = _OPEN.get(place) or (Traces(scorers), 0)
        _OPEN[place] = traces, users + 1
        return traces


def _close_traces(place: _Place) -> None:
    """Give an opening back; the last one forgets the traces."""
    with _OPENING:
        traces, users = _OPEN[place]
        if users > 1:
            _OPEN[place] = traces, users - 1
        else:
            del _OPEN[place]
