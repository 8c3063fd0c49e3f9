"""The messages of a prompt, and the one text that stands for them.

A text is one message of the user, and stands for itself. Several messages stand as JSON in one form only, by
which they are known again; their digest is a candidate's as that of any text.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

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
        return tuple(Message(str(one["role"]), str(one["content"])) for one in listed)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return ()
