"""Templates as Jinja reads them: what they take from outside, and whether they may be rendered here.

A template says what it does before it is compiled, which would already work out its constants. Loops,
assignments, calls, arguments of filters and whatever takes a width, compares each with each or repeats a
text may take any time: such a template is rendered by the host. So is one that does many things, each of
which may go through a whole field or copy it. What grows (as JSON in JSON does) may be done three times.

Names are found without Jinja's own way, which would work out constants as well. What a loop sets is gone
after it; within one scope the order does not matter here: a name that is set further down is taken for its
own.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any

from jinja2 import nodes
from jinja2.nodes import Call, Const, Getattr, Getitem, Name, Node, Output, TemplateData
from jinja2.nodes import Template as Tree

from optimize_eval.base.documents import JsonMapping
from optimize_eval.tasks.templates import hosted
from optimize_eval.tasks.templates.environment import (
    MOST,
    Environment,
    check_known,
    compiled,
    fault_of,
    made,
    parsed,
    rendered,
    text_of,
    too_long,
)
from optimize_eval.tasks.templates.fault import TemplateFault

_Path = tuple[str, ...]  # a field's name, and those within it
_Render = Callable[[JsonMapping], str]

_SHORT = 1 << 18  # letters that cannot be more bytes than a text may have


def parse(text: str, *, of_task: bool) -> tuple[dict[str, int], _Render, bool, bool]:
    """Parse a text with braces into what a Template has, or raise TemplateFault."""
    environment = _environment(of_task=of_task)
    tree = parsed(environment, text)
    check_known(tree, environment)
    lines = _lines(tree)
    if (pieces := _pieces(tree)) is not None:
        return lines, partial(_join, pieces, of_task=of_task), True, True
    if is_bounded(tree):
        return lines, partial(rendered, compiled(environment, tree)), True, False
    return lines, lambda fields: hosted.render(text, fields, lines, of_task=of_task), False, False


@cache
def _environment(*, of_task: bool = False) -> Environment:
    return made(of_task=of_task)


def _lines(tree: Tree) -> dict[str, int]:
    """Find what a template takes from outside; functions that are only called are Jinja's."""
    functions = _environment().globals
    called = {node.node for node in tree.find_all(Call)}
    lines: dict[str, int] = {}
    for node in names_outside(tree):
        if node.name not in functions or node not in called:
            lines.setdefault(node.name, node.lineno)
    return lines


def places_of(text: str, name: str) -> list[tuple[_Path, int]]:
    """List what a text names within a field, each with its line."""
    found = _environment().parse(text).find_all((Getattr, Getitem))
    paths = [(path, node.lineno) for node in found if (path := _path_of(node)) and path[0] == name]
    return [(path[1:], line) for path, line in paths if len(path) > 1]


def is_one_expression(text: str) -> bool:
    """Return True for braces around one expression."""
    tree = parsed(made(), text)
    inner = tree.body[0].nodes if len(tree.body) == 1 and isinstance(tree.body[0], Output) else []
    return len(inner) == 1 and not isinstance(inner[0], TemplateData)


def _path_of(node: object) -> tuple[str, ...]:
    """Give the names on the way to a value, none where one of them is computed."""
    match node:
        case Name(name=name):
            return (name,)
        case Getattr(node=within, attr=name) | Getitem(node=within, arg=Const(value=str() as name)):
            within_path = _path_of(within)
            return (*within_path, name) if within_path else ()
    return ()


def _pieces(tree: Tree) -> tuple[Sequence[str], Sequence[_Path]] | None:
    """Take texts and names apart: texts stand around the names; None where there is more than these."""
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


def _path(node: Node) -> _Path | None:
    """Give the names of {{ a }} and {{ a.b.c }}."""
    inner: list[str] = []
    while isinstance(node, Getattr):
        inner.append(node.attr)
        node = node.node
    return (node.name, *inner[::-1]) if isinstance(node, Name) else None


def _join(pieces: tuple[Sequence[str], Sequence[_Path]], fields: JsonMapping, *, of_task: bool) -> str:
    """Put values between texts; most are texts themselves."""
    texts, paths = pieces
    parts = [*texts, *texts][: 2 * len(texts) - 1]
    parts[::2] = texts
    values = [_value(path, fields) for path in paths]
    parts[1::2] = [value if type(value) is str else _write(value, of_task=of_task) for value in values]
    text = "".join(parts)
    if len(text) > _SHORT:
        _check_length(text)
    return text


def _value(path: _Path, fields: JsonMapping) -> Any:
    """Follow a path; what is not a key of a dictionary is Jinja's to find, or to miss."""
    try:
        value = fields[path[0]]
    except KeyError:
        raise TemplateFault(f"there is no field {path[0]!r}", name=path[0], is_missing=True) from None
    for name in path[1:]:
        value = value[name] if type(value) is dict and name in value else _environment().getattr(value, name)
    return value


def _write(value: object, *, of_task: bool) -> str:
    """Write a value that is not a text."""
    try:
        return text_of(value, of_task=of_task)
    except Exception as error:  # noqa: BLE001  values are foreign
        raise fault_of(error) from None


def _check_length(text: str) -> None:
    if len(text.encode(errors="replace")) > MOST:
        raise too_long()


_NODES = frozenset(
    {
        *("Template", "Output", "TemplateData", "Name", "Const", "Getattr", "Getitem", "Slice"),
        *("List", "Dict", "Pair", "Keyword", "If", "CondExpr", "Compare", "Operand"),
        *("And", "Or", "Not", "Neg", "Pos", "Add", "Sub", "Div", "FloorDiv", "Concat", "Filter", "Test"),
    }
)
_FILTERS = frozenset(
    {
        *("abs", "capitalize", "count", "first", "float", "int", "last", "length", "lower", "reverse"),
        *("round", "string", "sum", "trim", "upper"),
    }
)
_MERGE = "merge"  # which copies each of its arguments
_WITH_ARGUMENTS = frozenset({"d", "default", _MERGE})  # other arguments are only passed on
_GROWING = frozenset({"e", "escape", "fromjson", "json", "json_escape", "tojson"})
_CALLS = frozenset({"get_last_assistant_text", "get_last_user_text"})  # of a trace
_TESTS = frozenset(
    {
        *("boolean", "defined", "eq", "equalto", "even", "false", "ge", "gt", "in", "integer", "float"),
        *("iterable", "le", "lower", "lt", "mapping", "ne", "none", "number", "odd", "sequence", "string"),
        *("true", "undefined", "upper", "==", "!=", ">", ">=", "<", "<="),
    }
)
_MOST_GROWING = 3
_MOST_WORK, _WORK_OF_GROWING = 20, 5
_LARGEST_FACTOR, _LARGEST_EXPONENT = 1_000_000, 16
_LARGEST_PRECISION = 20
_LARGEST_NUMBER = 1 << 64
_MOST_NODES = 10_000


def is_bounded(tree: nodes.Template) -> bool:
    """Return True if nothing in a parsed template can take long or grow large."""
    every = [tree, *tree.find_all(nodes.Node)]
    growing = sum(isinstance(node, nodes.Filter) and node.name in _GROWING for node in every)
    return (
        len(every) <= _MOST_NODES
        and growing <= _MOST_GROWING
        and sum(map(_work, every)) <= _MOST_WORK
        and all(map(_is_bounded, every))
    )


def _work(node: nodes.Node) -> int:
    """Count how often a node may go through a field, or copy one."""
    match node:
        case nodes.Filter(name=name) if name in _GROWING:
            return _WORK_OF_GROWING
        case nodes.Filter(name=name, args=args) if name == _MERGE:
            return 1 + len(args)
        case nodes.Add() | nodes.Filter() | nodes.Test() | nodes.Operand() | nodes.Slice() | nodes.Pair():
            return 1
        case nodes.Concat(nodes=parts) | nodes.List(items=parts):
            return sum(not isinstance(part, nodes.Const) for part in parts)
    return 0


def _is_bounded(node: nodes.Node) -> bool:
    match node:
        case nodes.Name():
            return node.ctx == "load"
        case nodes.Const():
            return not isinstance(node.value, int) or abs(node.value) <= _LARGEST_NUMBER
        case nodes.Filter() | nodes.Call():
            return _is_bounded_filter(node) if isinstance(node, nodes.Filter) else _is_bounded_call(node)
        case nodes.Test():
            return node.name in _TESTS
        case nodes.Mul() | nodes.Pow():
            most = _LARGEST_FACTOR if isinstance(node, nodes.Mul) else _LARGEST_EXPONENT
            return _is_small(node.left, _LARGEST_FACTOR) and _is_small(node.right, most)
    return type(node).__name__ in _NODES


def _is_bounded_filter(node: nodes.Filter) -> bool:
    arguments = [*node.args, *[kwarg.value for kwarg in node.kwargs], node.dyn_args, node.dyn_kwargs]
    given = [argument for argument in arguments if argument is not None]
    if node.name == _MERGE and len(given) > len(node.args):
        return False
    if node.name in _WITH_ARGUMENTS or not given:
        return node.name in _FILTERS | _GROWING | _WITH_ARGUMENTS
    return node.name == "round" and all(
        _is_small(entry, _LARGEST_PRECISION) or _is_text(entry) for entry in given
    )


def _is_bounded_call(node: nodes.Call) -> bool:
    has_arguments = bool(node.args or node.kwargs or node.dyn_args or node.dyn_kwargs)
    return isinstance(node.node, nodes.Getattr) and node.node.attr in _CALLS and not has_arguments


def _is_text(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Const) and isinstance(node.value, str)


def _is_small(node: nodes.Node, most: int) -> bool:
    if not isinstance(node, nodes.Const) or isinstance(node.value, bool):
        return False
    return isinstance(node.value, int | float) and abs(node.value) <= most


_Names = frozenset[str]

_LOOP: _Names = frozenset({"loop"})
_OF_MACROS: _Names = frozenset({"caller", "kwargs", "varargs"})
_SCOPES = (nodes.For, nodes.With, nodes.Macro, nodes.CallBlock, nodes.FilterBlock, nodes.Scope)


def names_outside(tree: Node) -> Iterator[Name]:
    """Give each place that names what is not the template's own."""
    macros = any(True for _ in tree.find_all(nodes.Macro))
    return _in_scope(tree.iter_child_nodes(), _LOOP | _OF_MACROS if macros else _LOOP)


def _in_scope(inner: Iterable[Node], known: _Names) -> Iterator[Name]:
    every = list(inner)
    known |= frozenset(name for node in every for name in _own(node))
    for node in every:
        yield from _in(node, known)


def _in(node: Node, known: _Names) -> Iterator[Name]:
    match node:
        case Name(name=name, ctx="load"):
            if name not in known:
                yield node
        case nodes.For(target=target, iter=values, body=body, else_=otherwise, test=test):
            yield from _in(values, known)
            yield from _in_scope([target, *body, *filter(None, [test])], known)
            yield from _in_scope(otherwise, known)
        case nodes.CallBlock(call=call, args=args, defaults=defaults, body=body):
            yield from _in(call, known)
            yield from _in_scope([*args, *defaults, *body], known)
        case nodes.AssignBlock(filter=applied, body=body):
            yield from _in_scope([*body, *filter(None, [applied])], known)
        case _ if isinstance(node, _SCOPES):
            yield from _in_scope(node.iter_child_nodes(), known)
        case _:
            for child in node.iter_child_nodes():
                yield from _in(child, known)


def _own(node: Node) -> Iterator[str]:
    """Give the names that are set in this scope, not within a scope of its own."""
    match node:
        case Name(name=name, ctx="store" | "param"):
            yield name
        case nodes.Macro(name=name):
            yield name
        case nodes.AssignBlock(target=target):
            yield from _own(target)
        case _ if not isinstance(node, _SCOPES):
            for child in node.iter_child_nodes():
                yield from _own(child)
