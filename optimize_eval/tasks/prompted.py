"""An evaluator of models' replies: prompt → model → extract → score. The evaluator never sees the prompt.

The candidate is the prompt and the task model the name of a model; the reply is what is scored, and what the
evaluator says of it stands as it is. Making that evaluator live is handed in.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from optimize_eval.base import strict_json
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import Capacity, Evaluator, EvaluatorSpec
from optimize_eval.base.frozen import changed
from optimize_eval.base.manners import Caps, GivenUp
from optimize_eval.base.protocol import Answered, Payload, Skip
from optimize_eval.base.spent import NOTHING
from optimize_eval.models.model_kinds import Prompted
from optimize_eval.models.shared import SharedModel, shared_model
from optimize_eval.models.under_test import Output, Prompt, is_plain, joined, reply_facts
from optimize_eval.programs.codec import call_singly
from optimize_eval.prompts.prompt import fields_of, prompt_of
from optimize_eval.tasks.extract import extraction_of
from optimize_eval.tasks.lives import Lives, be_the_models, closing_if_failed
from optimize_eval.tasks.measures import Measure, ReplyMeasure
from optimize_eval.templates import hosted
from optimize_eval.templates.fault import TemplateFault

if TYPE_CHECKING:  # programs as models need no HTTP client
    from optimize_eval.base.manners import Queue

Connect = Callable[[EvaluatorSpec], Evaluator]

_ID = "id"


class PromptedEvaluator:
    """Calls models with prompts, and an evaluator about what they reply."""

    def __init__(self, spec: EvaluatorSpec, target: Prompted, connect: Connect) -> None:
        self._timeout = spec.timeout
        self._target = target
        self._extract = extraction_of(target.extract)
        self._shows = getattr(target.scorer.target, "shows_prompt", False)  # a judge alone can say so
        self._specs = {model.name: model for model in target.models}
        self._lives = Lives()
        scorer, measure = replace(target.scorer, keep_stderr=spec.keep_stderr), target.scorer.target
        self._held = ExitStack()
        with closing_if_failed(self._lives):
            self._score = (
                ReplyMeasure(measure).of_payload
                if isinstance(measure, Measure)
                else partial(self._scored, self._lives.scorer(spec.name, lambda _name: connect(scorer)))
            )
            for name in self._specs:
                self._model(name)  # what is wrong with it is to be known before any call
        self._held.enter_context(hosted.held())

    @property
    def note(self) -> str:
        return self._lives.note

    @property
    def capacity(self) -> Capacity:
        capacity = self._lives.capacity
        return capacity if capacity.batch == 1 else capacity._replace(batch=1)

    def call(self, payload: Payload, _deadline: float) -> Answered:
        prompt, began, key = prompt_for(payload), time.monotonic(), b""
        try:
            model = self._model(payload.task_model or "")
            key = model.key(prompt)
            output = model.reply(prompt, key)
        except EvaluationError as error:
            be_the_models(error)
            raise
        except GivenUp as given_up:
            given_up.spent, given_up.output = given_up.spent.of_reply, key.hex()
            raise
        before = time.monotonic() - began
        try:
            answer = self._score(replace(payload, prompt=prompt.text) if self._shows else payload, output)
        except EvaluationError as error:
            if error.no_room and output.spent.usages:  # it is called once more, or has no record at all
                model.owe(key)
                output = replace(output, spent=NOTHING)
            error.output, error.spent = key.hex(), output.spent + error.spent
            error.before = before - output.spent.waited
            raise
        except GivenUp as given_up:
            given_up.spent, given_up.output = output.spent + given_up.spent, key.hex()
            raise
        spent = output.spent if answer.spent is NOTHING else output.spent + answer.spent
        return with_facts(changed(answer, spent=spent, output=key.hex()), reply_facts(output))

    def has_reply(self, payload: Payload) -> bool:
        """Return True if no model is called for a payload any more."""
        try:
            model = self._model(payload.task_model or "")
            return model.has(model.key(prompt_for(payload)))
        except EvaluationError:
            return False

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
        try:
            self._lives.close()
        finally:
            self._held.close()

    def _scored(self, scorer: Evaluator, payload: Payload, output: Output) -> Answered:
        question = changed(payload, candidate=self._extract(output.text))
        return scorer.call(question, time.monotonic() + self._timeout)

    def _model(self, name: str) -> SharedModel:
        model = self._lives.model(name, self._make_model)
        assert isinstance(model, SharedModel)  # noqa: S101  for the checker
        return model

    def _make_model(self, name: str) -> SharedModel:
        if name not in self._specs:
            raise EvaluationError(
                FailureKind.INTERNAL, f"{name!r} is not among the models: {', '.join(self._specs)}"
            )
        return shared_model(self._specs[name], is_stored=self._target.is_stored)


def with_facts(answer: Answered, facts: Mapping[str, Any]) -> Answered:
    """Let an answer say what is to be known of the reply that it is about."""
    if not facts or isinstance(answer, Skip):
        return answer
    refused = {"refused": True} if "refused" in facts else {}
    return changed(answer, reply=facts, side_info={**answer.side_info, **refused})


def prompt_for(payload: Payload) -> Prompt:
    """Render the prompt of a payload; what the check before the first call let through cannot fail here."""
    fields = fields_of(payload.example)
    try:
        messages = prompt_of(payload.candidate).render(fields)
    except TemplateFault as fault:
        raise EvaluationError(FailureKind.INTERNAL, f"bad_template: {fault.reason}") from None
    several = () if is_plain(messages) else messages
    return Prompt(text=joined(messages), id=id_of(fields), repeat=payload.repeat, several=several)


def id_of(fields: Mapping[str, Any]) -> str:
    """Give an example's id as text; one that has none is known by what is sent alone."""
    value = fields.get(_ID, "")
    return value if isinstance(value, str) else strict_json.dumps(value).decode()
