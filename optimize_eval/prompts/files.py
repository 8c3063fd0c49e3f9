"""Prompt files → candidates: a text is one message of the user; .toml, .json and .yaml hold messages.

Messages are a list of role and content, or texts by their roles: {"system": "…", "user": "…"}.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from optimize_eval.base import strict_json, strict_toml
from optimize_eval.base.errors import DataError, Problem, UsageError
from optimize_eval.base.files import STDIN
from optimize_eval.data.candidates import (
    Candidate,
    candidate_files,
    load_candidate,
    name_of_file,
    named_apart,
)
from optimize_eval.models.under_test import ROLES, SYSTEM, Message, Messages, is_plain, messages_of, text_of
from optimize_eval.prompts.written import MESSAGES, TEXT, FileForm, form_of

_FORM = (
    'write messages, {"role": "user", "content": "…"}, or texts by their roles, {"system": "…", "user": "…"}'
)
_SUFFIXES = {".toml", ".json", ".yaml", ".yml"}


class PromptFile(NamedTuple):
    """A prompt and where it stands."""

    candidate: Candidate
    path: str
    form: FileForm = TEXT


def load_prompts(named: Iterable[str | Candidate], system: str | None) -> list[PromptFile]:
    """Load prompts in the order in which they are named, all with what a file has for the system first."""
    before = (Message(SYSTEM, load_candidate(system)),) if system is not None else ()
    each = _each_once(named)
    loaded = [prompt for one in each for prompt in _load(one, before)]
    paths = ["" if isinstance(one, Candidate) else one for one in each]
    candidates = named_apart([prompt.candidate for prompt in loaded], paths)
    return [prompt._replace(candidate=one) for prompt, one in zip(loaded, candidates, strict=True)]


def _each_once(named: Iterable[str | Candidate]) -> list[str | Candidate]:
    """Give each file that a name or a pattern stands for, once: where it is named first."""
    files: dict[str | Candidate, str | Candidate] = {}
    for one in named:
        for file in (one,) if isinstance(one, Candidate) else candidate_files(one):
            files.setdefault(file if isinstance(file, Candidate) else os.path.abspath(file), file)  # noqa: PTH100  links stay apart
    return [*files.values()]


def _load(named: str | Candidate, before: Messages) -> Iterator[PromptFile]:
    if isinstance(named, Candidate):
        yield PromptFile(_with(before, messages_of(named.text), named.name), named.name)
        return
    messages, form = _messages(named, load_candidate(named))
    candidate = _with(before, messages, name_of_file(named))
    yield PromptFile(candidate, "stdin" if named == STDIN else named, form)


def _with(before: Messages, messages: Messages, name: str) -> Candidate:
    if before and any(message.role == SYSTEM for message in messages):
        raise UsageError(
            f"the prompt {name} has a message of the system, and --system gives another",
            hint="omit --system, or take the message out of the prompt",
        )
    return Candidate(name=name, text=text_of((*before, *messages)))


def _messages(path: str, text: str) -> tuple[Messages, FileForm]:
    if Path(path).suffix.lower() not in _SUFFIXES:
        messages = messages_of(text)
        if not is_plain(messages):
            raise _wrong(path, "these are messages: give the file a name that ends in .json")
        return messages, TEXT
    decoded = _decoded(path, text)
    form = form_of(Path(path).suffix.lower(), decoded)
    return _of_value(path, decoded[MESSAGES] if form.is_named else decoded), form


def prompt_of_messages(name: str, messages: Any) -> Candidate:
    """Make a prompt of messages as a program has them; raises DataError where they are none."""
    return Candidate(name=name, text=text_of(_of_value(name, messages)))


def _of_value(path: str, listed: Any) -> Messages:
    if isinstance(listed, dict):
        listed = [{"role": role, "content": content} for role, content in _in_order(listed)]
    if not isinstance(listed, list) or not listed:
        raise _wrong(path, f"there are no messages in it: {_FORM}")
    return tuple(_message(path, number, one) for number, one in enumerate(listed, 1))


def _in_order(texts: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Put what the system says first, whatever the order in which named texts are written."""
    return sorted(texts.items(), key=lambda item: ROLES.index(item[0]) if item[0] in ROLES else len(ROLES))


def _decoded(path: str, text: str) -> Any:
    suffix = Path(path).suffix.lower()
    try:
        if suffix == ".toml":
            return strict_toml.loads(text)
        if suffix == ".json":
            return strict_json.loads(text, unique_keys=True)
        from optimize_eval.base import strict_yaml  # noqa: PLC0415  few prompts are YAML

        return strict_yaml.loads(text)
    except strict_json.JsonFault as fault:
        raise _wrong(path, f"not JSON: {fault.reason}", text.count("\n", 0, fault.offset) + 1) from None
    except strict_toml.TomlFault as fault:
        raise _wrong(path, f"not TOML: {fault.reason}", fault.line) from None
    except ValueError as fault:  # of YAML, which is not loaded for others
        raise _wrong(path, f"not YAML: {fault}") from None


def _message(path: str, number: int, one: Any) -> Message:
    match one:
        case {"role": str(role), "content": str(content)} if role in ROLES and len(one) == 2:  # noqa: PLR2004  these two
            return Message(role, content)
        case {"role": role, "content": str()} if role not in ROLES:
            reason = f"the role {role!r} is none of {', '.join(ROLES)}"
        case {"role": _, "content": list()}:
            reason = "images and other parts of a message are not taken: its content is a text"
        case _:
            reason = f"not a message: {_FORM}"
    raise _wrong(path, f"message {number}: {reason}")


def _wrong(path: str, reason: str, line: int | None = None) -> DataError:
    return DataError([Problem(path=path, rule="bad_prompt", reason=reason, line=line)])
