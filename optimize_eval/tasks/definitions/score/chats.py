"""The models that judge, by their texts: a provider's, or a program or URL in the place of one."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from optimize_eval.evaluator import EvaluatorSpec
from optimize_eval.judging.asking import Chat, Message
from optimize_eval.models.from_spec import live_model
from optimize_eval.models.spec import Reply
from optimize_eval.prompts.messages import Message as Said
from optimize_eval.prompts.messages import joined
from optimize_eval.tasks.target import tasks_of
from optimize_eval.tasks.under_test.model import ModelUnderTest, Prompt
from optimize_eval.tasks.under_test.table import connect_model, model_spec, parse_model


class LiveChat(Chat, Protocol):
    """A model that judges; close it."""

    def close(self) -> None: ...


def open_chat(text: str, spec: EvaluatorSpec) -> LiveChat:
    """Make a model live that is named as models under test are; `spec` is that of who calls it."""
    named = parse_model(text)
    if named.kind:
        return ChatUnderTest(connect_model(text, spec))
    return live_model(model_spec(named.rest, tasks_of(spec)), spec.manners)


class ChatUnderTest:
    """Calls a model that takes prompts; it is held to no schema."""

    def __init__(self, model: ModelUnderTest) -> None:
        self._model = model
        self.close = model.close

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
