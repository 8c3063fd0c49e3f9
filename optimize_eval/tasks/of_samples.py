"""Scorers of tasks in YAML: sample → conversation → score; several scorers share each conversation."""

import math
import os
import time
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import Capacity, Evaluator, EvaluatorSpec, Opened
from optimize_eval.base.protocol import Answer, Answered, Payload, Skip
from optimize_eval.base.spent import NOTHING, Spent
from optimize_eval.models.chat import Chat
from optimize_eval.models.model_kinds import connect_model
from optimize_eval.models.shared import SharedModel
from optimize_eval.models.under_test import ModelUnderTest
from optimize_eval.tasks.code import share_snippets
from optimize_eval.tasks.definition import Keys
from optimize_eval.tasks.of_replies import id_of
from optimize_eval.tasks.scorer_parts import Scored, Tools, chat_of
from optimize_eval.tasks.scorers import LiveScorer
from optimize_eval.tasks.solvers import SharedModels, digest_of, solve
from optimize_eval.tasks.targets import Sample, SampleTask
from optimize_eval.tasks.task_evaluator import Connect, Lives
from optimize_eval.tasks.templates import hosted
from optimize_eval.tasks.templates.template import fields_of
from optimize_eval.tasks.trace import Trace, Traces

_ONE = ""  # the name of the scorer that does for all splits


class _Solved(NamedTuple):
    """A sample, and what was said about it; None where the task has no solver."""

    payload: Payload
    sample: JsonMapping
    trace: Trace | None
    seconds: float  # that its making took, without waiting for servers
    until: float | None = None  # when it has to be scored, if the scorer has not all of its time

    @property
    def key(self) -> str:
        return self.trace.replies[-1] if self.trace and self.trace.replies else ""

    @property
    def spent(self) -> Spent:
        return self.trace.spent if self.trace else NOTHING

    @property
    def facts(self) -> JsonMapping:
        return self.trace.facts if self.trace else {}


class Samples:
    """Calls models about a sample, as its task says, and scores what came of it by one scorer."""

    batch = 1

    def __init__(self, _spec: EvaluatorSpec, task: SampleTask, connect: Connect, opened: Opened) -> None:
        solver = task.task.solver
        self._solving = Solving(task, opened) if solver else None
        self.lives = self._solving.lives if self._solving else Lives({}, opened)
        self._scoring = Scoring(task, self.lives, connect)

    def solve(self, payload: Payload, deadline: float) -> _Solved:
        sample, began = fields_of(payload.example), time.monotonic()
        if self._solving is None:
            return _Solved(payload, sample, None, 0.0, deadline)
        trace = self._solving.trace(payload, sample, deadline)
        return _Solved(payload, sample, trace, time.monotonic() - began - trace.spent.waited)

    def score(self, solved: _Solved, timeout: float) -> Answered:
        until = time.monotonic() + timeout if solved.until is None else solved.until
        scored = self._scoring.score(solved, until)
        if isinstance(scored, Skip):
            return Skip(why=scored.why, side_info=scored.side_info, spent=scored.spent)
        score = math.nan if scored.primary is None else scored.primary
        return Answer(
            score=score,
            side_info=scored.side_info,
            is_unranked=scored.primary is None,
            spent=scored.spent,
        )

    def charge(self, solved: _Solved, error: EvaluationError) -> None:
        if self._solving:
            error.spent, error.before = solved.spent + error.spent, solved.seconds
            self._solving.take_back(solved.payload, error)

    def capacity_of(self, task_model: str) -> Capacity:
        return self._solving.capacity_of(task_model) if self._solving else self.lives.capacity

    def has_reply(self, _payload: Payload) -> bool:
        return False


class Scoring:
    """Scores samples with their conversations; safe to call from several threads."""

    def __init__(self, task: SampleTask, lives: Lives, connect: Connect) -> None:
        self._task = task
        self._lives = lives
        self._connect = connect
        self._snippets = share_snippets(lives.opened, task.sandbox, task.task.path)
        lives.opened.share(hosted.Holder, hosted.Holder)
        splits = task.samples if task.looks_at_all else (_ONE,)
        self._scorers = {split: LiveScorer(task.scorer, self._tools(split)) for split in splits}
        self._indexes = {split: _indexes(samples) for split, samples in task.samples.items()}

    def score(self, solved: _Solved, deadline: float) -> Scored | Skip:
        payload = solved.payload
        if not self._task.looks_at_all:
            return self._scorers[_ONE].score(solved.sample, solved.trace, deadline)
        index = self._indexes[payload.split][payload.line]
        return self._scorers[payload.split].score(solved.sample, solved.trace, deadline, place=index)

    def _tools(self, split: str) -> Tools:
        return Tools(
            model=self._judge,
            evaluator=self._evaluator,
            snippets=self._snippets,
            samples=partial(_fields, self._task.samples.get(split, ())),
        )

    def _judge(self, key: str) -> Chat:
        return chat_of(self._lives.model(f"{key}, who scores", lambda _name: self._make_judge(key)))

    def _make_judge(self, key: str) -> ModelUnderTest:
        spec = self._task.keyed.get(key)
        if spec is None:
            raise EvaluationError(FailureKind.INTERNAL, f"no model is known for the key {key}")
        return self._lives.opened.keep(partial(connect_model, spec))

    def _evaluator(self, _keys: Keys) -> Evaluator:
        program = self._task.program
        if program is None:
            raise EvaluationError(FailureKind.INTERNAL, "the scorer does not call an evaluator")
        make = partial(self._connect, program, self._lives.opened)
        return self._lives.scorer(self._task.scorer.key, lambda _key: make())


def _indexes(samples: Sequence[Sample]) -> Mapping[int | None, int]:
    return {sample.line: index for index, sample in enumerate(samples)}


def _fields(samples: Sequence[Sample]) -> Sequence[JsonMapping]:
    return [fields_of(sample.raw) for sample in samples]


class Solving:
    """Makes the conversations of a task that has a solver; safe to call from several threads."""

    def __init__(self, task: SampleTask, opened: Opened) -> None:
        solver = task.task.solver
        assert solver, "who makes conversations has a solver"  # noqa: S101  for the checker
        self._task = task
        self._solver = solver
        keyed = {_name_of_key(key): spec for key, spec in task.keyed.items()}
        under_test = {spec.name: spec for spec in task.models}
        self._names = {*keyed, *under_test}
        self.lives = Lives({**keyed, **under_test}, opened, is_stored=task.is_stored)
        for name in under_test:
            self.lives.shared(name)  # what is wrong with it is to be known before any call
        known_as = (Traces, _outputs(task), digest_of(solver), task.is_stored)
        self._traces = opened.share(known_as, partial(Traces, len(task.task.scorers)))
        self._snippets = share_snippets(opened, task.sandbox, task.task.path)
        opened.share(hosted.Holder, hosted.Holder)

    def trace(self, payload: Payload, sample: JsonMapping, deadline: float) -> Trace:
        """Give a sample's conversation, or raise EvaluationError of stage solver or model."""
        try:
            return self._traces.of(_known_as(payload), partial(self._solve, payload, sample, deadline))
        except EvaluationError as error:
            self.take_back(payload, error)
            raise

    def take_back(self, payload: Payload, error: EvaluationError) -> None:
        """Let the next call tell what this one took, where this machine had no room: it has no record."""
        if error.no_room and error.spent.usages:
            self._traces.owe(_known_as(payload), error.spent)
            error.spent = NOTHING

    def capacity_of(self, name: str) -> Capacity:
        """Say what a model under test can take at the moment."""
        return Capacity(calls=self.lives.shared(name).capacity.calls) if name in self._names else Capacity()

    def _solve(self, payload: Payload, sample: JsonMapping, deadline: float) -> Trace:
        return solve(
            self._solver,
            sample,
            models=SharedModels(partial(self._model, payload.task_model or "")),
            snippets=self._snippets,
            deadline=deadline,
            candidate=payload.candidate,
            known_as=id_of(sample),
            repeat=payload.repeat,
            most_turns=self._task.max_turns,
        )

    def _model(self, under_test: str, key: str | None) -> SharedModel:
        return self.lives.shared(under_test if key is None else _name_of_key(key))


def _known_as(payload: Payload) -> Hashable:
    return (
        payload.split,
        payload.line,
        payload.example,
        payload.candidate,
        payload.task_model,
        payload.repeat,
    )


def _name_of_key(key: str) -> str:
    """Tell a key of the task apart from the name of a model under test."""
    return f"model_key {key}"


def _outputs(task: SampleTask) -> str:
    return next((os.path.realpath(model.outputs) for model in task.models), "")


FORM = Samples
