"""A text with fields in it, parsed once: which it names, and what it is with an example's.

A text without {{ is itself, and loads nothing. Names alone are put in as they are; what may be computed is
computed here where that is bounded, else by the host.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from optimize_eval.templates.fault import TemplateFault

if TYPE_CHECKING:  # most texts are no templates
    from jinja2.nodes import Template as Tree

    from optimize_eval.templates.environment import Environment

_OPENS = "{{"
_OPENS_ANY = (_OPENS, "{%", "{#")
_LAST_NEWLINE = re.compile(r"(\r\n|\r|\n)\Z")
_SHORT = 1 << 18  # letters that cannot be more bytes than a text may have


class Rendering(Protocol):
    """What puts fields into a template; raises TemplateFault."""

    def __call__(self, fields: Mapping[str, Any]) -> str: ...


class Template(NamedTuple):
    """A parsed text; `lines` are those where it first names each field."""

    lines: Mapping[str, int]
    render: Rendering
    is_bounded: bool = True


def is_template(text: str) -> bool:
    return _OPENS in text


def template_of(text: str) -> Template:
    """Parse a text, or raise TemplateFault."""
    return _parsed(text) if is_template(text) else Template({}, lambda _fields: text)


def task_template_of(text: str) -> Template:
    """Parse a text of a task, which is a template where it has blocks or comments alone, too.

    As Jinja does, it drops one newline at the end: the one that `|` of YAML leaves there.
    """
    text = _LAST_NEWLINE.sub("", text)
    return _parsed(text) if any(mark in text for mark in _OPENS_ANY) else template_of(text)


def _parsed(text: str) -> Template:
    from optimize_eval.templates import environment as jinja  # noqa: PLC0415  see above
    from optimize_eval.templates.bounded import is_bounded  # noqa: PLC0415
    from optimize_eval.templates.known import check_known, check_length  # noqa: PLC0415

    check_length(text)
    environment = _environment()
    tree = jinja.parsed(environment, text)
    check_known(tree, environment)
    lines = _lines(tree)
    if (pieces := _pieces(tree)) is not None:
        return Template(lines, partial(_joined, pieces, jinja.text_of))
    if is_bounded(tree):
        return Template(lines, partial(jinja.rendered, jinja.compiled(environment, tree)))
    from optimize_eval.templates.hosted import render  # noqa: PLC0415  few templates have loops

    return Template(lines, lambda fields: render(text, fields, lines), is_bounded=False)


@cache
def _environment() -> "Environment":
    from optimize_eval.templates.environment import made  # noqa: PLC0415  see above

    return made()


def _lines(tree: "Tree") -> dict[str, int]:
    """Find what a template takes from outside; jinja's own way to find it would work out its constants."""
    from jinja2.nodes import Name  # noqa: PLC0415  see above

    names = list(tree.find_all(Name))
    inner = {node.name for node in names if node.ctx != "load"} | _environment().globals.keys() | {"loop"}
    lines: dict[str, int] = {}
    for node in names:
        if node.name not in inner:
            lines.setdefault(node.name, node.lineno)
    return lines


def _pieces(tree: "Tree") -> tuple[Sequence[str], Sequence[str]] | None:
    """Take texts and names apart: texts stand around the names; None where there is more than these."""
    from jinja2.nodes import Name, Output, TemplateData  # noqa: PLC0415  see above

    texts, names = [""], list[str]()
    for output in tree.body:
        for node in output.nodes if isinstance(output, Output) else (output,):
            if isinstance(node, TemplateData):
                texts[-1] += node.data
            elif isinstance(node, Name) and node.name != "range":
                names.append(node.name)
                texts.append("")
            else:
                return None
    return texts, names


def _joined(pieces: tuple[Sequence[str], Sequence[str]], written: Any, fields: Mapping[str, Any]) -> str:
    """Put values between texts; most are texts themselves."""
    texts, names = pieces
    parts = [*texts, *texts][: 2 * len(texts) - 1]
    parts[::2] = texts
    try:
        values = [fields[name] for name in names]
    except KeyError as error:
        name = str(error.args[0])
        raise TemplateFault(f"there is no field {name!r}", name=name) from None
    parts[1::2] = [value if type(value) is str else written(value) for value in values]
    text = "".join(parts)
    if len(text) > _SHORT:
        _check_length(text)
    return text


def _check_length(text: str) -> None:
    from optimize_eval.templates.environment import MOST, too_long  # noqa: PLC0415  few texts are long

    if len(text.encode(errors="replace")) > MOST:
        raise too_long()
