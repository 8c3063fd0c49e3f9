"""Prompt files → candidates, written as they were, and all checked before the first call.

Messages are a list of role and content, or texts by their roles: {"system": "…", "user": "…"}.
"""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import DataError, Problem, UsageError
from optimize_eval.base.files import STDIN
from optimize_eval.data.candidates import (
    Candidate,
    candidate_files,
    load_candidate,
    name_of_file,
    named_apart,
)
from optimize_eval.data.example import Example
from optimize_eval.models.under_test import (
    ROLES,
    SYSTEM,
    Message,
    Messages,
    as_dicts,
    is_plain,
    messages_of,
    text_of,
)
from optimize_eval.tasks.templates import hosted
from optimize_eval.tasks.templates.fault import RULE, TemplateFault
from optimize_eval.tasks.templates.template import PromptTemplate, prompt_of

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
    value: object = dict(messages) if form.is_by_role else as_dicts(messages)
    named = {MESSAGES: value} if form.is_named else value
    return orjson.dumps(named, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _toml(messages: Messages, form: FileForm) -> str:
    if not form.is_by_role:
        return "\n".join(
            f"[[{MESSAGES}]]\nrole = {_quote(role)}\ncontent = {_quote(content)}\n"
            for role, content in messages
        )
    head = f"[{MESSAGES}]\n" if form.is_named else ""
    return head + "".join(f"{role} = {_quote(content)}\n" for role, content in messages)


def _quote(text: str) -> str:
    """Write a text as TOML has it: as JSON, but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


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
    loaded = [prompt for path in each for prompt in _load(path, before)]
    paths = ["" if isinstance(entry, Candidate) else entry for entry in each]
    candidates = named_apart([prompt.candidate for prompt in loaded], paths)
    return [
        prompt._replace(candidate=candidate) for prompt, candidate in zip(loaded, candidates, strict=True)
    ]


def _each_once(named: Iterable[str | Candidate]) -> list[str | Candidate]:
    """Give each file that a name or a pattern stands for, once: where it is named first."""
    files: dict[str | Candidate, str | Candidate] = {}
    for name in named:
        for file in (name,) if isinstance(name, Candidate) else candidate_files(name):
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


def prompt_of_messages(name: str, messages: object) -> Candidate:
    """Make a prompt of messages as a program has them; raises DataError where they are none."""
    return Candidate(name=name, text=text_of(_of_value(name, messages)))


def _of_value(path: str, listed: object) -> Messages:
    if isinstance(listed, dict):
        listed = [{"role": role, "content": content} for role, content in _in_order(listed)]
    if not isinstance(listed, list) or not listed:
        raise _wrong(path, f"there are no messages in it: {_FORM}")
    return tuple(_message(path, number, entry) for number, entry in enumerate(listed, 1))


def _in_order(texts: JsonMapping) -> list[tuple[str, Any]]:
    """Put what the system says first, whatever the order in which named texts are written."""
    return sorted(texts.items(), key=lambda item: ROLES.index(item[0]) if item[0] in ROLES else len(ROLES))


def _decoded(path: str, text: str) -> Any:
    suffix = Path(path).suffix.lower()
    try:
        if suffix == ".toml":
            return strict_json.loads_toml(text)
        if suffix == ".json":
            return strict_json.loads(text, unique_keys=True)
        from optimize_eval.base import strict_yaml  # noqa: PLC0415  few prompts are YAML

        return strict_yaml.loads(text)
    except strict_json.JsonFault as fault:
        raise _wrong(path, f"not JSON: {fault.reason}", text.count("\n", 0, fault.offset) + 1) from None
    except strict_json.TomlFault as fault:
        raise _wrong(path, f"not TOML: {fault.reason}", fault.line) from None
    except ValueError as fault:  # of YAML, which is not loaded for others
        raise _wrong(path, f"not YAML: {fault}") from None


def _message(path: str, number: int, one: Any) -> Message:
    match one:
        case {"role": str(role), "content": str(content)} if role in ROLES and len(one) == 2:  # noqa: PLR2004  these two
            return Message(role, content)
        case {"role": role, "content": str()} if role not in ROLES:
            reason = f"the role {role!r} is not one of {', '.join(ROLES)}"
        case {"role": _, "content": list()}:
            reason = "images and other parts of a message are not taken: its content is a text"
        case _:
            reason = f"not a message: {_FORM}"
    raise _wrong(path, f"message {number}: {reason}")


def _wrong(path: str, reason: str, line: int | None = None) -> DataError:
    return DataError([Problem(path=path, rule="bad_prompt", reason=reason, line=line)])


_MOST_NAMED = 10
_MOST_FAULTS = 20  # different ones of a prompt


class Where(NamedTuple):
    """An example, by its file and line; a run without examples has none."""

    file: str
    example: Example | None

    @property
    def fields(self) -> JsonMapping:
        return self.example.value if self.example else {}

    def __str__(self) -> str:
        if self.example is None:
            return "without an example"
        return f"{self.file}:{self.example.line}{self.example.in_file}"


@dataclass(slots=True)
class _Found:
    """A fault, the first example that has it, and how many have."""

    fault: TemplateFault
    where: Where
    many: int = field(default=1)


def check_prompts_alone(prompts: Iterable[PromptFile], examples: Sequence[Where]) -> list[str]:
    """Do the same, with a host that ends with it."""
    with closing(hosted.Holder()):
        return check_prompts(prompts, examples)


def check_prompts(prompts: Iterable[PromptFile], examples: Sequence[Where]) -> list[str]:
    """Render all; raises DataError with every problem, else names the prompts that take no field."""
    problems, without_fields = [], []
    for prompt in prompts:
        try:
            template = prompt_of(prompt.candidate.text)
        except TemplateFault as fault:
            hint = "; {{ begins a field, and {{ '{{' }} is the braces themselves"
            problems.append(_problem(prompt, f"{fault.reason}{hint}", fault.line))
            continue
        problems += _problems(prompt, template, examples or [Where("", None)])
        if examples and not template.lines:
            without_fields.append(prompt.candidate.name)
    if problems:
        raise DataError(problems)
    return without_fields


def _problems(prompt: PromptFile, template: PromptTemplate, examples: Sequence[Where]) -> Iterator[Problem]:
    found: dict[str, _Found] = {}
    for where in examples:
        try:
            template.render(where.fields)
        except TemplateFault as fault:
            if (known := found.get(fault.reason)) is None:
                found[fault.reason] = _Found(fault, where)
            else:
                known.many += 1
            if _is_costly(template) or len(found) == _MOST_FAULTS:
                break
    for hit in found.values():
        line = hit.fault.line or template.lines.get(hit.fault.name)
        yield _problem(prompt, _reason(hit, len(examples)), line)


def _is_costly(template: PromptTemplate) -> bool:
    """Return True where each fault may take a second."""
    return not all(part.is_bounded for _, part in template.parts)


def _reason(found: _Found, examples: int) -> str:
    reason, where = found.fault.reason, found.where
    if where.example is None:
        return f"{reason}: there are no examples; give --dataset"
    if not found.fault.name:
        return f"{reason} ({_places(found)})"
    if found.many == examples:
        return f"{reason} in any example{_near(found.fault.name, where.fields)}"
    return f"{reason} in {_places(found)}{_near(found.fault.name, where.fields)}"


def _places(found: _Found) -> str:
    others = found.many - 1
    return f"{found.where}{f' and {others:,} more' if others else ''}"


def _near(name: str, fields: JsonMapping) -> str:
    if close := get_close_matches(name, fields, n=1):
        return f"; did you mean {close[0]!r}?"
    return f"; there are {', '.join([*fields][:_MOST_NAMED]) or 'none'}"


def _problem(prompt: PromptFile, reason: str, line: int | None) -> Problem:
    """Place a problem; of several messages the line of one says little."""
    is_whole = is_plain(messages_of(prompt.candidate.text))
    return Problem(path=prompt.path, rule=RULE, reason=reason, line=line if is_whole else None)
