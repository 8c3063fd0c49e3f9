"""What was said about a sample, in order: messages, calls of functions and what these gave back."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from optimize_eval.base.frozen import frozen
from optimize_eval.base.spent import NOTHING, Spent

MESSAGE, CALL, RETURNED = "message", "function_call", "function_call_output"

Item = Mapping[str, Any]  # its "type" is one of the three


@frozen
class Trace:
    """A conversation.

    A message has role and content, a call name and arguments (an object), what it gave back has output;
    the last two have the call_id that joins them, where one is known.
    """

    items: Sequence[Item]
    completion: Mapping[str, Any] = field(
        default_factory=dict
    )  # the last reply, in the shape of a chat completion
    replies: Sequence[str] = ()  # the keys of models' replies in outputs.jsonl
    spent: Spent = NOTHING  # on models, for this trace and not before
    facts: Mapping[str, Any] = field(default_factory=dict)  # of the last reply of the model under test

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Give role and content of each message."""
        return [
            {"role": item["role"], "content": item["content"]}
            for item in self.items
            if item["type"] == MESSAGE
        ]

    @property
    def function_calls(self) -> list[Item]:
        return [item for item in self.items if item["type"] == CALL]

    def last_text(self, role: str) -> str | None:
        """Give the text of the last message of a role; None where there is none."""
        return next((one["content"] for one in reversed(self.messages) if one["role"] == role), None)
