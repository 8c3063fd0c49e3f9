"""The kinds of evaluators, as one table, and what is made by looking in it: text → specification → evaluator.

`[NAME=]TARGET` is what `-e` takes. A kind's module is loaded when there is an evaluator of it, or a sweep
file; it makes one value of all that the package has to know of the kind: no other code says `if it is a URL`.
Scheduling evaluators is run's work.

Each has a shell line that calls it by hand, which works when pasted into bash, whatever is in it; it is empty
where no one line calls the evaluator. What reads the payload is said by the kind. A header's value that was
written out is not repeated, nor a URL's user, password and query; such a line says what to put there.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from enum import StrEnum
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Never

from optimize_eval.base import secrets
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec, Opened
from optimize_eval.base.names import distinct
from optimize_eval.base.protocol import Payload, encode, encode_batch

if TYPE_CHECKING:  # only sweep files have values to check, only runs identities
    from optimize_eval.base.checks import Check, Keys
    from optimize_eval.data.example import Example
    from optimize_eval.programs.exchange import Contract
    from optimize_eval.programs.identity import Identity


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
    spec: Callable[[Any, EvaluatorSpec, JsonMapping], EvaluatorSpec]  # value, defaults, settings
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


def _no_example(_spec: EvaluatorSpec, _examples: "Sequence[tuple[str, Example]]") -> None:
    return


def _no_keys(_folder: str) -> "Keys":
    return {}


class Kind(NamedTuple):
    """One kind of evaluator. A field that has a default says what most kinds do."""

    noun: str  # "only a judge has it"
    parse: Callable[[str, EvaluatorSpec], EvaluatorSpec]  # a text as -e takes it, its name taken off
    targets: Callable[[], Mapping[str, TargetKey]]  # of [[evaluator]], by which it is named
    connect: Callable[[EvaluatorSpec, Opened], Evaluator]
    identify: "Callable[[EvaluatorSpec], Identity]"
    settings: Callable[[str], "Keys"] = _no_keys  # keys that it alone takes; of a file's folder
    uses: frozenset[str] = frozenset()  # options that concern only some kinds
    check_defaults: Callable[[EvaluatorSpec, Sequence[EvaluatorSpec]], None] = _no_matter  # against its specs
    check_examples: "Callable[[EvaluatorSpec, Sequence[tuple[str, Example]]], None]" = _no_example  # of files
    speak: "Callable[[EvaluatorSpec, Contract[Any, Any]], Any] | None" = None  # of programs: by any contract
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


class KindRow(NamedTuple):
    """A kind, by the name that its targets have: the module of its KIND, and how its texts are written."""

    kind: str
    module: str
    begins: tuple[str, ...] = ()  # none of a row's: a command
    shown: str = ""
    constant: str = "KIND"
    looks: str = ""  # a pattern of whole texts, where they do not begin in one way


KINDS = (
    KindRow("measure", "usage_kind", ("@latency", "@cost", "@tokens")),  # before what else ships
    KindRow(
        "command", "command_kind", ("@",), "a command ('python3 judge.py'), a shipped one (@exact_match)"
    ),
    KindRow("url", "endpoint_kind", ("http://", "https://"), "a URL (http://…)"),
    KindRow("judge", "judge_kind", ("judge:",), "a model (judge:PROVIDER/MODEL)"),
    KindRow("task", "task_kind", ("task:",), "a task file (task:tasks.jsonl)"),
    KindRow("definition", "task_kind", constant="KIND_IN_YAML"),  # task:FILE.yaml
    KindRow(
        "function of a file",
        "function_kind",
        shown="a function of a Python file (judge.py:score)",
        constant="KIND_OF_FILE",
        looks=r"(?:[^\s'\"]+|'[^']+|\"[^\"]+)\.py:[^\W\d]\w*['\"]?",
    ),
    KindRow("function", "function_kind"),  # from Python
)
_COMMAND = KINDS[1]
_ROWS = {row.kind: row for row in KINDS}

_NAMED = r"(?s)([A-Za-z][A-Za-z0-9_.-]*)=(.*)"
_SCHEME = r"([A-Za-z]{2,}):(//|[/.~])?\S"  # one letter may be a drive of Windows
_OPTIONS = {  # what only some kinds use → its option, and for whom that is
    "cwd": ("--cwd", "programs"),
    "headers": ("--header", "URLs"),
}


def kinds() -> list[Kind]:
    """Load all kinds, in the table's order."""
    return [_kind(row.kind) for row in KINDS]


def kind_of(spec: EvaluatorSpec) -> Kind:
    """Look up the kind of a specification."""
    return _kind(spec.target.kind if spec.target else _COMMAND.kind)


@cache
def _kind(name: str) -> Kind:
    row = _ROWS[name]
    kind: Kind = getattr(import_module(f"optimize_eval.evaluators.{row.module}"), row.constant)
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
    return tuple(secrets.parse_addressed(text) for text in texts)


def connect(spec: EvaluatorSpec, opened: Opened) -> Evaluator:
    """Make the live evaluator of a specification, which ends with what is opened beside it."""
    return opened.keep(partial(kind_of(spec).connect, spec, opened))


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


def check_examples(spec: EvaluatorSpec, examples: "Sequence[tuple[str, Example]]") -> None:
    """Refuse examples, each with its file, that no candidate could be scored on; raises DataError."""
    kind_of(spec).check_examples(spec, examples)


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
        if target.startswith(row.begins) or (row.looks and re.fullmatch(row.looks, target)):
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


_NOT_PLAIN = re.compile("[^ -~]")
_FORMATTED = {**{unit: chr(unit) for unit in range(32, 127)}, ord("%"): "%%", ord("\\"): "\\\\"}


def printf(lines: Sequence[bytes]) -> str:
    """Write what prints lines of JSON."""
    return f"printf '%s\\n' {shlex.join(plain(line) for line in lines)}"


def as_format(text: str) -> str:
    """Write a text of any characters as ASCII, as a format of printf."""
    units = text.encode("utf-8", "replace")
    return shlex.quote("".join(_FORMATTED.get(unit) or f"\\{unit:03o}" for unit in units))


def plain(line: bytes) -> str:
    """Escape all but plain ASCII, which in JSON can only stand inside texts."""
    return _NOT_PLAIN.sub(_escape, line.decode().strip())


def _escape(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be")
    return "".join(f"\\u{units[index]:02x}{units[index + 1]:02x}" for index in range(0, len(units), 2))


_HERE = "@@candidate@@"


def call_once(spec: EvaluatorSpec, payload: Payload) -> str:
    """Send one payload, as a run does."""
    return _line(spec, payload, lambda call: _pipe_payload(call, payload))


def call_twice(spec: EvaluatorSpec, payload: Payload) -> str:
    """Send the same payload two times, one after the other."""
    return _line(spec, payload, lambda call: f"for i in 1 2; do {_pipe_payload(call, payload)}; done")


def call_in_one(spec: EvaluatorSpec, payloads: Sequence[Payload]) -> str:
    """Send payloads to one process that stays alive, a line each."""
    lines = [encode(payload) for payload in payloads]
    return _line(spec, payloads[0], lambda call: f"{printf(lines)} | {call.reader}")


def call_with_batch(spec: EvaluatorSpec, payloads: Sequence[Payload]) -> str:
    """Send payloads as one batch."""
    return _line(spec, payloads[0], lambda call: f"{printf([encode_batch(payloads)])} | {call.reader}")


def call_with_long_candidate(spec: EvaluatorSpec, payload: Payload) -> str:
    """Send a payload whose candidate is too long to be shown: so many times the letter x."""
    line = plain(encode(replace(payload, candidate=_HERE)))
    template = shlex.quote(line.replace("%", "%%").replace(_HERE, "%s") + "\\n")
    made = f"printf {template} \"$(head -c {len(payload.candidate)} /dev/zero | tr '\\0' x)\""
    return _line(spec, payload, lambda call: f"{made} | {call.reader}")


def call_at_once(spec: EvaluatorSpec, payloads: Sequence[Payload]) -> str:
    """Send several payloads at the same time; to be compared with the same ones sent one by one."""

    def each(call: ShellCall) -> str:
        return " ".join(f"{printf([encode(payload)])} | {call.reader} &" for payload in payloads)

    return _line(spec, payloads[0], lambda call: f"{each(call)} wait")


def call_one_process(spec: EvaluatorSpec, payloads: Sequence[Payload], *, seconds: float) -> str:
    """Send several payloads to one process, whose input stays open for a while and whose output is a pipe."""
    lines = printf([encode(payload, str(number)) for number, payload in enumerate(payloads, 1)])
    bound = f"timeout -k 1 {2 * seconds + 1:g}"
    return _line(
        spec, payloads[0], lambda call: f"({lines}; sleep {seconds:g}) | {bound} {call.reader} | cat"
    )


def _pipe_payload(call: ShellCall, payload: Payload) -> str:
    return f"{call.writer or printf([encode(payload)])} | {call.reader}"


def _line(spec: EvaluatorSpec, payload: Payload, write: Callable[[ShellCall], str]) -> str:
    call = kind_of(spec).shell(spec, payload)
    if call is None:
        return ""
    return f"(cd {shlex.quote(call.folder)} && {{ {write(call)}; }})" if call.folder else write(call)
