"""What the package has to know of a kind of evaluator, as one value; each kind's module makes its own.

Whoever needs to know looks the kind up in the table: no other code says `if it is a URL`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Never

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec
from optimize_eval.base.protocol import Payload
from optimize_eval.programs.codec import Contract

if TYPE_CHECKING:  # only sweep files have values to check
    from optimize_eval.base.checks import Check, Keys
    from optimize_eval.programs.identity import Identity  # only runs have identities

SERVED_RETRIES = 2  # by default, where another call may find the server well

_NOT_IN_NAME = r"[^A-Za-z0-9_.-]+"


class ShellCall(NamedTuple):
    """How a call is made by hand: what writes the question, and what reads it and prints the answer."""

    reader: str
    writer: str = ""  # empty: printf, of the payload's line
    folder: str | None = None  # where to do so, if elsewhere


class TargetKey(NamedTuple):
    """A key of [[evaluator]] that names a target: what its value may be, and what is made of it."""

    check: "Check"
    spec: Callable[[Any, EvaluatorSpec, Mapping[str, Any]], EvaluatorSpec]  # value, defaults, settings
    is_model: bool = False  # it may name a table [[model]]


class Checks(StrEnum):
    """Which of preflight's tables of checks a kind is for."""

    PROGRAMS = "programs"
    MODELS = "models"  # where each call costs money
    TASKS = "tasks"  # whose scorers share replies


def _is_unchanging(_spec: EvaluatorSpec, _known: "Identity") -> bool:
    return False


def _no_model(_spec: EvaluatorSpec, _task_models: Iterable[str | None]) -> list[str]:
    return []


def _no_line(_spec: EvaluatorSpec, _payload: Payload) -> ShellCall | None:
    return None


def _nothing(_spec: EvaluatorSpec) -> str:
    return ""


def _no(_spec: EvaluatorSpec) -> bool:
    return False


def _no_matter(_defaults: EvaluatorSpec, _specs: Sequence[EvaluatorSpec]) -> None:
    return


def _no_keys(_folder: str) -> "Keys":
    return {}


class Kind(NamedTuple):
    """One kind of evaluator. A field that has a default says what most kinds do."""

    noun: str  # "only a judge has it"
    parse: Callable[[str, EvaluatorSpec], EvaluatorSpec]  # a text as -e takes it, its name taken off
    targets: Callable[[], Mapping[str, TargetKey]]  # of [[evaluator]], by which it is named
    connect: Callable[[EvaluatorSpec], Evaluator]
    identify: "Callable[[EvaluatorSpec], Identity]"
    settings: Callable[[str], "Keys"] = _no_keys  # keys that it alone takes; of a file's folder
    uses: frozenset[str] = frozenset()  # options that concern only some kinds
    check_defaults: Callable[[EvaluatorSpec, Sequence[EvaluatorSpec]], None] = _no_matter  # against its specs
    speak: Callable[[EvaluatorSpec, Contract[Any, Any]], Any] | None = None  # of programs: by any contract
    has_changed: "Callable[[EvaluatorSpec, Identity], bool]" = _is_unchanging
    shell: Callable[[EvaluatorSpec, Payload], ShellCall | None] = _no_line
    checks: Checks = Checks.PROGRAMS
    is_started: bool = True  # calls may start a process, which keeping it alive would save
    is_served: Callable[[EvaluatorSpec], bool] = _no  # whoever answers today may be another one tomorrow
    missing: Callable[[EvaluatorSpec], str] = _nothing  # what it names and is not there, without a call
    models: Callable[[EvaluatorSpec, Iterable[str | None]], list[str]] = _no_model  # of providers, called


def as_name(text: str) -> str:
    """Replace what the name of an evaluator cannot have."""
    return re.sub(_NOT_IN_NAME, "-", text)


def unwritten(target: str, _defaults: EvaluatorSpec) -> Never:
    """Parse the text of a kind that none names."""
    raise UsageError(f"{target!r} names no evaluator", hint="name one with -e")


def served_retries(defaults: EvaluatorSpec) -> int:
    return SERVED_RETRIES if defaults.retries is None else defaults.retries
