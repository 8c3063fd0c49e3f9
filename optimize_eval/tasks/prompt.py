"""A prompt as it is sent: each of its messages a template, rendered with an example's fields."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from optimize_eval.base import strict_json
from optimize_eval.base.errors import OptimizeEvalError
from optimize_eval.models.under_test import Message, Messages, messages_of
from optimize_eval.tasks.templates.fault import TemplateFault
from optimize_eval.tasks.templates.template import Template, template_of

WHOLE = "example"  # all fields as one, unless a field has this name

_MOST = 256  # prompts that are kept parsed


class PromptTemplate(NamedTuple):
    """A prompt, parsed."""

    parts: tuple[tuple[str, Template], ...]  # roles and contents
    takes_whole: bool

    @property
    def lines(self) -> Mapping[str, int]:
        """Give the fields that it names, each with the line where it does first."""
        return {name: line for _, part in reversed(self.parts) for name, line in part.lines.items()}

    def render(self, fields: Mapping[str, Any]) -> Messages:
        """Put fields in; raises TemplateFault."""
        if self.takes_whole and WHOLE not in fields:
            fields = {**fields, WHOLE: fields}
        return tuple([Message(role, _fill(role, part, fields)) for role, part in self.parts])


@lru_cache(_MOST)
def prompt_of(text: str) -> PromptTemplate:
    """Parse the text of a candidate; raises TemplateFault."""
    parts = tuple((role, template_of(content)) for role, content in messages_of(text))
    return PromptTemplate(parts, any(WHOLE in part.lines for _, part in parts))


def sent_of(text: str | None, fields: Mapping[str, Any]) -> Messages | None:
    """Render a prompt of a run that is over; None where its text is not kept, or the fields do not fit."""
    try:
        return prompt_of(text).render(fields) if text else None
    except (TemplateFault, OptimizeEvalError):
        return None


def fields_of(example: bytes | None) -> dict[str, Any]:
    """Decode an example's record; integers of any size stay exact."""
    if example is None:
        return {}
    if strict_json.may_hold_long_integer(example):
        fields: dict[str, Any] = strict_json.loads(example.decode(), unique_keys=False)
        return fields
    decoded: dict[str, Any] = orjson.loads(example)
    return decoded


def _fill(role: str, part: Template, fields: Mapping[str, Any]) -> str:
    text = part.render(fields)
    if not text or text.isspace():
        raise TemplateFault(f"the message of the {role} is empty")
    return text
