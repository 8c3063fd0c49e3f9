"""Conversations that are built message by message, with loops and texts that end them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from optimize_eval.tasks.definitions.solve.calling import Calls, failed
from optimize_eval.tasks.definitions.solve.items import messages_of, said
from optimize_eval.tasks.definitions.solve.parts import (
    Builder,
    ChatMessage,
    Generate,
    GenerateMessage,
    Loop,
    MultiTurn,
    Stop,
)
from optimize_eval.tasks.definitions.solve.texts import rendered, rendered_all
from optimize_eval.tasks.definitions.solve.trace import MESSAGE, Item

_MOST_STEPS = 10_000

_Step = ChatMessage | Generate | GenerateMessage


class _End(NamedTuple):
    """Which text ended what is built, and where the message with it begins."""

    stop: Stop
    begins: int


class Conversation:
    """What was said so far."""

    def __init__(self, fields: Mapping[str, Any], calls: Calls) -> None:
        self.items: list[Item] = []
        self._completions: list[tuple[int, Mapping[str, Any]]] = []  # with where their message begins
        self._fields = fields
        self._calls = calls
        self._steps = 0

    @property
    def completion(self) -> Mapping[str, Any]:
        """Give the last reply that stands."""
        return self._completions[-1][1] if self._completions else {}

    def hold(self, solver: MultiTurn) -> None:
        """Build all of it."""
        end = self._run(solver.builders, None)
        if end and not end.stop.keep_iteration:
            self._drop(end.begins)

    def _run(self, builders: Sequence[Builder], loop_index: int | None) -> _End | None:
        for builder in builders:
            self._count()
            if isinstance(builder, Loop):
                self._loop(builder)
                continue
            begins = len(self.items)
            text = self._add(builder, loop_index)
            if builder.stop and builder.stop.includes in text:
                return _End(builder.stop, begins)
        return None

    def _loop(self, loop: Loop) -> None:
        for number in range(loop.most):
            self._count()
            begins = len(self.items)
            if end := self._run(loop.builders, number):
                if not end.stop.keep_iteration:
                    self._drop(begins)
                return
        stops = [one.stop.includes for one in loop.builders if not isinstance(one, Loop) and one.stop]
        if stops and loop.fails_at_most:
            listed = " or ".join(map(repr, stops))
            hint = "raise max_iterations, or let on_max_iterations be continue"
            raise failed(f"after {loop.most} rounds of a loop no message included {listed}", hint=hint)

    def _add(self, builder: _Step, loop_index: int | None) -> str:
        """Add what one step says; give its text."""
        if isinstance(builder, ChatMessage):
            text = rendered(builder.said.content, self._now(loop_index))
            self.items.append(said(builder.said.role, text))
            return text
        return self._generate() if isinstance(builder, Generate) else self._generate_as(builder, loop_index)

    def _generate(self) -> str:
        if not self.items:
            raise failed("generate has no message to reply to", hint="put a chat_message before it")
        reply = self._calls.reply(None, self.items)
        self._completions.append((len(self.items), reply.completion))
        self.items.extend(reply.items)
        return reply.text

    def _generate_as(self, builder: GenerateMessage, loop_index: int | None) -> str:
        """Let another model reply, as whom it is meant to speak."""
        before = messages_of(self.items) if builder.has_conversation else []
        sent = [*before, *rendered_all(builder.messages, self._now(loop_index))]
        reply = self._calls.reply_to(builder.model_key, sent, {})
        if builder.role == "assistant":
            self._completions.append((len(self.items), reply.completion))
            self.items.extend(reply.items)
        else:
            self.items.append(said(builder.role, reply.text))
        return reply.text

    def _now(self, loop_index: int | None) -> dict[str, Any]:
        """Give what templates see at this moment."""
        index = {} if loop_index is None else {"loop_index": loop_index}
        messages = [
            {"role": item["role"], "content": item["content"]}
            for item in self.items
            if item["type"] == MESSAGE
        ]
        return {**self._fields, "messages": messages, **index}

    def _drop(self, begins: int) -> None:
        del self.items[begins:]
        self._completions = [one for one in self._completions if one[0] < begins]

    def _count(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise failed(
                f"the conversation takes more than {_MOST_STEPS:,} steps", hint="lower max_iterations"
            )
