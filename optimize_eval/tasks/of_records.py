"""Tasks in JSONL: render → model → post-process → score. What goes wrong says at which stage.

The example is a record of a task file, the candidate a text that stands before the prompt. The task model is
a model, or the name of one of those that all evaluators of a bench share. Which metric scores is said by the
record; what makes its evaluator live is handed in.
"""

import time
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import NamedTuple

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import Capacity, Evaluator, EvaluatorSpec, Opened
from optimize_eval.base.frozen import change
from optimize_eval.base.protocol import Answer, Answered, Payload
from optimize_eval.base.retries_and_caps import GivenUp
from optimize_eval.base.spent import NOTHING, Spent
from optimize_eval.models.model_kinds import WHAT_THERE_IS, ModelSpec, connect_model
from optimize_eval.models.shared import SharedModel
from optimize_eval.models.under_test import ModelUnderTest, Output, Prompt, reply_facts
from optimize_eval.tasks.dialects import TaskError, post_process
from optimize_eval.tasks.targets import RecordTask
from optimize_eval.tasks.task_evaluator import Connect, Lives, in_batches
from optimize_eval.tasks.task_files import Task, read_record

_LEAST_SHARE = 0.1  # of a call's seconds: what is left to a metric, however long the model took


class _Question(NamedTuple):
    """A task, what its model is sent, and which model that is."""

    task: Task
    prompt: Prompt
    model: str
    payload: Payload
    key: bytes  # what the reply is found by where it is written down; empty where it is not


class _Reply(NamedTuple):
    """What a model replied to a task; until when that is to be scored, if there is no more time."""

    about: _Question
    output: Output
    until: float | None

    @property
    def key(self) -> str:
        return self.about.key.hex()

    @property
    def spent(self) -> Spent:
        return self.output.spent

    @property
    def facts(self) -> JsonMapping:
        return reply_facts(self.output)


class Records:
    """Solves tasks by one call of a model, and scores the replies by metrics."""

    def __init__(self, spec: EvaluatorSpec, task: RecordTask, connect: Connect, opened: Opened) -> None:
        self.batch = task.batch_size
        self._spec = spec
        self._task = task
        self._connect = connect
        self._metrics = {scorer.name: scorer for scorer in task.evaluators}
        specs = {model.name: model.with_how(keep_stderr=spec.keep_stderr) for model in task.models}
        self.lives = Lives(specs, opened, is_stored=task.is_stored)
        for model in specs:
            self._model(model)  # what is wrong with it is to be known before any call
        for metric in self._metrics:
            self._metric(metric)  # the same

    def solve(self, payload: Payload, deadline: float) -> _Reply:
        least = (deadline - time.monotonic()) * _LEAST_SHARE
        about = self._question(payload)
        output = self._reply(about, deadline)
        return _Reply(about, output, max(deadline + output.spent.waited, time.monotonic() + least))

    def solve_many(self, payloads: Sequence[Payload], timeout: float) -> Iterator[_Reply | EvaluationError]:
        read = [self._question_or_why(payload) for payload in payloads]
        outputs = self._outputs([about for about in read if isinstance(about, _Question)], timeout)
        for about in read:
            if isinstance(about, EvaluationError):
                yield about
                continue
            output = next(outputs)
            if isinstance(output, EvaluationError):
                yield _of_model(output, about)
            else:
                yield _Reply(about, output, None)

    def score(self, solved: _Reply, timeout: float) -> Answered:
        about, output, until = solved
        prediction = post_process(about.task.post_process, output.text)
        metric = self._task.scorer.name if self._task.scorer else about.task.metric
        question = self._for_metric(about, prediction, metric)
        rival = self.solve(about.payload.rival, time.monotonic() + timeout) if about.payload.rival else None
        if rival:
            text = post_process(rival.about.task.post_process, rival.output.text)
            question = replace(question, rival=replace(question, candidate=text))
        deadline = time.monotonic() + timeout if until is None else until
        try:
            scored = self._metric(metric).call(question, deadline)
        except EvaluationError as error:
            error.message = f"metric: {error.message}"
            error.side_info = self._side_info(error.side_info, metric, output, prediction)
            raise
        side_info = self._side_info(scored.side_info, metric, output, prediction)
        if rival:
            scored = change(scored, spent=scored.spent + rival.spent.for_reply(rival.key))
        if isinstance(scored, Answer):
            return Answer(score=scored.score, side_info=side_info, stderr=output.stderr, spent=scored.spent)
        return change(scored, side_info=side_info, stderr=output.stderr)

    def charge(self, solved: _Reply, error: EvaluationError) -> None:
        charge(error, solved.output, self._model(solved.about.model), solved.about.key)

    def capacity_of(self, task_model: str) -> Capacity:
        return in_batches(self._model(task_model).capacity, self.batch)

    def has_reply(self, _payload: Payload) -> bool:
        return False

    def _reply(self, about: _Question, deadline: float) -> Output:
        try:
            model = self._model(about.model)
            if isinstance(model, SharedModel):
                return model.reply(about.prompt, about.key)
            return model.generate(about.prompt, deadline)
        except EvaluationError as error:
            _of_model(error, about)
            raise
        except GivenUp as given_up:
            given_up.spent, given_up.output = given_up.spent.of_reply, about.key.hex()
            raise

    def _question(self, payload: Payload) -> _Question:
        if payload.example is None:
            message = "there is no example, which has to be a record of a task file"
            raise EvaluationError(FailureKind.MODEL_ERROR, message, hint="give --dataset tasks.jsonl")
        task = self._task_in_file(payload) or read_record(payload.example, payload.line or 1)
        if isinstance(task, TaskError):
            message = f"the example is not a task: {task.rule} {task.field}: {task.detail}"
            raise EvaluationError(
                FailureKind.MODEL_ERROR, message, hint="optimize-eval validate lists every problem"
            )
        text = f"{payload.candidate}\n\n{task.prompt}" if payload.candidate else task.prompt
        prompt = Prompt(text=text, id=task.id, repeat=payload.repeat)
        name = payload.task_model or ""
        model = self._model(name) if self._task.models else None
        key = model.key(prompt) if isinstance(model, SharedModel) else b""
        return _Question(task, prompt, name, payload, key)

    def _task_in_file(self, payload: Payload) -> Task | None:
        """Find the task that a payload's example is, where its file was read before the first call."""
        task = self._task.loaded.get((payload.line, payload.example or b""))
        return task if isinstance(task, Task) else None

    def _question_or_why(self, payload: Payload) -> _Question | EvaluationError:
        try:
            return self._question(payload)
        except EvaluationError as error:
            return error

    def _outputs(self, calls: Sequence[_Question], timeout: float) -> Iterator[Output | EvaluationError]:
        for model, group in groupby(calls, key=lambda call: call.model):
            prompts = [call.prompt for call in group]
            try:
                yield from self._model(model).generate_many(prompts, timeout)
            except EvaluationError as error:
                yield from (copy(error) for _ in prompts)

    def _for_metric(self, about: _Question, prediction: str, metric: str) -> Payload:
        """Make what the metric is sent; what a reply was to, and whose it is, only where a judge says so."""
        question = Payload(candidate=prediction, example=about.payload.example)
        judge = self._metrics[metric].target if metric in self._metrics else None
        return replace(
            question,
            prompt=about.prompt.text if getattr(judge, "shows_prompt", False) else "",
            task_model=about.model if getattr(judge, "shows_model", False) else None,
        )

    def _side_info(self, side_info: JsonMapping, metric: str, output: Output, prediction: str) -> JsonMapping:
        """Put together what the metric reports and what it was about."""
        steps = {"output": output.text, "prediction": prediction, "metric": metric}
        thoughts = {"thoughts": output.reasoning} if self._task.tells_thoughts and output.reasoning else {}
        model = {"model": output.side} if output.side else {}
        return {**side_info, **steps, **thoughts, **model}

    def _model(self, name: str) -> ModelUnderTest:
        return self.lives.model(name, self._make_model)

    def _make_model(self, name: str) -> ModelUnderTest:
        if not name:
            raise EvaluationError(
                FailureKind.MODEL_ERROR, "no model is named", hint=f"give --task-model: {WHAT_THERE_IS}"
            )
        if not self._task.models:
            spec = ModelSpec(name=self._spec.name, text=name, how=self._spec)
        else:
            spec = self.lives.spec(name)
        if spec.outputs:
            return self.lives.share(spec)
        return self.lives.opened.keep(partial(connect_model, spec))

    def _metric(self, name: str) -> Evaluator:
        return self.lives.scorer(name, self._make_metric)

    def _make_metric(self, name: str) -> Evaluator:
        if name not in self._metrics:
            there = ", ".join(self._metrics) or "none"
            raise EvaluationError(
                FailureKind.INTERNAL,
                f"{name} is not among the metrics that were planned: {there}",
                hint="name a task file that uses it",
            )
        return self._connect(self._metrics[name], self.lives.opened)


def charge(error: EvaluationError, output: Output, model: ModelUnderTest, key: bytes) -> Spent:
    """Let a failure to score say what the reply took; where it has no record, whoever reads it next will."""
    if error.no_room and output.spent.usages and isinstance(model, SharedModel):
        model.owe(key)
        return NOTHING
    error.spent = output.spent + error.spent
    return output.spent


def _of_model(error: EvaluationError, about: _Question) -> EvaluationError:
    """Let a failure say that it is a model's, and which reply is missing."""
    error.stage = "model"
    error.message, error.output = f"model: {error.message}", about.key.hex()
    return error


FORM = Records
