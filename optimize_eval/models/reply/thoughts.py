"""Thoughts that a model writes before its answer, separated from the answer; pure.

A server either gives them in a field of their own or leaves them in the text, between marks. Only marks at
the start of a text are read as such: what a model says of them later on is a part of its answer.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_ANY_OPENING = re.compile(r"<(think|thinking)>", re.IGNORECASE)
_OPENING = re.compile(rf"\s*{_ANY_OPENING.pattern}", re.IGNORECASE)
_CLOSING = re.compile(r"(?<![`'\"])</(think|thinking)>(?![`'\"])", re.IGNORECASE)  # in quotes it is spoken of
_CHANNEL = re.compile(r"\s*(<\|start\|>assistant)?<\|channel\|>(?!final)")
_FINAL = re.compile(r"<\|channel\|>final[^<]*<\|message\|>")
_MESSAGE = re.compile(r"<\|message\|>(.*?)(?=<\|[a-z]+\|>|$)", re.DOTALL)
_START_OF_MESSAGE = "<|message|>"
_FIELDS = ("reasoning_content", "reasoning")
_PARTS = ("thinking", "reasoning")  # types of parts of a content


class SplitText(NamedTuple):
    """A text taken apart; `is_open`: its thoughts have no end, so that there is no answer."""

    thoughts: str
    answer: str
    is_open: bool = False


def split(text: str) -> SplitText:
    r"""Take the thoughts off the start of a text.

    >>> split("<think>Option A? No.</think>\n\nB")
    SplitText(thoughts='Option A? No.', answer='B', is_open=False)
    """
    if "<" not in text:
        return SplitText("", text)
    if _CHANNEL.match(text):
        return _of_channels(text)
    if _OPENING.match(text) is None:
        return _with_swallowed_opening(text)
    return _of_marks(text)


def apart(message: Mapping[str, Any]) -> str:
    """Find the thoughts that a message has beside its text: in a field, or as parts of its content."""
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    thought = [_of_part(part) for part in parts if is_thought(part)]
    fields = [text for key in _FIELDS if isinstance(text := message.get(key), str)]
    return joined(*fields, *thought)


def is_thought(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") in _PARTS


def joined(*thoughts: str) -> str:
    """Put thoughts one after the other, each once: some servers tell them in two places."""
    return "\n\n".join(dict.fromkeys(thought.strip() for thought in thoughts if thought.strip()))


def _of_part(part: Mapping[str, Any]) -> str:
    thought = next((part[key] for key in (*_PARTS, "text") if part.get(key)), "")
    inner = thought if isinstance(thought, list) else [{"text": thought}]
    texts = [one.get("text") for one in inner if isinstance(one, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def _of_marks(text: str) -> SplitText:
    """Take the thoughts off a text that begins with some; several may follow each other."""
    thoughts: list[str] = []
    end = 0
    while opening := _OPENING.match(text, end):
        closing = _CLOSING.search(text, opening.end())
        if closing is None:
            return SplitText(joined(*thoughts, text[opening.end() :]), "", is_open=True)
        thoughts.append(text[opening.end() : closing.start()])
        end = closing.end()
    return SplitText(joined(*thoughts), text[end:].lstrip())


def _of_channels(text: str) -> SplitText:
    """Take a text of several channels apart: the last one that is final is the answer."""
    finals = list(_FINAL.finditer(text))
    if not finals:
        return SplitText(joined(*_MESSAGE.findall(text)), "", is_open=True)
    final = finals[-1]
    answer = _MESSAGE.match(text, final.end() - len(_START_OF_MESSAGE))
    return SplitText(joined(*_MESSAGE.findall(text[: final.start()])), answer[1].strip() if answer else "")


def _with_swallowed_opening(text: str) -> SplitText:
    """Split where thoughts end whose opening stands in the prompt; JSON with such a mark is an answer."""
    closing = _CLOSING.search(text)
    if closing is None or _ANY_OPENING.search(text, 0, closing.start()) or _is_json(text):
        return SplitText("", text)
    return SplitText(text[: closing.start()].strip(), text[closing.end() :].lstrip())


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
