"""A task as an evaluator: render → model → post-process → score. What goes wrong says at which stage.

The example is a record of a task file, the candidate a text that stands before the prompt. The task model is
a model, or the name of one of those that all evaluators of a bench share. Which metric scores is said by the
record; what makes its evaluator live is handed in.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import Capacity, Evaluator, EvaluatorSpec
from optimize_eval.base.opened import Opened
from optimize_eval.base.protocol import Answer, Answered, Payload, Skip
from optimize_eval.base.retries_and_caps import Caps, GivenUp
from optimize_eval.base.spent import NOTHING, Spent
from optimize_eval.models.model_kinds import WHAT_THERE_IS, ModelSpec, connect_model, tasks_of
from optimize_eval.models.shared import SharedModel, shared_model
from optimize_eval.models.under_test import ModelUnderTest, Output, Prompt, reply_facts
from optimize_eval.tasks.dialects import TaskError, post_process
from optimize_eval.tasks.lives import Lives
from optimize_eval.tasks.of_replies import with_facts
from optimize_eval.tasks.task_files import Task, read_record

if TYPE_CHECKING:  # programs as models need no HTTP client
    from optimize_eval.base.retries_and_caps import Queue

Connect = Callable[[EvaluatorSpec, Opened], Evaluator]

_LEAST_SHARE = 0.1  # of a call's seconds: what is left to a metric, however long the model took


class _TaskCall(NamedTuple):
    """A task, what its model is sent, and which model that is."""

    task: Task
    prompt: Prompt
    model: str
    payload: Payload
    key: bytes  # what the reply is found by where it is written down; empty where it is not


class TaskEvaluator:
    """Calls a model about tasks, and metrics about what it replies."""

    def __init__(self, spec: EvaluatorSpec, connect: Connect, opened: Opened) -> None:
        self._spec = spec
        self._opened = opened
        self._task = tasks_of(spec)
        self._connect = connect
        self._specs = {scorer.name: scorer for scorer in self._task.scorers}
        self._models = {model.name: model for model in self._task.models}
        self._lives = Lives()
        for model in self._models:
            self._model(model)  # what is wrong with it is to be known before any call
        for metric in self._specs:
            self._metric(metric)  # the same

    @property
    def note(self) -> str:
        """What people should be told of its models and metrics."""
        return self._lives.note

    @property
    def capacity(self) -> Capacity:
        """What its models can take, in batches as small as was wanted."""
        return self._in_batches(self._lives.capacity)

    def capacity_of(self, task_model: str) -> Capacity:
        """Say what one of its models can take."""
        return self._in_batches(self._model(task_model).capacity)

    def _in_batches(self, capacity: Capacity) -> Capacity:
        return capacity._replace(batch=min(capacity.batch, self._task.batch_size or capacity.batch))

    def call(self, payload: Payload, deadline: float) -> Answered:
        least = (deadline - time.monotonic()) * _LEAST_SHARE
        called = self._read(payload)
        output = self._reply(called, deadline)
        return self._scored(called, output, max(deadline + output.spent.waited, time.monotonic() + least))

    def _reply(self, called: _TaskCall, deadline: float) -> Output:
        try:
            model = self._model(called.model)
            if isinstance(model, SharedModel):
                return model.reply(called.prompt, called.key)
            return model.generate(called.prompt, deadline)
        except EvaluationError as error:
            _of_model(error, called)
            raise
        except GivenUp as given_up:
            given_up.spent, given_up.output = given_up.spent.of_reply, called.key.hex()
            raise

    def call_many(self, payloads: Sequence[Payload], timeout: float) -> list[Answered | EvaluationError]:
        """Let the model answer in batches if it takes them, then score one after the other."""
        read = [self._read_or_why(payload) for payload in payloads]
        outputs = self._outputs([one for one in read if isinstance(one, _TaskCall)], timeout)
        return [
            one if isinstance(one, EvaluationError) else self._scored_or_why(one, next(outputs), timeout)
            for one in read
        ]

    def stop_waiting(self) -> None:
        self._lives.stop_waiting()

    @property
    def queues(self) -> "list[Queue]":
        return self._lives.queues

    def meter(self, caps: Caps) -> None:
        self._lives.meter(caps)

    def close(self) -> None:
        """Nothing of what it calls is its own."""

    def _read(self, payload: Payload) -> _TaskCall:
        if payload.example is None:
            message = "there is no example, which has to be a record of a task file"
            raise EvaluationError(FailureKind.MODEL_ERROR, message, hint="give --dataset tasks.jsonl")
        task = self._loaded(payload) or read_record(payload.example, payload.line or 1)
        if isinstance(task, TaskError):
            message = f"the example is not a task: {task.rule} {task.field}: {task.detail}"
            raise EvaluationError(
                FailureKind.MODEL_ERROR, message, hint="optimize-eval validate lists every problem"
            )
        text = f"{payload.candidate}\n\n{task.prompt}" if payload.candidate else task.prompt
        prompt = Prompt(text=text, id=task.id, repeat=payload.repeat)
        name = payload.task_model or ""
        model = self._model(name) if self._models else None
        key = model.key(prompt) if isinstance(model, SharedModel) else b""
        return _TaskCall(task, prompt, name, payload, key)

    def _loaded(self, payload: Payload) -> Task | None:
        """Find the task that a payload's example is, where its file was read before the first call."""
        task = self._task.loaded.get((payload.line, payload.example or b""))
        return task if isinstance(task, Task) else None

    def _read_or_why(self, payload: Payload) -> _TaskCall | EvaluationError:
        try:
            return self._read(payload)
        except EvaluationError as error:
            return error

    def _outputs(self, calls: Sequence[_TaskCall], timeout: float) -> Iterator[Output | EvaluationError]:
        for model, group in groupby(calls, key=lambda call: call.model):
            prompts = [call.prompt for call in group]
            try:
                yield from self._model(model).generate_many(prompts, timeout)
            except EvaluationError as error:
                yield from (copy(error) for _ in prompts)

    def _scored_or_why(
        self, called: _TaskCall, output: Output | EvaluationError, timeout: float
    ) -> Answered | EvaluationError:
        try:
            if isinstance(output, EvaluationError):
                return _of_model(output, called)
            return self._scored(called, output, time.monotonic() + timeout)
        except EvaluationError as error:
            return error

    def _scored(self, called: _TaskCall, output: Output, deadline: float) -> Answered:
        task = called.task
        prediction = post_process(task.post_process, output.text)
        metric = self._task.scorer.name if self._task.scorer else task.metric
        question = self._question(called, prediction, metric)
        try:
            scored = self._metric(metric).call(question, deadline)
        except EvaluationError as error:
            error.message = f"metric: {error.message}"
            error.side_info = self._side_info(error.side_info, metric, output, prediction)
            error.spent, error.output = self._told(error, called, output) + error.spent, called.key.hex()
            raise
        except GivenUp as given_up:
            given_up.spent, given_up.output = output.spent + given_up.spent, called.key.hex()
            raise
        side_info = self._side_info(scored.side_info, metric, output, prediction)
        spent = output.spent if scored.spent is NOTHING else output.spent + scored.spent
        key = called.key.hex()
        if isinstance(scored, Skip):
            return Skip(why=scored.why, side_info=side_info, stderr=output.stderr, spent=spent, output=key)
        answer = Answer(
            score=scored.score, side_info=side_info, stderr=output.stderr, spent=spent, output=key
        )
        return with_facts(answer, reply_facts(output))

    def _question(self, called: _TaskCall, prediction: str, metric: str) -> Payload:
        """Make what the metric is sent; what a reply was to, and whose it is, only where a judge says so."""
        question = Payload(candidate=prediction, example=called.payload.example)
        judge = self._specs[metric].target if metric in self._specs else None
        return replace(
            question,
            prompt=called.prompt.text if getattr(judge, "shows_prompt", False) else "",
            task_model=called.model if getattr(judge, "shows_model", False) else None,
        )

    def _told(self, error: EvaluationError, called: _TaskCall, output: Output) -> Spent:
        """Give what a reply took; nothing where no record will say it, as this machine had no room."""
        model = self._model(called.model)
        if not (error.no_room and output.spent.usages and isinstance(model, SharedModel)):
            return output.spent
        model.owe(called.key)
        return NOTHING

    def _side_info(
        self, side_info: Mapping[str, Any], metric: str, output: Output, prediction: str
    ) -> Mapping[str, Any]:
        """Put together what the metric reports and what it was about."""
        steps = {"output": output.text, "prediction": prediction, "metric": metric}
        thoughts = {"thoughts": output.reasoning} if self._task.tells_thoughts and output.reasoning else {}
        model = {"model": output.side} if output.side else {}
        return {**side_info, **steps, **thoughts, **model}

    def _model(self, text: str) -> ModelUnderTest:
        return self._lives.model(text, self._make_model)

    def _metric(self, name: str) -> Evaluator:
        return self._lives.scorer(name, self._make_metric)

    def _make_model(self, text: str) -> ModelUnderTest:
        if not text:
            raise EvaluationError(
                FailureKind.MODEL_ERROR, "no model is named", hint=f"give --task-model: {WHAT_THERE_IS}"
            )
        if self._models:
            return self._make_named(text)
        model = ModelSpec(name=self._spec.name, text=text, how=self._spec)
        return self._opened.keep(partial(connect_model, model))

    def _make_named(self, name: str) -> ModelUnderTest:
        """Make one of the models live, or take part in it where another evaluator has it live."""
        if name not in self._models:
            there = ", ".join(self._models)
            raise EvaluationError(FailureKind.INTERNAL, f"{name!r} is not among the models: {there}")
        model = self._models[name].with_how(keep_stderr=self._spec.keep_stderr)
        if not model.outputs:
            return self._opened.keep(partial(connect_model, model))
        return shared_model(model, self._opened, is_stored=self._task.is_stored)

    def _make_metric(self, name: str) -> Evaluator:
        if name not in self._specs:
            there = ", ".join(self._specs) or "none"
            raise EvaluationError(
                FailureKind.INTERNAL,
                f"{name} is not among the metrics that were planned: {there}",
                hint="name a task file that uses it",
            )
        return self._connect(self._specs[name], self._opened)


def _of_model(error: EvaluationError, called: _TaskCall) -> EvaluationError:
    """Let a failure say that it is a model's, and which reply is missing."""
    error.message, error.output = f"model: {error.message}", called.key.hex()
    return error
