"""Models under test as models that judge: a provider's, or a program or URL in the place of one."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from optimize_eval.models.judging.asking import Chat, Message
from optimize_eval.models.spec import Reply
from optimize_eval.models.under_test import Message as Said
from optimize_eval.models.under_test import ModelUnderTest, Prompt, joined


@runtime_checkable
class TakesMessages(Chat, Protocol):
    """A model that is called with messages as they are, and may be held to a schema."""


def chat_of(model: ModelUnderTest) -> Chat:
    """Give a model under test as one that judges."""
    return model if isinstance(model, TakesMessages) else ChatUnderTest(model)


class ChatUnderTest:
    """Calls a model that takes prompts; it is held to no schema."""

    def __init__(self, model: ModelUnderTest) -> None:
        self._model = model

    def chat(
        self,
        messages: Sequence[Message],
        deadline: float,
        *,
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Reply before `deadline`, or raise EvaluationError."""
        del schema
        several = tuple(Said(one["role"], one["content"]) for one in messages)
        output = self._model.generate(Prompt(text=joined(several), several=several), deadline)
        return Reply(
            text=output.text,
            prompt_tokens=output.side.get("prompt_tokens"),
            completion_tokens=output.side.get("completion_tokens"),
            finish_reason=output.side.get("finish_reason"),
            reasoning=output.reasoning,
            model=output.side.get("answered_by"),
            spent=output.spent,
        )
