"""A text that is one {{expression}}, as its value: a number stays a number. Others are rendered."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from optimize_eval.templates.fault import TemplateFault
from optimize_eval.templates.template import task_template_of

if TYPE_CHECKING:  # most texts are no templates
    from jinja2.nodes import Template as Tree

Native = Callable[[Mapping[str, Any]], Any]

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

    def value(fields: Mapping[str, Any]) -> Any:
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
    from optimize_eval.templates import environment as jinja  # noqa: PLC0415  see above

    if not _is_one_expression(jinja.parsed(jinja.made(), text)):
        return ""
    return text[3 if text[2] in _TRIMMING else 2 : -3 if text[-3] in _TRIMMING else -2]


def _is_one_expression(tree: "Tree") -> bool:
    from jinja2.nodes import Output, TemplateData  # noqa: PLC0415  see above

    nodes = tree.body[0].nodes if len(tree.body) == 1 and isinstance(tree.body[0], Output) else []
    return len(nodes) == 1 and not isinstance(nodes[0], TemplateData)
