"""`<< config.NAME >>` in every text: the parameter's value, with its own type where that is the whole text.

A parameter without a value makes a text that is nothing else unknown, and leaves a name in any other, so that
all that does not depend on it can be checked.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from optimize_eval.tasks.definitions.fields.context import Context, NotKnown, Rule, meant
from optimize_eval.tasks.definitions.fields.nodes import Entry, Kind, Node, Spot, node_of
from optimize_eval.tasks.definitions.read.unfinished import TODO

_HOLE = re.compile(r"<<[ \t]*+([A-Za-z_](?:[^<>\n \t]|[ \t]++(?!>>))*+)[ \t]*+>>")
_CONFIG = re.compile(r"config\.([A-Za-z0-9_\-]+)")
_NAME = re.compile(r"[A-Za-z_]\w*([.\[].*)?")
_NAME_IN_CODE = re.compile(r"(config|secrets?|env)[.\[].*")  # a << b >> c is none
_NOT_IN_NAME = re.compile(r"\W")


def placeholder(name: str) -> str:
    """Make the name that stands for a parameter without a value: a word in templates, code and texts."""
    return f"config_{_NOT_IN_NAME.sub('_', name)}"


def substituted(spot: Spot, values: Mapping[str, Any], context: Context) -> Node:
    """Put values into all texts within; NOT_KNOWN among them are those that have yet to come."""
    node = spot.node
    if node.kind is Kind.TEXT:
        if TODO in node.value:
            return Node(Kind.UNKNOWN, (), node.mark)  # that is told, and enough
        return _text(spot, values, context) if "<<" in node.value else node
    if node.kind is Kind.LIST:
        return _like(node, [substituted(one, values, context) for one in spot.items()])
    if node.kind is Kind.MAPPING:
        entries = {
            name: Entry(entry.mark, substituted(Spot(node=entry.node, path=spot.of(name)), values, context))
            for name, entry in node.value.items()
        }
        return _like(node, entries)
    return node


def _like(node: Node, value: Any) -> Node:
    return Node(node.kind, value, node.mark, is_short=node.is_short)


def _text(spot: Spot, values: Mapping[str, Any], context: Context) -> Node:
    node = spot.node
    is_code = spot.path.endswith("_snippet")
    whole = _HOLE.fullmatch(node.value)
    if whole and _NAME.fullmatch(whole[1]):
        name = _named(whole, spot, values, context)
        return _whole(spot, values[name], context) if name else Node(Kind.UNKNOWN, (), node.mark)
    return _filled(spot, _filler(spot, values, context, is_code=is_code))


def _whole(spot: Spot, value: Any, context: Context) -> Node:
    mark = spot.mark
    if isinstance(value, NotKnown):
        return Node(Kind.UNKNOWN, value.may_be, mark)
    if isinstance(value, list) and not _has_room(str(value), spot, context):
        return Node(Kind.UNKNOWN, (), mark)
    return node_of(value, mark)


def _has_room(text: str, spot: Spot, context: Context) -> bool:
    """Count what parameters put in, of which few letters can make very many."""
    had_any = context.room >= 0
    context.room -= len(text)
    if had_any and context.room < 0:
        context.wrong(Rule.BAD_TEMPLATE, spot.path, spot.mark, "parameters put more than 1 MiB into the task")
    return context.room >= 0


def _filled(spot: Spot, filler: "_Filler") -> Node:
    node = spot.node
    text = _HOLE.sub(filler, node.value)
    if filler.is_wrong:
        return Node(Kind.UNKNOWN, (), node.mark)
    made = Node(Kind.TEXT, text, node.mark, raw=node.raw, is_plain=node.is_plain, first=node.first)
    made.is_partial = filler.is_partial
    return made


class _Filler:
    """Replaces what is found in one text."""

    def __init__(
        self,
        values: Mapping[str, Any],
        named: Callable[[re.Match[str]], str | None],
        has_room: Callable[[str], bool],
    ) -> None:
        self._values = values
        self._named = named
        self._has_room = has_room
        self.is_partial = self.is_wrong = False

    def __call__(self, found: re.Match[str]) -> str:
        name = None if self.is_wrong else self._named(found)  # the first problem of a text is enough
        if not name:
            self.is_wrong |= name is not None
            return found[0]
        value = self._values[name]
        if isinstance(value, NotKnown):
            self.is_partial = True
            return placeholder(name)
        text = str(value)
        self.is_wrong = not self._has_room(text)
        return text


def _filler(spot: Spot, values: Mapping[str, Any], context: Context, *, is_code: bool) -> _Filler:
    names = _NAME_IN_CODE if is_code else _NAME

    def named(found: re.Match[str]) -> str | None:
        if not names.fullmatch(found[1]):
            return None
        return _named(found, spot, values, context)

    return _Filler(values, named, lambda text: _has_room(text, spot, context))


def _named(hole: re.Match[str], spot: Spot, values: Mapping[str, Any], context: Context) -> str:
    """Find which parameter is meant; empty and a problem where none is."""
    found = _CONFIG.fullmatch(hole[1])
    name = found[1] if found else ""
    if name in values:
        return name
    if found:
        reason = f"there is no parameter {name!r} in config_spec{meant(name, list(values))}"
    else:
        reason = f"<< {hole[1][:60]} >> is not supported: << >> takes parameters, as in << config.NAME >>"
    line = hole.string.count("\n", 0, hole.start()) + 1
    context.wrong(Rule.BAD_TEMPLATE, spot.path, spot.node.at(line), reason)
    return ""
