"""All prompts rendered over all examples before the first call: everything that is wrong is told at once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple

from optimize_eval.base.errors import DataError, Problem
from optimize_eval.data.example import Example
from optimize_eval.models.under_test import is_plain, messages_of
from optimize_eval.prompts.files import PromptFile
from optimize_eval.prompts.prompt import PromptTemplate, prompt_of
from optimize_eval.templates.fault import RULE, TemplateFault

_MOST_NAMED = 10
_MOST_FAULTS = 20  # different ones of a prompt


class Where(NamedTuple):
    """An example, by its file and line; a run without examples has none."""

    file: str
    example: Example | None

    @property
    def fields(self) -> Mapping[str, Any]:
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
    for one in found.values():
        line = one.fault.line or template.lines.get(one.fault.name)
        yield _problem(prompt, _reason(one, len(examples)), line)


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


def _near(name: str, fields: Mapping[str, Any]) -> str:
    if close := get_close_matches(name, fields, n=1):
        return f"; did you mean {close[0]!r}?"
    return f"; there are {', '.join([*fields][:_MOST_NAMED]) or 'none'}"


def _problem(prompt: PromptFile, reason: str, line: int | None) -> Problem:
    """Place a problem; of several messages the line of one says little."""
    is_whole = is_plain(messages_of(prompt.candidate.text))
    return Problem(path=prompt.path, rule=RULE, reason=reason, line=line if is_whole else None)
