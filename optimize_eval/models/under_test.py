"""What a model under test is to those who call it: messages in, outputs out; blocking, for many threads.

A text is one message of the user, and stands for itself. Several messages stand as JSON in one form only, by
which they are known again; their digest is a candidate's as that of any text.
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Any, NamedTuple, Protocol

import orjson

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import Capacity
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import NO_CAPABILITIES, Capabilities
from optimize_eval.base.spent import NOTHING, Spent

USER, SYSTEM, ASSISTANT = "user", "system", "assistant"
ROLES = (SYSTEM, USER, ASSISTANT)

_BEGINS = '{\n  "messages": [\n'
_BETWEEN = "\n\n"  # messages, where a program takes one text


class Message(NamedTuple):
    """Who says what."""

    role: str
    content: str


Messages = tuple[Message, ...]


def of_user(text: str) -> Messages:
    return (Message(USER, text),)


def is_plain(messages: Messages) -> bool:
    """Return True if messages are one of the user, which is as good as its text."""
    return len(messages) == 1 and messages[0].role == USER


def text_of(messages: Messages) -> str:
    """Write messages as the text of a candidate."""
    if is_plain(messages):
        return messages[0].content
    return orjson.dumps({"messages": as_dicts(messages)}, option=orjson.OPT_INDENT_2).decode()


def messages_of(text: str) -> Messages:
    """Read the text of a candidate as messages.

    >>> messages_of("Hello")
    (Message(role='user', content='Hello'),)
    """
    if text.startswith(_BEGINS) and (messages := _read(text)) and text_of(messages) == text:
        return messages
    return of_user(text)


def as_dicts(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Give messages as a provider takes them."""
    return [{"role": role, "content": content} for role, content in messages]


def joined(messages: Messages) -> str:
    """Give messages as one text, for programs that take no more."""
    return _BETWEEN.join(content for _, content in messages)


def _read(text: str) -> Messages:
    try:
        listed: Any = orjson.loads(text)["messages"]
        return tuple(Message(str(entry["role"]), str(entry["content"])) for entry in listed)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return ()


@frozen
class Prompt:
    """What a model is sent: messages, and which task's they are, which only recorded outputs look at.

    A text alone is one message of the user; beside several messages it is their texts, one after the other.
    Messages of a conversation may call tools, and say what these gave back; `options` are sent beside them.
    """

    text: str
    id: str = ""
    repeat: int = 1
    several: Messages = ()
    with_tools: Sequence[JsonMapping] = ()  # in place of several, where there is more than these have
    options: JsonMapping = field(default_factory=dict)
    turn: int = 1  # which of its task's calls of the model this is
    again: int = 0  # how often the same was sent before in this conversation
    is_whole: bool = False  # calls of tools are a reply, too, which is kept as its server sent it

    @property
    def is_one_text(self) -> bool:
        return not (self.several or self.with_tools)

    @property
    def messages(self) -> list[JsonDict]:
        """Give all messages, as providers take them."""
        if self.with_tools:
            return [dict(message) for message in self.with_tools]
        return [*as_dicts(self.several)] if self.several else [{"role": USER, "content": self.text}]

    @property
    def essence(self) -> Any:
        """Give what is digested: the text of one message of the user, else all messages; what is beside."""
        said = self.text if self.is_one_text else self.messages
        if not (self.options or self.again):
            return said
        return {"messages": said, "options": self.options, "again": self.again}

    @property
    def task_model(self) -> None:
        """None: a model is not told of another model."""


@frozen
class Output:
    """What a model replied, and what else is known of it: tokens, or whatever a program reports."""

    text: str
    side: JsonMapping = field(default_factory=dict)
    capabilities: Capabilities = NO_CAPABILITIES
    stderr: str = ""
    reasoning: str = ""  # a model's thoughts, apart from the text
    spent: Spent = NOTHING  # nothing where it was written down before
    seconds: float | None = None  # that its call took, where that is known
    usage: Sequence[JsonMapping] = ()  # of its call, also where it was written down before
    in_vain: Sequence[JsonMapping] = ()  # of the tries before that one, which failed
    tool_calls: Sequence[JsonMapping] = ()  # as chat completions have them
    completion: JsonMapping = field(default_factory=dict)  # as its server sent it, where that is kept


def reply_facts(output: Output) -> JsonDict:
    """Give what is to be known of a reply beside its text: how it ended, who gave it, that it is empty."""
    facts = {name: output.side[name] for name in _FACTS if isinstance(output.side.get(name), str)}
    facts |= {"refused": True} if output.side.get("refused") is True else {}
    return facts if output.text.strip() or output.tool_calls else facts | {"empty": True}


def prompt_of_messages(
    messages: Sequence[JsonMapping],
    options: JsonMapping,
    *,
    known_as: str,
    repeat: int = 1,
) -> Prompt:
    """Make a prompt of a conversation as providers take it."""
    text = _BETWEEN.join(text_of_content(message.get("content")) for message in messages)
    plain = tuple(
        Message(message["role"], message["content"]) for message in messages if _is_plain_text(message)
    )
    if len(plain) < len(messages):
        return Prompt(
            text=text, id=known_as, repeat=repeat, with_tools=messages, options=options, is_whole=True
        )
    several = () if is_plain(plain) else plain
    return Prompt(text=text, id=known_as, repeat=repeat, several=several, options=options, is_whole=True)


def text_of_content(content: object) -> str:
    """Give the text of a message's content, which may be a list of parts, or none."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def are_calls(value: object) -> bool:
    """Return True if a value is calls of tools as chat completions have them."""
    match value:
        case list():
            return all(_is_call(item) for item in value)
    return False


def _is_call(value: object) -> bool:
    match value:
        case {"function": {"name": str(), "arguments": str()}}:
            return True
    return False


def _is_plain_text(message: JsonMapping) -> bool:
    return message.keys() == _PLAIN and isinstance(message["content"], str) and message["role"] in ROLES


_PLAIN = {"role", "content"}
_FACTS = ("finish_reason", "answered_by")


class ModelUnderTest(Protocol):
    """A model that is called."""

    def generate(self, prompt: Prompt, deadline: float) -> Output:
        """Answer before `deadline` (an instant of time.monotonic) or raise EvaluationError."""
        ...

    def generate_many(self, prompts: Sequence[Prompt], timeout: float) -> list[Output | EvaluationError]:
        """Answer several, in their order, each within `timeout` seconds; a failure stands for itself."""
        ...

    @property
    def capacity(self) -> Capacity:
        """What it can take at the moment; more calls than that only wait."""
        ...

    @property
    def note(self) -> str:
        """What people should be told once about how it was called; mostly nothing."""
        ...

    def close(self) -> None:
        """End what was started for it; it is not called again."""
        ...
