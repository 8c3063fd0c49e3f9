"""What a check knows besides the value that it looks at, and where it puts what is wrong."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum

from optimize_eval.base.checks import Keys
from optimize_eval.base.errors import ROOT, Problem
from optimize_eval.base.frozen import frozen
from optimize_eval.tasks.definitions.fields.nodes import Kind, Mark


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


@frozen
class NamedColumn:
    """A column that a task names, where it does, and whether each sample fails without it."""

    name: str
    place: Problem
    is_needed: bool


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
    evaluator_keys: Keys | None = None  # of a sweep file's [[evaluator]]; None: they are not checked

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
