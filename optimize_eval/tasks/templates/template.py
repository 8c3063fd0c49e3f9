"""A text with fields in it, parsed once: which it names, and what it is with an example's, in bounds.

A text without {{ or {% if %} is itself, and loads nothing. Names alone are put in as they are;
what may be computed is computed here where that is bounded, else by the host. A prompt is messages, each of
which is such a text.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import OptimizeEvalError
from optimize_eval.models.under_test import Message, Messages, messages_of
from optimize_eval.tasks.templates.fault import TemplateFault

_OPENS = "{{"
_OPENS_CODE = re.compile(r"\{[{%]")
_OPENS_ANY = (_OPENS, "{%", "{#")
_BLOCK = re.compile(
    r"\{%[-+]?\s*(?:if|for|set|raw|with|macro|filter|do|call)\b"
)  # {% is in other languages, too
_LAST_NEWLINE = re.compile(r"(\r\n|\r|\n)\Z")
_MOST_CODE = 50_000  # letters between braces, which take Jinja more than half a second to read


Rendering = Callable[[JsonMapping], str]  # puts fields into a template; raises TemplateFault


class Template(NamedTuple):
    """A parsed text; `lines` are those where it first names each field."""

    lines: Mapping[str, int]
    render: Rendering
    is_bounded: bool = True
    is_names: bool = False  # nothing but names stands in its braces, so that each has to be there


def is_template(text: str) -> bool:
    return _OPENS in text or ("{%" in text and _BLOCK.search(text) is not None)


def template_of(text: str) -> Template:
    """Parse a text, or raise TemplateFault."""
    return _parse(text) if is_template(text) else Template({}, lambda _fields: text)


def task_template_of(text: str) -> Template:
    """Parse a text of a task, which is a template where it has blocks or comments alone, too.

    As Jinja does, it drops one newline at the end: the one that `|` of YAML leaves there.
    """
    text = _LAST_NEWLINE.sub("", text)
    is_any = any(mark in text for mark in _OPENS_ANY)
    return _parse(text, of_task=True) if is_any else Template({}, lambda _fields: text)


def _parse(text: str, *, of_task: bool = False) -> Template:
    from optimize_eval.tasks.templates.parsing import parse  # noqa: PLC0415  see above

    if code_length(text) > _MOST_CODE:
        raise TemplateFault(f"it has more than {_MOST_CODE:,} letters between braces")
    return Template(*parse(text, of_task=of_task))


def code_length(text: str) -> int:
    """Count the letters between braces, which take Jinja long to read."""
    return sum(map(_code_of, _OPENS_CODE.split(text)[1:]))


def _code_of(part: str) -> int:
    """Count the letters before the braces that close."""
    ends = [end for end in (part.find("}}"), part.find("%}")) if end >= 0]
    return min(ends, default=len(part)) + len("{{}}")


def paths_within(text: str, name: str) -> list[tuple[str, ...]]:
    """List what a text that can be parsed names within a field, as far as that is written out: a.b["c"]."""
    return [path for path, _ in places_within(text, name)]


def places_within(text: str, name: str) -> list[tuple[tuple[str, ...], int]]:
    """List the same, each with its line in the text."""
    if name not in text or not any(mark in text for mark in _OPENS_ANY):
        return []
    from optimize_eval.tasks.templates.parsing import places_of  # noqa: PLC0415  see above

    return places_of(text, name)


Native = Callable[[JsonMapping], Any]

_TRIMMING = "-+"  # beside braces, of blanks around them

NOT_THERE: Final = object()  # what an expression gives whose field is not there


def native_of(text: str, *, is_needed: bool = False) -> Native:
    """Parse a text, or raise TemplateFault; what is returned raises it, too.

    What is not there and not needed is NOT_THERE.

    >>> native_of("{{ sample.n }}")({"sample": {"n": 5}})
    5
    """
    inner = _expression_in(text.strip())
    if not inner:
        return task_template_of(text).render
    render = task_template_of(f"{{{{ ({inner}) | tojson }}}}").render

    def value(fields: JsonMapping) -> Any:
        try:
            return json.loads(render(fields))
        except TemplateFault as fault:
            if fault.is_missing and not is_needed:
                return NOT_THERE
            raise

    return value


def _expression_in(text: str) -> str:
    """Take the braces off a text that is one expression; empty for any other text."""
    if not (text.startswith("{{") and text.endswith("}}")):
        return ""
    from optimize_eval.tasks.templates.parsing import is_one_expression  # noqa: PLC0415  see above

    if not is_one_expression(text):
        return ""
    return text[3 if text[2] in _TRIMMING else 2 : -3 if text[-3] in _TRIMMING else -2]


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

    def render(self, fields: JsonMapping) -> Messages:
        """Put fields in; raises TemplateFault."""
        if self.takes_whole and WHOLE not in fields:
            fields = {**fields, WHOLE: fields}
        return tuple([Message(role, _fill(role, part, fields)) for role, part in self.parts])


@lru_cache(_MOST)
def prompt_of(text: str) -> PromptTemplate:
    """Parse the text of a candidate; raises TemplateFault."""
    parts = tuple((role, template_of(content)) for role, content in messages_of(text))
    return PromptTemplate(parts, any(WHOLE in part.lines for _, part in parts))


def sent_of(text: str | None, fields: JsonMapping) -> Messages | None:
    """Render a prompt of a run that is over; None where its text is not kept, or the fields do not fit."""
    try:
        return prompt_of(text).render(fields) if text else None
    except (TemplateFault, OptimizeEvalError):
        return None


def fields_of(example: bytes | None) -> JsonDict:
    """Decode an example's record; integers of any size stay exact."""
    if example is None:
        return {}
    if strict_json.may_hold_long_integer(example):
        fields: JsonDict = strict_json.loads(example.decode(), unique_keys=False)
        return fields
    decoded: JsonDict = orjson.loads(example)
    return decoded


def _fill(role: str, part: Template, fields: JsonMapping) -> str:
    text = part.render(fields)
    if not text or text.isspace():
        raise TemplateFault(f"the message of the {role} is empty")
    return text
