"""A text with fields in it, parsed once: which it names, and what it is with an example's, in bounds.

A text without {{ or {% if %} is itself, and loads nothing. Names alone are put in as they are;
what may be computed is computed here where that is bounded, else by the host.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from optimize_eval.tasks.templates.fault import TemplateFault

if TYPE_CHECKING:
    from jinja2.nodes import Node
    from jinja2.nodes import Template as Tree

    from optimize_eval.tasks.templates.environment import Environment

_Path = tuple[str, ...]  # a field's name, and those within it

_OPENS = "{{"
_OPENS_CODE = re.compile(r"\{[{%]")
_OPENS_ANY = (_OPENS, "{%", "{#")
_BLOCK = re.compile(
    r"\{%[-+]?\s*(?:if|for|set|raw|with|macro|filter|do|call)\b"
)  # {% is in other languages, too
_LAST_NEWLINE = re.compile(r"(\r\n|\r|\n)\Z")
_MOST_CODE = 50_000  # letters between braces, which take Jinja more than half a second to read
_SHORT = 1 << 18  # letters that cannot be more bytes than a text may have


class Rendering(Protocol):
    """What puts fields into a template; raises TemplateFault."""

    def __call__(self, fields: Mapping[str, Any]) -> str: ...


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
    return _parsed(text) if is_template(text) else Template({}, lambda _fields: text)


def task_template_of(text: str) -> Template:
    """Parse a text of a task, which is a template where it has blocks or comments alone, too.

    As Jinja does, it drops one newline at the end: the one that `|` of YAML leaves there.
    """
    text = _LAST_NEWLINE.sub("", text)
    is_any = any(mark in text for mark in _OPENS_ANY)
    return _parsed(text, of_task=True) if is_any else Template({}, lambda _fields: text)


def _parsed(text: str, *, of_task: bool = False) -> Template:
    from optimize_eval.tasks.templates.bounded import is_bounded  # noqa: PLC0415  see above
    from optimize_eval.tasks.templates.environment import check_known, compiled, parsed, rendered  # noqa: PLC0415

    _check_code(text)
    environment = _environment(of_task=of_task)
    tree = parsed(environment, text)
    check_known(tree, environment)
    lines = _lines(tree)
    if (pieces := _pieces(tree)) is not None:
        return Template(lines, partial(_joined, pieces, of_task=of_task), is_names=True)
    if is_bounded(tree):
        return Template(lines, partial(rendered, compiled(environment, tree)))
    from optimize_eval.tasks.templates.hosted import render  # noqa: PLC0415  few templates have loops

    return Template(lines, lambda fields: render(text, fields, lines, of_task=of_task), is_bounded=False)


def code_length(text: str) -> int:
    """Count the letters between braces, which take Jinja long to read."""
    return sum(map(_code_of, _OPENS_CODE.split(text)[1:]))


def _code_of(part: str) -> int:
    """Count the letters before the braces that close."""
    ends = [end for end in (part.find("}}"), part.find("%}")) if end >= 0]
    return min(ends, default=len(part)) + len("{{}}")


def _check_code(text: str) -> None:
    if code_length(text) > _MOST_CODE:
        raise TemplateFault(f"it has more than {_MOST_CODE:,} letters between braces")


@cache
def _environment(*, of_task: bool = False) -> "Environment":
    from optimize_eval.tasks.templates.environment import made  # noqa: PLC0415  see above

    return made(of_task=of_task)


def _lines(tree: "Tree") -> dict[str, int]:
    """Find what a template takes from outside; functions that are only called are Jinja's."""
    from jinja2.nodes import Call  # noqa: PLC0415  see above

    from optimize_eval.tasks.templates.bounded import names_outside  # noqa: PLC0415

    functions = _environment().globals
    called = {node.node for node in tree.find_all(Call)}
    lines: dict[str, int] = {}
    for node in names_outside(tree):
        if node.name not in functions or node not in called:
            lines.setdefault(node.name, node.lineno)
    return lines


def paths_within(text: str, name: str) -> list[tuple[str, ...]]:
    """List what a text that can be parsed names within a field, as far as that is written out: a.b["c"]."""
    return [path for path, _ in places_within(text, name)]


def places_within(text: str, name: str) -> list[tuple[tuple[str, ...], int]]:
    """List the same, each with its line in the text."""
    from jinja2.nodes import Getattr, Getitem  # noqa: PLC0415  see above

    if name not in text or not any(mark in text for mark in _OPENS_ANY):
        return []
    found = _environment().parse(text).find_all((Getattr, Getitem))
    paths = [(path, node.lineno) for node in found if (path := _path_of(node)) and path[0] == name]
    return [(path[1:], line) for path, line in paths if len(path) > 1]


def _path_of(node: Any) -> tuple[str, ...]:
    """Give the names on the way to a value, none where one of them is computed."""
    from jinja2.nodes import Const, Getattr, Getitem, Name  # noqa: PLC0415  see above

    match node:
        case Name(name=name):
            return (name,)
        case Getattr(node=within, attr=name) | Getitem(node=within, arg=Const(value=str() as name)):
            within_path = _path_of(within)
            return (*within_path, name) if within_path else ()
    return ()


def _pieces(tree: "Tree") -> tuple[Sequence[str], Sequence[_Path]] | None:
    """Take texts and names apart: texts stand around the names; None where there is more than these."""
    from jinja2.nodes import Output, TemplateData  # noqa: PLC0415  see above

    texts, paths = [""], list[_Path]()
    for output in tree.body:
        for node in output.nodes if isinstance(output, Output) else (output,):
            if isinstance(node, TemplateData):
                texts[-1] += node.data
            elif path := _path(node):
                paths.append(path)
                texts.append("")
            else:
                return None
    return texts, paths


def _path(node: "Node") -> _Path | None:
    """Give the names of {{ a }} and {{ a.b.c }}."""
    from jinja2.nodes import Getattr, Name  # noqa: PLC0415  see above

    inner: list[str] = []
    while isinstance(node, Getattr):
        inner.append(node.attr)
        node = node.node
    return (node.name, *inner[::-1]) if isinstance(node, Name) else None


def _joined(
    pieces: tuple[Sequence[str], Sequence[_Path]], fields: Mapping[str, Any], *, of_task: bool
) -> str:
    """Put values between texts; most are texts themselves."""
    texts, paths = pieces
    parts = [*texts, *texts][: 2 * len(texts) - 1]
    parts[::2] = texts
    values = [_value(path, fields) for path in paths]
    parts[1::2] = [value if type(value) is str else _written(value, of_task=of_task) for value in values]
    text = "".join(parts)
    if len(text) > _SHORT:
        _check_length(text)
    return text


def _value(path: _Path, fields: Mapping[str, Any]) -> Any:
    """Follow a path; what is no key of a dictionary is Jinja's to find, or to miss."""
    try:
        value = fields[path[0]]
    except KeyError:
        raise TemplateFault(f"there is no field {path[0]!r}", name=path[0], is_missing=True) from None
    for name in path[1:]:
        value = value[name] if type(value) is dict and name in value else _environment().getattr(value, name)
    return value


def _written(value: Any, *, of_task: bool) -> str:
    """Write a value that is no text."""
    from optimize_eval.tasks.templates.environment import fault_of, text_of  # noqa: PLC0415  see above

    try:
        return text_of(value, of_task=of_task)
    except Exception as error:  # noqa: BLE001  values are foreign
        raise fault_of(error) from None


def _check_length(text: str) -> None:
    from optimize_eval.tasks.templates.environment import MOST, too_long  # noqa: PLC0415  few texts are long

    if len(text.encode(errors="replace")) > MOST:
        raise too_long()


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
    from optimize_eval.tasks.templates.environment import made, parsed  # noqa: PLC0415  see above

    if not _is_one_expression(parsed(made(), text)):
        return ""
    return text[3 if text[2] in _TRIMMING else 2 : -3 if text[-3] in _TRIMMING else -2]


def _is_one_expression(tree: "Tree") -> bool:
    from jinja2.nodes import Output, TemplateData  # noqa: PLC0415  see above

    nodes = tree.body[0].nodes if len(tree.body) == 1 and isinstance(tree.body[0], Output) else []
    return len(nodes) == 1 and not isinstance(nodes[0], TemplateData)
