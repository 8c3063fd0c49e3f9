"""Jinja as templates are rendered by it: sandboxed, strict, with our filters, and its errors in our words.

Values are as JSON writes them; in texts of tasks as Jinja itself does, which is as Python writes them. Both
sides use it: our own process for what `parsing` lets through, the host for all else.
"""

import json
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import partial
from itertools import islice
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, nodes
from jinja2.nodes import If, Node
from jinja2.nodes import Template as Tree
from jinja2.sandbox import SandboxedEnvironment
from jinja2.utils import missing

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.tasks.templates.fault import TemplateFault
from optimize_eval.tasks.templates.hosted import ModelOutput, written


def fromjson(text: str) -> Any:
    return json.loads(text)


def json_escape(text: object) -> str:
    """Write a text as JSON does, without its quotes."""
    return json.dumps(str(text), ensure_ascii=False)[1:-1]


def zipped(first: Iterable[Any], *others: Iterable[Any]) -> list[list[Any]]:
    return [list(row) for row in zip(first, *others, strict=False)]


def merge(first: JsonMapping, *others: JsonMapping) -> JsonDict:
    """Put objects together; of a key in several, the last one counts."""
    merged = dict(first)
    for other in others:
        merged.update(other)
    return merged


def regex_replace(
    text: object, pattern: str, by: str = "", count: int = 0, *, ignorecase: bool = False
) -> str:
    return re.sub(pattern, by, str(text), count=count, flags=re.IGNORECASE if ignorecase else 0)


FILTERS = {
    "fromjson": fromjson,
    "json_escape": json_escape,
    "zip": zipped,
    "merge": merge,
    "regex_replace": regex_replace,
}


MOST = 1 << 20  # bytes of a rendered text

_FUNCTIONS = ("cycler", "dict", "joiner", "namespace", "range")
_DEEPEST = 100  # Python's compiler, too, takes few brackets in brackets, and long for them
_MOST_NODES = 20_000
_MOST_BRANCHES = 2_000  # of {% elif %}: from 2,960 on it depends on the version of Python whether it compiles
_MOST_NAMED, _LONGEST_NAME = 8, 40


class _Missing(StrictUndefined):
    """A field that is not there: any use of it but `is defined` and `default` is a fault."""

    def __init__(
        self, hint: str | None = None, obj: object = missing, name: object = None, exc: object = None
    ) -> None:
        del exc
        super().__init__(hint, obj, name, partial(_fault_of, obj, name))  # type: ignore[arg-type]


def _fault_of(owner: object, name: object, _message: str) -> TemplateFault:
    if owner is missing:
        return TemplateFault(f"there is no field {name!r}", name=str(name), is_missing=True)
    there = f"an object; {_fields_of(owner)}" if isinstance(owner, dict) else f"a {type(owner).__name__}"
    return TemplateFault(f"there is no {name!r} in {there}", is_missing=True)


def _fields_of(owner: dict[Any, Any]) -> str:
    """Name the fields that there are, of many the first."""
    names = [str(name)[:_LONGEST_NAME] for name in islice(owner, _MOST_NAMED)]
    more = ["…"] * (len(owner) > _MOST_NAMED)
    return f"it has {', '.join([*names, *more])}" if names else "it is empty"


class Environment(SandboxedEnvironment):
    """A dictionary's keys come before its methods: {{user.items}} is a field. So do those of a reply."""

    def getattr(self, obj: object, attribute: str) -> Any:
        fields = obj.completion if isinstance(obj, ModelOutput) else obj
        if isinstance(fields, dict) and attribute in fields:
            return fields[attribute]
        return super().getattr(obj, attribute)

    def getitem(self, obj: object, argument: object) -> Any:
        fields = obj.completion if isinstance(obj, ModelOutput) and isinstance(argument, str) else obj
        return super().getitem(fields, argument)


def made(*, of_task: bool = False) -> Environment:
    """Make the environment; a few functions are all that there is besides fields."""
    environment = Environment(
        undefined=_Missing,
        finalize=partial(_write, of_task=of_task),
        keep_trailing_newline=True,
        autoescape=False,
        extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"],
    )
    environment.globals = {name: environment.globals[name] for name in _FUNCTIONS}
    environment.filters |= FILTERS
    environment.filters["tojson"] = environment.filters["json"] = _json
    return environment


def parsed(environment: Environment, text: str) -> Tree:
    """Parse a template, or raise TemplateFault with its line; what is too deep is refused uncompiled."""
    try:
        tree = environment.parse(text)
    except TemplateSyntaxError as error:
        raise TemplateFault(_plain(error.message or "it cannot be parsed"), line=error.lineno) from None
    except RecursionError:
        raise _too_deep() from None
    except (MemoryError, ValueError) as error:  # a number that is too long
        raise TemplateFault(_words_of(error)) from None
    _check_size(tree)
    return tree


def _check_size(tree: Tree) -> None:
    """Go through a tree level by level: nothing that calls itself may touch it before."""
    level: list[Node] = [tree]
    deep = many = branches = 0
    while level:
        deep, many = deep + 1, many + len(level)
        branches += sum(len(node.elif_) for node in level if isinstance(node, If))
        if deep > _DEEPEST or branches > _MOST_BRANCHES:
            raise _too_deep(level[0].lineno)
        if many > _MOST_NODES:
            raise TemplateFault(f"it has more than {_MOST_NODES:,} parts")
        level = [child for node in level for child in node.iter_child_nodes()]


def compiled(environment: Environment, tree: Tree) -> Template:
    """Compile a template, or raise TemplateFault: constants are worked out here, by what may fail."""
    try:
        return environment.from_string(tree)
    except TemplateFault:
        raise
    except (RecursionError, SyntaxError):  # of Python's compiler
        raise _too_deep() from None
    except Exception as error:  # noqa: BLE001  any operation on constants
        raise TemplateFault(_words_of(error)) from None


def rendered(template: Template, fields: JsonMapping) -> str:
    """Render within the bound, or raise TemplateFault."""
    try:
        return "".join(_bound_length(template.generate(dict(fields))))
    except Exception as error:  # noqa: BLE001  any operation on foreign values
        raise fault_of(error) from None


def fault_of(error: Exception) -> TemplateFault:
    """Say in a fault's words what went wrong with foreign values."""
    if isinstance(error, TemplateFault):
        return error
    return _too_deep() if isinstance(error, RecursionError) else TemplateFault(_words_of(error))


def _bound_length(chunks: Iterator[str]) -> Iterator[str]:
    room = MOST
    for chunk in chunks:
        room -= len(chunk) if chunk.isascii() else len(chunk.encode(errors="replace"))
        if room < 0:
            raise too_long()
        yield chunk


def _too_deep(line: int | None = None) -> TemplateFault:
    return TemplateFault("it is nested too deeply, or has too many operations in a row", line=line)


def _words_of(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "it takes more memory than it may have"
    return f"{type(error).__name__}: {error}"


def too_long() -> TemplateFault:
    return TemplateFault("the text is longer than 1 MiB")


def _write(value: object, *, of_task: bool) -> Any:
    """Write a value, a text as it is."""
    if type(value) is str:
        return value
    return text_of(value, of_task=of_task)


def text_of(value: object, *, of_task: bool = False) -> str:
    """Write the value of a field: as JSON does, or in a task as Jinja does."""
    if isinstance(value, str):
        return value
    if isinstance(value, StrictUndefined):
        return str(value)  # raises
    if isinstance(said := written(value), str):
        return said
    if callable(value):
        raise TemplateFault("a function is not a value: call it, or name a field")
    in_json = _json(value)  # refuses what has an address in memory for a text
    return str(value) if of_task and said is None else in_json


def _json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, default=_list_value, indent=indent)


def _list_value(value: Any) -> Any:
    if (said := written(value)) is not None:
        return said
    if isinstance(value, StrictUndefined):
        str(value)  # raises
    raise TemplateFault(f"a {type(value).__name__} is not a value of JSON")


def _plain(message: str) -> str:
    return message[:1].lower() + message[1:].rstrip(".")


_LOADING = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)


def check_known(tree: nodes.Template, environment: Any) -> None:
    """Raise TemplateFault for the first name that means nothing."""
    for node in tree.find_all((nodes.Filter, nodes.Test, *_LOADING)):
        if not isinstance(node, nodes.Filter | nodes.Test):
            raise TemplateFault("a template takes nothing from other files", line=node.lineno)
        known = environment.filters if isinstance(node, nodes.Filter) else environment.tests
        if node.name not in known:
            what = "filter" if isinstance(node, nodes.Filter) else "test"
            close = get_close_matches(node.name, known, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise TemplateFault(f"there is no {what} {node.name!r}{hint}", line=node.lineno)
