"""Evaluator text → specification → live evaluator; the one table of kinds.

`[NAME=]TARGET` is what `-e` takes. The constructors of the public API live here too: their product is a
plain callable. Reaching evaluators is reach's work; scheduling them is run's.
"""

import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from optimize_eval import shipped
from optimize_eval.datasets import Example, make_example
from optimize_eval.errors import EvaluationError, UsageError
from optimize_eval.protocol import Payload, ScoreRange, parse_score_range
from optimize_eval.reach import DEFAULT_TIMEOUT, Evaluator, EvaluatorSpec
from optimize_eval.reach.command import CommandEvaluator

_NAMED = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*)=(.*)", re.DOTALL)
_SCHEME = re.compile(r"([A-Za-z]+):(//)?\S")
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_SCRIPT = re.compile(r"\.(py|sh|bash|js|mjs|cjs|ts|rb|pl|php|lua|tcl|r|jl|awk)$", re.IGNORECASE)
_LAUNCHER = re.compile(r"(env|python|pypy|bash|sh|zsh|node|deno|bun|ruby|perl|php|lua|tclsh|Rscript)[\d.]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How the evaluators of one command are to be reached."""

    timeout: float = DEFAULT_TIMEOUT
    cwd: str | None = None
    score_range: ScoreRange = ScoreRange.UNIT
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (isfinite(self.timeout) and self.timeout > 0):
            raise UsageError(
                f"a timeout of {self.timeout:g} s cannot be kept", hint="give a number of seconds above 0"
            )
        if self.cwd is not None and "\0" in self.cwd:
            raise UsageError("the working directory holds a NUL character", hint="give a path without it")


def parse_evaluators(texts: Iterable[str], reach: Reach) -> tuple[EvaluatorSpec, ...]:
    """Read evaluator texts in their order; names that would repeat get -2, -3 and so on."""
    specs: list[EvaluatorSpec] = []
    for text in texts:
        spec = parse_evaluator(text, reach)
        specs.append(replace(spec, name=_unused(spec.name, {other.name for other in specs})))
    return tuple(specs)


def parse_evaluator(text: str, reach: Reach) -> EvaluatorSpec:
    """Read one evaluator text, `[NAME=]TARGET`.

    >>> parse_evaluator("style=python3 judge.py --strict", Reach()).argv
    ('python3', 'judge.py', '--strict')
    """
    named = _NAMED.match(text)
    name, target = named.groups() if named else (None, text)
    if not target.strip():
        raise UsageError(
            f"the evaluator {text!r} names nothing to run", hint="give a command: -e './evaluate'"
        )
    parse = next((parse for prefix, parse in _KINDS if target.lstrip().startswith(prefix)), _parse_command)
    spec = parse(target, reach)
    return replace(spec, name=name) if name else spec


def connect(spec: EvaluatorSpec) -> Evaluator:
    """Make the live evaluator of a specification."""
    return CommandEvaluator(spec)


class PlainEvaluator:
    """An evaluator as a function: `evaluator(candidate, example=None)` → `(score, side_info)`.

    A failure raises EvaluationError, unless `on_failure` says in so many words which score it counts as.
    Safe to call from several threads; `close` it, or use it as a context manager, when done.
    """

    def __init__(self, spec: EvaluatorSpec, *, task_model: str | None, on_failure: float | None) -> None:
        self._spec = spec
        self._evaluator = connect(spec)
        self._task_model = task_model
        self._on_failure = on_failure

    def __call__(
        self, candidate: str, example: Mapping[str, Any] | Example | None = None
    ) -> tuple[float, dict[str, Any]]:
        payload = Payload(candidate=candidate, example=_example_bytes(example), task_model=self._task_model)
        try:
            answer = self._evaluator.call(payload, time.monotonic() + self._spec.timeout)
        except EvaluationError as error:
            if self._on_failure is None:
                raise
            return self._on_failure, {"failure": str(error.kind), "error": error.message}
        return answer.score, dict(answer.side_info)

    def close(self) -> None:
        self._evaluator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def command_evaluator(
    command: str | Sequence[str],
    *,
    timeout: float = DEFAULT_TIMEOUT,
    cwd: str | Path | None = None,
    score_range: ScoreRange | str = ScoreRange.UNIT,
    task_model: str | None = None,
    env: Mapping[str, str] | None = None,
    on_failure: float | None = None,
) -> PlainEvaluator:
    """Make an evaluator of a program that reads a payload on stdin and prints an answer.

    >>> with command_evaluator("jq -c '{score: 0.5, length: (.candidate | length)}'") as evaluator:
    ...     evaluator("hello")
    (0.5, {'length': 5})
    """
    reach = Reach(
        timeout=timeout,
        cwd=None if cwd is None else str(cwd),
        score_range=parse_score_range(score_range),
        environment=dict(env or {}),
    )
    argv = _split(command) if isinstance(command, str) else tuple(command)
    return PlainEvaluator(
        _command_spec(argv, reach), task_model=check_task_model(task_model), on_failure=on_failure
    )


def check_task_model(task_model: str | None) -> str | None:
    """Refuse a task model that could be neither JSON text nor an environment variable."""
    if task_model is None:
        return None
    if "\0" in task_model:
        raise UsageError(
            "the task model holds a NUL character", hint="give a name such as openai/gpt-4o-mini"
        )
    try:
        task_model.encode()
    except UnicodeEncodeError:
        raise UsageError(
            "the task model is not valid UTF-8", hint="give a name such as openai/gpt-4o-mini"
        ) from None
    return task_model


def _parse_metric(target: str, reach: Reach) -> EvaluatorSpec:
    metric, *arguments = _split(target)
    name, _, variant = metric[1:].partition("@")
    program = str(shipped.metric_path(name))
    chosen = ("--variant", variant) if variant else ()
    return _spec(metric[1:], (sys.executable, program, *chosen, *arguments), reach)


def _parse_command(target: str, reach: Reach) -> EvaluatorSpec:
    scheme = _SCHEME.match(target)
    if scheme and (scheme[2] or get_close_matches(scheme[1], [prefix.rstrip(":/") for prefix, _ in _KINDS])):
        raise UsageError(f"no kind of evaluator is written {scheme[1]}:{scheme[2] or ''}…", hint=_KINDS_HINT)
    return _command_spec(_split(target), reach)


_KINDS: tuple[tuple[str, Callable[[str, Reach], EvaluatorSpec]], ...] = (("@", _parse_metric),)
_KINDS_HINT = "an evaluator is a command such as 'python3 judge.py', or a shipped one such as @exact_match"


def _split(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        reason = str(error).lower().rstrip(".")
        raise UsageError(
            f"the command {command!r} cannot be split: {reason}", hint="close its quotes"
        ) from None


def _command_spec(argv: tuple[str, ...], reach: Reach) -> EvaluatorSpec:
    if not argv or not argv[0]:
        raise UsageError("the evaluator command is empty", hint="name a program, such as './evaluate'")
    if any("\0" in word for word in argv):
        raise UsageError("the evaluator command holds a NUL character", hint="give it without")
    return _spec(_default_name(argv), argv, reach)


def _spec(name: str, argv: tuple[str, ...], reach: Reach) -> EvaluatorSpec:
    return EvaluatorSpec(
        name=name,
        argv=argv,
        cwd=reach.cwd,
        environment=reach.environment,
        timeout=reach.timeout,
        score_range=reach.score_range,
    )


def _default_name(argv: tuple[str, ...]) -> str:
    """Name a command after its script if an interpreter runs one, else after its program."""
    program = Path(argv[0]).name
    scripts = [word for word in argv[1:] if _SCRIPT.search(word) and not word.startswith("-")]
    named_after = scripts[0] if scripts and _LAUNCHER.match(program) else program
    stem = _SCRIPT.sub("", Path(named_after).name)
    return _NOT_IN_NAME.sub("-", stem).strip("-") or "evaluator"


def _unused(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    return next(f"{name}-{n}" for n in range(2, len(taken) + 3) if f"{name}-{n}" not in taken)


def _example_bytes(example: Mapping[str, Any] | Example | None) -> bytes | None:
    if example is None:
        return None
    return (example if isinstance(example, Example) else make_example(example)).raw
