"""A model of a provider (`openai/gpt-4o-mini`)."""

import re
from collections.abc import Sequence

from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import Capacity
from optimize_eval.base.manners import Queue
from optimize_eval.models.live import Model
from optimize_eval.programs.codec import call_singly
from optimize_eval.tasks.under_test.model import Output, Prompt

_FIELD = re.compile(r"\b(?:max_completion_tokens|max_tokens|temperature)\b")
_OPTIONS = {
    "max_completion_tokens": "--max-tokens",
    "max_tokens": "--max-tokens",
    "temperature": "--temperature",
}


class ProviderModel:
    """Calls a provider's model."""

    def __init__(self, model: Model, *, takes_refusals: bool = True) -> None:
        self._model = model
        self._takes_refusals = takes_refusals
        self.chat = self._model.chat  # with messages as they are, held to a schema
        self.close = self._model.close
        self.stop_waiting = self._model.stop_waiting
        self.meter = self._model.meter

    @property
    def note(self) -> str:
        return self._model.note

    @property
    def queues(self) -> Sequence[Queue]:
        return self._model.queues

    @property
    def capacity(self) -> Capacity:
        return Capacity(calls=self._model.capacity)

    def generate(self, prompt: Prompt, deadline: float) -> Output:
        options = prompt.options if prompt.is_whole else None
        try:
            reply = self._model.chat(
                prompt.messages, deadline, options=options, takes_refusals=self._takes_refusals
            )
        except EvaluationError as error:
            if not options:  # else the task says them
                error.hint = _FIELD.sub(lambda field: _OPTIONS[field[0]], error.hint or "")
            raise
        return Output(
            text=reply.text,
            side=reply.known,
            reasoning=reply.reasoning,
            spent=reply.spent,
            tool_calls=reply.tool_calls,
            completion=reply.raw,
        )

    def generate_many(self, prompts: Sequence[Prompt], timeout: float) -> list[Output | EvaluationError]:
        return call_singly(prompts, timeout, self.generate)
