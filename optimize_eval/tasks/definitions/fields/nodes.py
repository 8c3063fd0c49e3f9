"""Values of a YAML file with their places, and where in a file a key path is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from optimize_eval.base.frozen import frozen


class Kind(StrEnum):
    """What a value is."""

    TEXT = "a text"
    NUMBER = "a number"
    BOOLEAN = "true or false"
    NULL = "empty"
    LIST = "a list"
    MAPPING = "a mapping"
    DATE = "a date"
    SIXTIES = "a number that is counted in sixties"
    UNKNOWN = "a parameter without a value"


@frozen
class Mark:
    """A place in a file, counted from 1."""

    path: str
    line: int | None = None
    column: int | None = None


@dataclass(slots=True)
class Node:
    """One value: `value` of a mapping is entries by key, of a list nodes, else the value itself."""

    kind: Kind
    value: Any
    mark: Mark
    raw: str = ""  # as it is written
    is_plain: bool = False  # without quotes
    first: Mark | None = None  # of a text whose lines are those of a file: its first
    is_partial: bool = False  # a parameter without a value is within
    is_short: bool = False  # what it refers to could not be read
    size: int = 1  # of all that is in it
    depth: int = 1

    def at(self, line: int | None) -> Mark:
        """Find where a line of a text stands."""
        if self.first is None or self.first.line is None or line is None:
            return self.mark
        return Mark(path=self.first.path, line=self.first.line + line - 1, column=self.first.column)


@dataclass(slots=True)
class Entry:
    """A key's place, and its value."""

    mark: Mark
    node: Node


@frozen
class Spot:
    """A value where it stands in the task."""

    node: Node
    path: str = ""
    key: Mark | None = None  # where its key stands

    @property
    def mark(self) -> Mark:
        return self.node.mark

    def of(self, name: str) -> str:
        """Write the path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def child(self, name: str) -> "Spot | None":
        entries = self.entries
        if name not in entries:
            return None
        return Spot(node=entries[name].node, path=self.of(name), key=entries[name].mark)

    @property
    def entries(self) -> Mapping[str, Entry]:
        return self.node.value if self.node.kind is Kind.MAPPING else {}

    def children(self) -> "Iterator[Spot]":
        for name in self.entries:
            child = self.child(name)
            if child:
                yield child

    def items(self) -> "Sequence[Spot]":
        if self.node.kind is not Kind.LIST:
            return []
        return [
            Spot(node=node, path=f"{self.path}[{number}]", key=node.mark)
            for number, node in enumerate(self.node.value)
        ]


def texts_of(spot: Spot) -> Iterator[Spot]:
    """Find all texts within."""
    if spot.node.kind is Kind.TEXT:
        yield spot
    for child in (*spot.children(), *spot.items()):
        yield from texts_of(child)


def plain(node: Node) -> Any:
    """Make a value without places, as JSON has them."""
    if node.kind is Kind.MAPPING:
        return {name: plain(entry.node) for name, entry in node.value.items()}
    if node.kind is Kind.LIST:
        return [plain(one) for one in node.value]
    return node.value


def node_of(value: Any, mark: Mark) -> Node:
    """Make a node of a value that stands in the place of a text."""
    held: Any = value
    match value:
        case None:
            kind = Kind.NULL
        case bool():
            kind = Kind.BOOLEAN
        case int() | float():
            kind = Kind.NUMBER
        case list() | tuple():
            kind, held = Kind.LIST, [node_of(one, mark) for one in value]
        case dict():
            kind = Kind.MAPPING
            held = {name: Entry(mark, node_of(one, mark)) for name, one in value.items()}
        case _:
            kind, held = Kind.TEXT, str(value)
    return Node(kind, held, mark, raw=str(value))
