"""A scorer of a task in YAML as an evaluator: sample → trace → score; and what makes it the same tomorrow."""

import math
import os
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import Capacity, Evaluator, EvaluatorSpec
from optimize_eval.base.opened import Opened
from optimize_eval.base.protocol import Answer, Answered, Payload, Skip
from optimize_eval.base.retries_and_caps import Caps, GivenUp
from optimize_eval.base.spent import NOTHING
from optimize_eval.models.judging.asking import Chat
from optimize_eval.models.model_kinds import ModelSpec, connect_model
from optimize_eval.models.shared import SharedModel, shared_model
from optimize_eval.models.under_test import ModelUnderTest
from optimize_eval.programs.exchange import call_singly
from optimize_eval.tasks.code import share_snippets
from optimize_eval.tasks.defined import DefinedScorer, Sample
from optimize_eval.tasks.definition import Solver
from optimize_eval.tasks.lives import Lives
from optimize_eval.tasks.of_replies import id_of, with_facts
from optimize_eval.tasks.prompt import fields_of
from optimize_eval.tasks.scorer_parts import Keys, Scored, Tools, chat_of
from optimize_eval.tasks.scorers import LiveScorer
from optimize_eval.tasks.solvers import SharedModels, digest_of, solve
from optimize_eval.tasks.templates import hosted
from optimize_eval.tasks.trace import Trace, Traces

if TYPE_CHECKING:
    from optimize_eval.base.retries_and_caps import Queue

Connect = Callable[[EvaluatorSpec, Opened], Evaluator]

_ONE = ""  # the name of the scorer that does for all splits


class Scoring:
    """Scores samples with their traces; safe to call from several threads."""

    def __init__(self, target: DefinedScorer, lives: Lives, connect: Connect, opened: Opened) -> None:
        self._target = target
        self._lives = lives
        self._connect = connect
        self._opened = opened
        self._snippets = share_snippets(opened, target.sandbox, target.task.path)
        opened.share(hosted.Held, hosted.Held)
        splits = target.samples if target.looks_at_all else (_ONE,)
        self._scorers = {split: LiveScorer(target.scorer, self._tools(split)) for split in splits}
        self._places = {split: _places(samples) for split, samples in target.samples.items()}

    def score(
        self, payload: Payload, sample: Mapping[str, Any], trace: Trace | None, deadline: float
    ) -> Scored | Skip:
        if not self._target.looks_at_all:
            return self._scorers[_ONE].score(sample, trace, deadline)
        place = self._places[payload.split][payload.line]
        return self._scorers[payload.split].score(sample, trace, deadline, place=place)

    def _tools(self, split: str) -> Tools:
        return Tools(
            model=self._model,
            evaluator=self._evaluator,
            snippets=self._snippets,
            samples=partial(_samples, self._target.samples.get(split, ())),
        )

    def _model(self, key: str) -> Chat:
        return chat_of(self._lives.model(f"{key}, who scores", lambda _name: self._connected(key)))

    def _connected(self, key: str) -> ModelUnderTest:
        spec = self._target.keyed.get(key)
        if spec is None:
            raise EvaluationError(FailureKind.INTERNAL, f"no model is known for the key {key}")
        return self._opened.keep(partial(connect_model, spec))

    def _evaluator(self, _keys: Keys) -> Evaluator:
        program = self._target.program
        if program is None:
            raise EvaluationError(FailureKind.INTERNAL, "the scorer does not call an evaluator")
        return self._lives.scorer(self._target.scorer.key, lambda _key: self._connect(program, self._opened))


def _places(samples: Sequence[Sample]) -> Mapping[int | None, int]:
    return {sample.line: index for index, sample in enumerate(samples)}


def _samples(samples: Sequence[Sample]) -> Sequence[Mapping[str, Any]]:
    return [fields_of(sample.raw) for sample in samples]


class Solving:
    """Makes traces; safe to call from several threads."""

    def __init__(self, target: DefinedScorer, solver: Solver, lives: Lives, opened: Opened) -> None:
        self._target = target
        self._solver = solver
        self._lives = lives
        self._opened = opened
        self._specs = {**{_keyed(key): spec for key, spec in target.keyed.items()}, **_named(target)}
        for spec in target.models:
            self._model(spec.name)  # what is wrong with it is to be known before any call
        known_as = (Traces, _outputs(target), digest_of(solver), target.is_stored)
        self._traces = opened.share(known_as, partial(Traces, len(target.task.scorers)))
        self._snippets = share_snippets(opened, target.sandbox, target.task.path)
        opened.share(hosted.Held, hosted.Held)

    def trace(self, payload: Payload, sample: Mapping[str, Any], deadline: float) -> Trace:
        """Give a sample's trace, or raise EvaluationError of stage solver or model."""
        try:
            return self._traces.of(_solving_key(payload), partial(self._solved, payload, sample, deadline))
        except EvaluationError as error:
            self.take_back(payload, error)
            raise

    def take_back(self, payload: Payload, error: EvaluationError) -> None:
        """Let the next call tell what this one took, where this machine had no room: it has no record."""
        if error.no_room and error.spent.usages:
            self._traces.owe(_solving_key(payload), error.spent)
            error.spent = NOTHING

    def capacity_of(self, name: str) -> Capacity:
        """Say what a model under test can take at the moment."""
        return Capacity(calls=self._model(name).capacity.calls) if name in self._specs else Capacity()

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
        return shared_model(self._specs[name], self._opened, is_stored=self._target.is_stored)


def _named(target: DefinedScorer) -> dict[str, ModelSpec]:
    return {spec.name: spec for spec in target.models}


def _solving_key(payload: Payload) -> Hashable:
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
    return next((os.path.realpath(spec.outputs) for spec in target.models), "")


class DefinedEvaluator:
    """Calls models about a sample, as its task says, and scores what came of it."""

    def __init__(self, spec: EvaluatorSpec, target: DefinedScorer, connect: Connect, opened: Opened) -> None:
        self._timeout = spec.timeout
        self._lives = Lives()
        solver = target.task.solver
        self._solving = Solving(target, solver, self._lives, opened) if solver else None
        self._scoring = Scoring(target, self._lives, connect, opened)

    @property
    def note(self) -> str:
        return self._lives.note

    @property
    def capacity(self) -> Capacity:
        return self._lives.capacity._replace(batch=1)

    def capacity_of(self, task_model: str) -> Capacity:
        return self._solving.capacity_of(task_model) if self._solving else self.capacity

    def call(self, payload: Payload, deadline: float) -> Answered:
        sample = fields_of(payload.example)
        if self._solving is None:
            return _answer(self._scoring.score(payload, sample, None, deadline), None)
        began = time.monotonic()
        trace = self._solving.trace(payload, sample, deadline)
        before = time.monotonic() - began - trace.spent.waited
        try:
            scored = self._scoring.score(payload, sample, trace, time.monotonic() + self._timeout)
        except EvaluationError as error:
            error.output, error.spent, error.before = _key(trace), trace.spent + error.spent, before
            self._solving.take_back(payload, error)
            raise
        except GivenUp as given_up:
            given_up.output, given_up.spent = _key(trace), trace.spent + given_up.spent
            raise
        return _answer(scored, trace)

    def call_many(self, payloads: Sequence[Payload], timeout: float) -> list[Answered | EvaluationError]:
        return call_singly(payloads, timeout, self.call)

    def stop_waiting(self) -> None:
        self._lives.stop_waiting()

    @property
    def queues(self) -> "list[Queue]":
        return self._lives.queues

    def meter(self, caps: Caps) -> None:
        self._lives.meter(caps)

    def close(self) -> None:
        """Nothing of what it calls is its own."""


def _answer(scored: Scored | Skip, trace: Trace | None) -> Answered:
    known: Mapping[str, Any] = {"output": _key(trace), "spent": trace.spent + scored.spent} if trace else {}
    if isinstance(scored, Skip):
        return Skip(why=scored.why, side_info=scored.side_info, **{"spent": scored.spent, **known})
    score = math.nan if scored.primary is None else scored.primary
    answer = Answer(
        score=score,
        side_info=scored.side_info,
        is_unranked=scored.primary is None,
        **{"spent": scored.spent, **known},
    )
    return with_facts(answer, trace.facts) if trace else answer


def _key(trace: Trace) -> str:
    """Give the key of the last reply, by which reports find it."""
    return trace.replies[-1] if trace.replies else ""
