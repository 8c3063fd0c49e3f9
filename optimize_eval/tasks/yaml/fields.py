"""What a field may be, and what has fields: each kind reads a value or says what is wrong with it.

A table says of each field its name, what it may be, whether it has to be there, and what holds without it.
Null stands for a field that is not there where that is None.
"""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.frozen import frozen
from optimize_eval.tasks.yaml_problems import (
    NOT_KNOWN,
    Context,
    Kind,
    Node,
    NotKnown,
    Rule,
    Spot,
    meant,
    plain,
)

Values = JsonMapping

KEY_PATTERN = re.compile(r"[a-zA-Z0-9_\-]+")
LONGEST_KEY = 250

_SHOWN = 60
_EXPONENT = re.compile(r"([-+]?)(\d++)\.?(\d*+)[eE]([-+]?)(\d+)")  # which YAML 1.1 takes for a text
_WANTED = {
    "a text": Kind.TEXT,
    "a list": Kind.LIST,
    "true or false": Kind.BOOLEAN,
    "a number": Kind.NUMBER,
    "a whole number": Kind.NUMBER,
}
_UNQUOTED = frozenset({Kind.BOOLEAN, Kind.NUMBER, Kind.DATE, Kind.SIXTIES})
_TEXTS_ELSEWHERE = frozenset({Kind.DATE, Kind.SIXTIES})  # nothing here takes them for what they are
_SCALARS = frozenset({Kind.TEXT, Kind.NUMBER, Kind.BOOLEAN})
_FOREIGN_WORDS = frozenset({"yes", "no", "on", "off", "y", "n"})  # which YAML 1.1 makes booleans


class What(Protocol):
    """What a field may be."""

    def read(self, spot: Spot, context: Context) -> Any:
        """Give the value, or NOT_KNOWN where it is wrong or has yet to be put in."""
        ...


@frozen
class Text:
    """A text."""

    least: int = 0  # characters, blanks around them aside

    def read(self, spot: Spot, context: Context) -> str | NotKnown:
        text = text_of(spot, context)
        if isinstance(text, str) and len(text.strip()) < self.least:
            context.wrong(Rule.BAD_VALUE, spot.path, spot.mark, "must not be empty")
            return NOT_KNOWN
        return text


@frozen
class Column:
    """The name of a column; without one that is needed, each sample fails."""

    is_needed: bool = False

    def read(self, spot: Spot, context: Context) -> str | NotKnown:
        name = Text(least=1).read(spot, context)
        if isinstance(name, str):
            context.names_column(name, spot.path, spot.mark, is_needed=self.is_needed)
        return name


@frozen
class Key:
    """A name of a task, a scorer, a parameter, a rule."""

    def read(self, spot: Spot, context: Context) -> str | NotKnown:
        text = text_of(spot, context)
        if not isinstance(text, str) or spot.node.is_partial:
            return NOT_KNOWN if spot.node.is_partial else text
        if not KEY_PATTERN.fullmatch(text) or len(text) > LONGEST_KEY:
            reason = f"must be 1 to {LONGEST_KEY} of a-z A-Z 0-9 _ -, this is {_quote(text)}"
            context.wrong(Rule.BAD_VALUE, spot.path, spot.mark, reason)
            return NOT_KNOWN
        return text


@frozen
class OneOf:
    """One of these texts."""

    choices: Sequence[str]

    def read(self, spot: Spot, context: Context) -> str | NotKnown:
        text = text_of(spot, context)
        if not isinstance(text, str) or spot.node.is_partial:
            return NOT_KNOWN
        if text not in self.choices:
            reason = f"must be one of {', '.join(self.choices)}; this is {_quote(text)}"
            close = meant(text, self.choices)
            more = close if close.startswith(" (did") else ""
            context.wrong(Rule.BAD_VALUE, spot.path, spot.mark, f"{reason}{more}")
            return NOT_KNOWN
        return text


@frozen
class Boolean:
    """True or false."""

    def read(self, spot: Spot, context: Context) -> bool | NotKnown:
        if spot.node.kind is not Kind.BOOLEAN:
            return bad_type(spot, context, "true or false")
        return bool(spot.node.value)


@frozen
class Number:
    """A finite number."""

    is_whole: bool = False
    least: float | None = None

    def read(self, spot: Spot, context: Context) -> float | NotKnown:
        what = "a whole number" if self.is_whole else "a number"
        value = spot.node.value
        if spot.node.kind is not Kind.NUMBER or (self.is_whole and not isinstance(value, int)):
            return bad_type(spot, context, what)
        if self.least is not None and value < self.least:
            reason = f"must be {what} from {self.least:g}, this is {spot.node.raw}"
            context.wrong(Rule.BAD_VALUE, spot.path, spot.mark, reason)
            return NOT_KNOWN
        return value  # type: ignore[no-any-return]


@frozen
class Scalar:
    """A text, a number, true or false."""

    def read(self, spot: Spot, context: Context) -> Any:
        node = spot.node
        if node.kind in _SCALARS and not _is_foreign(node):
            return NOT_KNOWN if node.is_partial else node.value
        return bad_type(spot, context, "a text, a number, true or false")


@frozen
class ListOf:
    """A list of values of one kind."""

    what: What
    least: int = 0

    def read(self, spot: Spot, context: Context) -> Any:
        if spot.node.kind is not Kind.LIST:
            return bad_type(spot, context, "a list")
        if len(spot.node.value) < self.least:
            context.wrong(Rule.BAD_VALUE, spot.path, spot.mark, "must not be empty")
            return NOT_KNOWN
        return [self.what.read(item, context) for item in spot.items()]


@frozen
class Json:
    """Anything that JSON has."""

    def read(self, spot: Spot, context: Context) -> Any:
        before = len(context.problems)
        _check_json(spot, context)
        return plain(spot.node) if len(context.problems) == before else NOT_KNOWN


@frozen
class Choice:
    """One kind for texts, another for all else."""

    text: What
    other: What

    def read(self, spot: Spot, context: Context) -> Any:
        node = spot.node
        is_text = node.kind is Kind.TEXT or (node.kind is Kind.UNKNOWN and Kind.TEXT in node.value)
        return (self.text if is_text else self.other).read(spot, context)


def _check_json(spot: Spot, context: Context) -> None:
    if spot.node.kind in _TEXTS_ELSEWHERE or _is_foreign(spot.node):
        bad_type(spot, context, "JSON")
    for entry in (*spot.children(), *spot.items()):
        _check_json(entry, context)


def text_of(spot: Spot, context: Context) -> str | NotKnown:
    """Read a text; one in which a parameter has no value has a name in its place."""
    if spot.node.kind is Kind.TEXT:
        return str(spot.node.value)
    return bad_type(spot, context, "a text")


def bad_type(spot: Spot, context: Context, what: str) -> NotKnown:
    """Tell what a value is, unless it has yet to come, or that it is wrong is told already."""
    if spot.node.kind is Kind.UNKNOWN:
        _check_what_comes(spot, context, what)
    else:
        reason = f"must be {what}, this is {_describe(spot.node, what)}"
        context.wrong(Rule.BAD_TYPE, spot.path, spot.mark, reason)
    return NOT_KNOWN


def _check_what_comes(spot: Spot, context: Context, what: str) -> None:
    """Check whether a parameter without a value can have one that fits."""
    wanted = _WANTED.get(what)
    if wanted and spot.node.value and wanted not in spot.node.value:
        comes = " or ".join(sorted(spot.node.value))
        reason = f"must be {what}, and what the parameter will be is {comes}"
        context.wrong(Rule.BAD_TYPE, spot.path, spot.mark, reason)


def _describe(node: Node, wanted: str) -> str:
    """Say what a value is, and how it is written if it is meant as a text."""
    is_meant_as_text = node.is_plain and (node.kind in _TEXTS_ELSEWHERE or "text" in wanted)
    if _is_foreign(node) or (node.kind in _UNQUOTED and is_meant_as_text):
        return f"{node.kind} in YAML: quote it: {_quote(node.raw)}"
    if node.kind is Kind.TEXT:
        return f"the text {_quote(node.raw)}{_as_number(node) if 'number' in wanted else ''}"
    return node.raw if node.kind is Kind.NUMBER and "whole" in wanted else str(node.kind)


def _as_number(node: Node) -> str:
    found = _EXPONENT.fullmatch(node.value) if node.is_plain and len(node.value) < _SHOWN else None
    if not found:
        return ""
    sign, whole, part, sign_of_exponent, exponent = found.groups()
    return f" in YAML: write {sign}{whole}.{part or 0}e{sign_of_exponent or '+'}{exponent}"


def _is_foreign(node: Node) -> bool:
    return node.kind is Kind.BOOLEAN and node.is_plain and node.raw.lower() in _FOREIGN_WORDS


def _quote(text: str) -> str:
    cut = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return '"' + cut.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


REQUIRED = object()  # the default of what has to be there

Between = Callable[[JsonDict, Spot, Context], None]  # checks what fields have to do with each other


@frozen
class Field:
    """A field of an entity."""

    name: str
    what: What
    default: object = REQUIRED


def field(name: str, what: What, default: object = REQUIRED) -> Field:
    return Field(name=name, what=what, default=default)


@frozen
class Entity:
    """A mapping with these fields and no others."""

    noun: str
    fields: Sequence[Field]
    not_built: Sequence[str] = ()  # fields that are known elsewhere, and mean nothing here
    between: Sequence[Between] = ()

    def read(self, spot: Spot, context: Context) -> JsonDict | NotKnown:
        if spot.node.kind is not Kind.MAPPING:
            return bad_type(spot, context, f"{self.noun}: a mapping with {_list_names(self.fields)}")
        self._check_names(spot, context)
        values = {slot.name: _read(slot, spot, context) for slot in self.fields}
        for check in self.between:
            check(values, spot, context)
        return values

    def _check_names(self, spot: Spot, context: Context) -> None:
        names = [slot.name for slot in self.fields]
        for name, entry in spot.entries.items():
            if name in names:
                continue
            if name in self.not_built:
                reason = f"{name} is not supported"
                context.wrong(Rule.NOT_SUPPORTED, spot.of(name), entry.mark, reason)
            else:
                reason = f"{self.noun} has no such field{meant(name, names)}"
                context.wrong(Rule.UNKNOWN_FIELD, spot.of(name), entry.mark, reason)


@frozen
class ByType:
    """A mapping whose `type` says which entity it is."""

    noun: str
    entities: Mapping[str, Entity]
    not_built: Sequence[str] = ()
    default: str = ""  # the type of what has none
    other_names: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def read(self, spot: Spot, context: Context) -> JsonDict | NotKnown:
        if spot.node.kind is not Kind.MAPPING:
            return bad_type(spot, context, f"{self.noun}: a mapping with a type")
        name = self.type_of(spot, context)
        if isinstance(name, NotKnown):
            return NOT_KNOWN
        values = self.entities[name].read(spot, context)
        return values if isinstance(values, NotKnown) else {**values, "type": name}

    def type_of(self, spot: Spot, context: Context) -> str | NotKnown:
        child = spot.child("type")
        if child is None and self.default:
            return self.default
        if child is None and spot.node.is_short:
            return NOT_KNOWN
        if child is None:
            known = ", ".join(self.entities)
            reason = f"{self.noun} needs a type, one of {known}"
            context.wrong(Rule.MISSING_REQUIRED, spot.of("type"), spot.mark, reason)
            return NOT_KNOWN
        written = text_of(child, context)
        if isinstance(written, NotKnown) or child.node.is_partial:
            return NOT_KNOWN
        name = self.other_names.get(written, written)
        if name in self.entities:
            return name
        if name in self.not_built:
            context.wrong(
                Rule.NOT_SUPPORTED, child.path, child.mark, f"{self.noun} of type {name} is not supported"
            )
        else:
            noun = self.noun.partition(" ")[2]
            reason = f"there is no {noun} of type {written[:60]!r}{meant(written, list(self.entities))}"
            context.wrong(Rule.BAD_VALUE, child.path, child.mark, reason)
        return NOT_KNOWN


def type_field() -> Field:
    """Stand for `type` in a table: ByType reads it."""
    return Field(name="type", what=Anything(), default=None)


@frozen
class Anything:
    """What is read elsewhere."""

    def read(self, spot: Spot, context: Context) -> Any:  # noqa: ARG002  as all
        return NOT_KNOWN if spot.node.kind is Kind.UNKNOWN else spot.node.value


def _read(one: Field, spot: Spot, context: Context) -> Any:
    child = spot.child(one.name)
    if child is None or (child.node.kind is Kind.NULL and one.default is None):
        if one.default is not REQUIRED:
            return one.default
        if spot.node.is_short:
            return NOT_KNOWN
        context.wrong(Rule.MISSING_REQUIRED, spot.of(one.name), spot.mark, f"{one.name} is required")
        return NOT_KNOWN
    return one.what.read(child, context)


def _list_names(fields: Sequence[Field]) -> str:
    needed = [slot.name for slot in fields if slot.default is REQUIRED]
    return ", ".join(needed or [entry.name for entry in fields])
