"""What templates see of a conversation: views of {"items": […], "completion": {…}}, which is plain JSON.

An item is a message, a function_call or a function_call_output; the completion is the last reply as its
server sent it. Our own process and the host make the same views of the same JSON.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

MESSAGE, CALL = "message", "function_call"
ASSISTANT, USER = "assistant", "user"
NAMES = ("solver_output", "model_output", "model_outputs", "messages", "input_prompt", "trace")

Plain = Mapping[str, Any]


class Fields(dict[str, Any]):
    """Fields of a template, some of which are views of a conversation."""

    conversation: Plain


class ModelOutput(str):
    """What a model replied: a text, with the fields of a chat completion."""

    __slots__ = ("completion",)
    completion: Plain


class Trace:
    """All that was said and called."""

    def __init__(self, conversation: Plain) -> None:
        self.items: Sequence[Plain] = conversation["items"]

    @cached_property
    def messages(self) -> list[dict[str, Any]]:
        return [
            {"role": item["role"], "content": item["content"]}
            for item in self.items
            if item["type"] == MESSAGE
        ]

    @cached_property
    def function_calls(self) -> list[Plain]:
        return [item for item in self.items if item["type"] == CALL]

    def get_last_assistant_text(self) -> str | None:
        return self._last(ASSISTANT)

    def get_last_user_text(self) -> str | None:
        return self._last(USER)

    def _last(self, role: str) -> str | None:
        return next((one["content"] for one in reversed(self.messages) if one["role"] == role), None)


class SolverOutput:
    """What a solver made of a sample."""

    def __init__(self, output: ModelOutput, messages: Sequence[Plain]) -> None:
        self.output = output
        self.messages = messages


def with_conversation(fields: Mapping[str, Any], conversation: Plain) -> Fields:
    """Put the views of a conversation beside other fields."""
    trace = Trace(conversation)
    messages = trace.messages
    outputs = [_output(one["content"], {}) for one in messages if one["role"] == ASSISTANT]
    last = _output(outputs[-1] if outputs else "", conversation.get("completion") or {})
    outputs[-1:] = [last] * bool(outputs)
    views = Fields(
        fields,
        solver_output=SolverOutput(last, messages),
        model_output=last,
        model_outputs=outputs,
        messages=messages,
        input_prompt=str(last),
        trace=trace,
    )
    views.conversation = conversation
    return views


def written(view: object) -> str | Sequence[Plain] | None:
    """Give what a view is where it is written: a text, or the items; None for what is no view."""
    match view:
        case SolverOutput():
            return str(view.output)
        case Trace():
            return view.items
    return None


def completion_of(text: str, tool_calls: Sequence[Plain] = ()) -> dict[str, Any]:
    """Give a reply the shape of a chat completion."""
    calls = {"tool_calls": list(tool_calls)} if tool_calls else {}
    return {"choices": [{"index": 0, "message": {"role": ASSISTANT, "content": text, **calls}}]}


def _output(text: str, completion: Plain) -> ModelOutput:
    output = ModelOutput(text)
    output.completion = completion or completion_of(text)
    return output
