"""The kinds of evaluators, as one table, and what is made by looking in it: text → specification → evaluator.

`[NAME=]TARGET` is what `-e` takes. A kind's module is loaded when there is an evaluator of it, or a sweep
file. Scheduling evaluators is run's work.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec
from optimize_eval.base.names import distinct

if TYPE_CHECKING:
    from optimize_eval.evaluators.kind import Kind
    from optimize_eval.programs.codec import Contract
    from optimize_eval.programs.identity import Identity


class KindRow(NamedTuple):
    """A kind, by the name that its targets have: the module of its KIND, and how its texts are written."""

    kind: str
    module: str
    begins: tuple[str, ...]  # none of a row's: a command
    shown: str


KINDS = (
    KindRow("measure", "took_kind", ("@latency", "@cost", "@tokens"), ""),  # before what else ships
    KindRow(
        "command", "command_kind", ("@",), "a command ('python3 judge.py'), a shipped one (@exact_match)"
    ),
    KindRow("url", "endpoint_kind", ("http://", "https://"), "a URL (http://…)"),
    KindRow("judge", "judge_kind", ("judge:",), "a model (judge:PROVIDER/MODEL)"),
    KindRow("task", "task_kind", ("task:",), "a task file (task:tasks.jsonl)"),
    KindRow("definition", "definition_kind", (), ""),  # task:FILE.yaml
    KindRow("prompted", "prompted_kind", (), ""),  # around others
)
_COMMAND = KINDS[1]
_MODULES = {row.kind: row.module for row in KINDS}

_NAMED = r"(?s)([A-Za-z][A-Za-z0-9_.-]*)=(.*)"
_SCHEME = r"([A-Za-z]{2,}):(//|[/.~])?\S"  # one letter may be a drive of Windows
_OPTIONS = {  # what only some kinds use → its option, and for whom that is
    "cwd": ("--cwd", "programs"),
    "headers": ("--header", "URLs"),
}


def kinds() -> "list[Kind]":
    """Load all kinds, in the table's order."""
    return [_kind(row.kind) for row in KINDS]


def kind_of(spec: EvaluatorSpec) -> "Kind":
    """Look up the kind of a specification."""
    return _kind(spec.target.kind if spec.target else _COMMAND.kind)


@cache
def _kind(name: str) -> "Kind":
    kind: Kind = import_module(f"optimize_eval.evaluators.{_MODULES[name]}").KIND
    return kind


def parse_evaluators(texts: Iterable[str], defaults: EvaluatorSpec) -> tuple[EvaluatorSpec, ...]:
    """Read evaluator texts in their order; names that would repeat get -2, -3 and so on."""
    return named_apart([parse_evaluator(text, defaults) for text in texts])


def parse_evaluator(text: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    """Read one evaluator text, `[NAME=]TARGET`; what the text does not say comes from `defaults`.

    >>> parse_evaluator("style=python3 judge.py --strict", EvaluatorSpec()).target.argv
    ('python3', 'judge.py', '--strict')
    """
    name = given_name(text)
    target = (text if name is None else text[len(name) + 1 :]).strip()
    if not target:
        raise UsageError(
            f"the evaluator {text!r} names nothing to run", hint="give a command: -e './evaluate'"
        )
    spec = _kind(_row_of(target).kind).parse(target, defaults)
    return replace(spec, name=name) if name else spec


def given_name(text: str) -> str | None:
    """Read the NAME of `NAME=TARGET`; None where the text gives none.

    >>> given_name("style=python3 judge.py"), given_name("./style=loud")
    ('style', None)
    """
    named = re.match(_NAMED, text)
    return named[1] if named else None


def named_apart(specs: Iterable[EvaluatorSpec]) -> tuple[EvaluatorSpec, ...]:
    """Give specifications names of their own."""
    specs = tuple(specs)
    names = distinct(spec.name for spec in specs)
    return tuple(
        spec if spec.name == name else replace(spec, name=name)
        for spec, name in zip(specs, names, strict=True)
    )


def parse_headers(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Read request headers, each `NAME: VALUE`, or `OWNER=NAME: VALUE` for one of several servers."""
    if not (texts := [*texts]):
        return ()
    from optimize_eval.base import secrets

    return tuple(secrets.parse_addressed(text) for text in texts)


def connect(spec: EvaluatorSpec) -> Evaluator:
    """Make the live evaluator of a specification."""
    return kind_of(spec).connect(spec)


def speak(spec: EvaluatorSpec, contract: "Contract[Any, Any]") -> Any:
    """Make the live program of a specification, which is sent and answers other things than evaluators."""
    kind = kind_of(spec)
    if kind.speak is None:
        raise UsageError(f"{spec.text} is {kind.noun}, not a program", hint="name a command or a URL")
    return kind.speak(spec, contract)


def identify(spec: EvaluatorSpec) -> "Identity":
    """Digest what an evaluator is, with the files that it names."""
    return kind_of(spec).identify(spec)


def has_changed(spec: EvaluatorSpec, known: "Identity") -> bool:
    """Return True if an evaluator is not the one that was identified; data that it writes to may change."""
    return kind_of(spec).has_changed(spec, known)


def is_served(spec: EvaluatorSpec) -> bool:
    """Return True if who answers may be another one today, though the text is the same."""
    return kind_of(spec).is_served(spec)


def models_called(spec: EvaluatorSpec, task_models: Iterable[str | None] = ()) -> list[str]:
    """Name the models of providers that an evaluator calls."""
    return kind_of(spec).models(spec, task_models)


def check_used(specs: Iterable[EvaluatorSpec], defaults: EvaluatorSpec, say: Callable[[str], None]) -> None:
    """Refuse options of a kind that no evaluator is of; say which other options none of them uses."""
    specs = tuple(specs)
    if defaults.target:
        kind = kind_of(defaults)
        kind.check_defaults(defaults, [spec for spec in specs if kind_of(spec) is kind])
    used = frozenset[str]().union(*(kind_of(spec).uses for spec in specs))
    for name, (option, whom) in _OPTIONS.items():
        if getattr(defaults, name) and name not in used:
            say(f"note: {option} has no effect: it is for {whom}, and none is named")


def _row_of(target: str) -> KindRow:
    """Find the row of a text: by how it begins, else it is a command."""
    for row in KINDS:
        if target.startswith(row.begins):
            return row
    if scheme := re.match(_SCHEME, target):
        _refuse_scheme(scheme)
    return _COMMAND


def _refuse_scheme(scheme: re.Match[str]) -> None:
    """Refuse what looks like a kind, and is none: before a path, or nearly one; `a:b` may be a program."""
    begins = {begin.partition(":")[0]: begin for row in KINDS for begin in row.begins if ":" in begin}
    close = get_close_matches(scheme[1].lower(), begins, n=1)
    if close or scheme[2]:
        *others, last = (row.shown for row in KINDS if row.shown)
        hint = (
            f"did you mean {begins[close[0]]}…?"
            if close
            else f"an evaluator is {', '.join(others)} or {last}"
        )
        raise UsageError(f"no kind of evaluator is written {scheme[1]}:{scheme[2] or ''}…", hint=hint)
