"""What has fields: one table for each entity, and the one check that goes through all of them.

A table says of each field its name, what it may be, whether it has to be there, and what holds without it.
Null stands for a field that is not there where that is None.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from optimize_eval.base.frozen import frozen
from optimize_eval.tasks.definitions.fields.context import NOT_KNOWN, Context, NotKnown, Rule, meant
from optimize_eval.tasks.definitions.fields.nodes import Kind, Spot
from optimize_eval.tasks.definitions.fields.values import What, bad_type, text_of

REQUIRED = object()  # the default of what has to be there

Between = Callable[[dict[str, Any], Spot, Context], None]  # checks what fields have to do with each other


@frozen
class Field:
    """A field of an entity."""

    name: str
    what: What
    default: Any = REQUIRED


def field(name: str, what: What, default: Any = REQUIRED) -> Field:
    return Field(name=name, what=what, default=default)


@frozen
class Entity:
    """A mapping with these fields and no others."""

    noun: str
    fields: Sequence[Field]
    not_built: Sequence[str] = ()  # fields that are known elsewhere, and mean nothing here
    between: Sequence[Between] = ()

    def read(self, spot: Spot, context: Context) -> dict[str, Any] | NotKnown:
        if spot.node.kind is not Kind.MAPPING:
            return bad_type(spot, context, f"{self.noun}: a mapping with {_listed(self.fields)}")
        self._check_names(spot, context)
        values = {one.name: _read(one, spot, context) for one in self.fields}
        for check in self.between:
            check(values, spot, context)
        return values

    def _check_names(self, spot: Spot, context: Context) -> None:
        names = [one.name for one in self.fields]
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

    def read(self, spot: Spot, context: Context) -> dict[str, Any] | NotKnown:
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


def _listed(fields: Sequence[Field]) -> str:
    needed = [one.name for one in fields if one.default is REQUIRED]
    return ", ".join(needed or [one.name for one in fields])
