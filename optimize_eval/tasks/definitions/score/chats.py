"""A model under test as one that judges: a program or recorded replies may stand where a provider's does."""

from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.judging.asking import Message
from optimize_eval.models.spec import Reply
from optimize_eval.prompts.messages import Message as Said
from optimize_eval.prompts.messages import joined
from optimize_eval.tasks.under_test.model import ModelUnderTest, Prompt


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
