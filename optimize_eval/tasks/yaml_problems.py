"""Where a value of a YAML file stands, what a check knows beside it, and where problems are put."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from typing import Any

from optimize_eval.base.checks import Keys
from optimize_eval.base.errors import ROOT, Problem
from optimize_eval.base.frozen import frozen
from optimize_eval.tasks.definition import NamedColumn


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
        return [plain(child) for child in node.value]
    return node.value


def node_of(value: object, mark: Mark) -> Node:
    """Make a node of a value that stands in the place of a text."""
    held: object = value
    match value:
        case None:
            kind = Kind.NULL
        case bool():
            kind = Kind.BOOLEAN
        case int() | float():
            kind = Kind.NUMBER
        case list() | tuple():
            kind, held = Kind.LIST, [node_of(entry, mark) for entry in value]
        case dict():
            kind = Kind.MAPPING
            held = {name: Entry(mark, node_of(item, mark)) for name, item in value.items()}
        case _:
            kind, held = Kind.TEXT, str(value)
    return Node(kind, held, mark, raw=str(value))


class Rule(StrEnum):
    """What a task file can break."""

    BAD_YAML = "bad_yaml"
    BAD_REFERENCE = "bad_reference"
    DUPLICATE_KEY = "duplicate_key"
    MISSING_REQUIRED = "missing_required"
    UNKNOWN_FIELD = "unknown_field"
    NOT_SUPPORTED = "not_supported"
    BAD_TYPE = "bad_type"
    BAD_VALUE = "bad_value"
    BAD_TEMPLATE = "bad_template"
    BAD_SNIPPET = "bad_snippet"
    UNFINISHED = "unfinished"


_SHOWN = 20


class NotKnown:
    """Stands for a value that is wrong, or that a parameter will have; what that may be, if known."""

    def __init__(self, may_be: Collection[Kind] = ()) -> None:
        self.may_be = may_be

    def __repr__(self) -> str:
        return "NOT_KNOWN"


NOT_KNOWN = NotKnown()


@dataclass(slots=True)
class Context:
    """The problems so far, and what of the task decides what a field may be."""

    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    has_output: bool = False  # a solver gives scorers something to score
    placeholders: Collection[str] = ()  # names that stand in templates for parameters without values
    room: int = 1 << 20  # letters that parameters may put in, all in all
    room_for_code: int = 50_000  # letters between braces, which templates may have, all in all
    columns: list[NamedColumn] = field(default_factory=list)
    evaluator_keys: Callable[[], Keys] | None = (
        None  # of a sweep file's [[evaluator]]; None: they are not checked
    )

    def wrong(self, rule: Rule, path: str, mark: Mark, reason: str) -> None:
        self.problems.append(_problem(rule, path, mark, reason))

    def names_placeholder(self, text: str) -> bool:
        """Return True if a text has a name that stands for a parameter without a value."""
        return any(name in text for name in self.placeholders)

    def names_column(self, name: str, path: str, mark: Mark, *, is_needed: bool) -> None:
        if not self.names_placeholder(name):
            place = _problem(Rule.BAD_TEMPLATE, path, mark, "")
            self.columns.append(NamedColumn(name=name, place=place, is_needed=is_needed))

    def note(self, path: str, mark: Mark, reason: str) -> None:
        self.notes.append(_problem("note", path, mark, reason))


def _problem(rule: str, path: str, mark: Mark, reason: str) -> Problem:
    return Problem(
        path=mark.path, rule=rule, reason=reason, line=mark.line, column=mark.column, field=path or ROOT
    )


def meant(name: str, known: Sequence[str]) -> str:
    """Ask for the nearest name, or list all that there are."""
    close = get_close_matches(name, known, n=1)
    if close:
        return f" (did you mean {close[0]!r}?)"
    listed = [*known[:_SHOWN], *(["…"] if len(known) > _SHOWN else [])]
    return f" (there are: {', '.join(listed)})" if known else ""
