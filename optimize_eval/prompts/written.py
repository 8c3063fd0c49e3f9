"""A prompt written as its file was: a text, or messages in TOML, JSON or YAML, listed or by their roles."""

import json
from typing import Any, NamedTuple

import orjson

from optimize_eval.models.under_test import Messages, as_dicts, is_plain

MESSAGES = "messages"
TOML = ".toml"


class FileForm(NamedTuple):
    """How a file holds a prompt; one without a suffix holds a text."""

    suffix: str = ""
    is_named: bool = False  # under `messages`
    is_by_role: bool = False


TEXT = FileForm()


def form_of(suffix: str, decoded: Any) -> FileForm:
    """Tell the form of a decoded file."""
    is_named = isinstance(decoded, dict) and MESSAGES in decoded
    listed = decoded[MESSAGES] if is_named else decoded
    return FileForm(suffix, is_named, isinstance(listed, dict))


def written(messages: Messages, form: FileForm) -> str:
    """Write messages as a file of this form; JSON is YAML, too."""
    if not form.suffix and is_plain(messages):
        return messages[0].content
    if form.suffix == TOML:
        return _toml(messages, form)
    value: Any = dict(messages) if form.is_by_role else as_dicts(messages)
    named = {MESSAGES: value} if form.is_named else value
    return orjson.dumps(named, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _toml(messages: Messages, form: FileForm) -> str:
    if not form.is_by_role:
        return "\n".join(
            f"[[{MESSAGES}]]\nrole = {_quoted(role)}\ncontent = {_quoted(content)}\n"
            for role, content in messages
        )
    head = f"[{MESSAGES}]\n" if form.is_named else ""
    return head + "".join(f"{role} = {_quoted(content)}\n" for role, content in messages)


def _quoted(text: str) -> str:
    """Write a text as TOML has it: as JSON, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
