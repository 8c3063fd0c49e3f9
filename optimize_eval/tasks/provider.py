"""A model of a provider (`openai/gpt-4o-mini`): the prompt as one message of the user."""

from collections.abc import Sequence

from optimize_eval.errors import EvaluationError
from optimize_eval.models import Model, ModelSpec
from optimize_eval.reach import Capacity
from optimize_eval.reach.batch import ask_singly
from optimize_eval.tasks.model import Output, Prompt


class ProviderModel:
    """Asks a provider's model."""

    note = ""
    capacity = Capacity()

    def __init__(self, spec: ModelSpec) -> None:
        self._model = Model(spec)
        self.close = self._model.close

    def generate(self, prompt: Prompt, deadline: float) -> Output:
        reply = self._model.chat([{"role": "user", "content": prompt.text}], deadline)
        return Output(text=reply.text, side=reply.known, reasoning=reply.reasoning)

    def generate_many(self, prompts: Sequence[Prompt], timeout: float) -> list[Output | EvaluationError]:
        return ask_singly(prompts, timeout, self.generate)
