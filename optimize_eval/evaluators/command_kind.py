"""A program as an evaluator: a command, or one that ships with the package.

How it is started, kept alive and ended is programs' business.
"""

import errno
import os
import re
import shlex
import shutil
import sys
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimize_eval.base import checks, shipped
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import DataError, EvaluationError, FailureKind, Problem, UsageError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec, Opened
from optimize_eval.base.protocol import TASK_MODEL_VARIABLE, Payload
from optimize_eval.base.secrets import for_shell, mask
from optimize_eval.evaluators.kinds import Kind, ShellCall, TargetKey, as_name, parse_evaluator
from optimize_eval.programs.exchange import CommandLine, Contract, argv_of, evaluating, is_ours, split_command
from optimize_eval.programs.not_started import (
    INTERPRETERS,
    exists,
    explain_missing,
    explain_refusal,
    script_hint,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from optimize_eval.data.example import Example
    from optimize_eval.programs.command import Command
    from optimize_eval.programs.identity import Identity

_LAUNCHER = r"(env|python|pypy|bash|sh|zsh|node|deno|bun|ruby|perl|php|lua|tclsh|Rscript)[\d.]*$"
_SHIPPED = "@"
_CODE_EXEC = "@code_exec"
_CHECKS = "@checks"
_LIBRARIES = {"bleu": "sacrebleu", "edit_similarity": "rapidfuzz"}  # of those that ship


def command_spec(argv: tuple[str, ...], defaults: EvaluatorSpec, written: str | None = None) -> EvaluatorSpec:
    """Describe a command by its words, and maybe by the text in which they were written."""
    if not argv or not argv[0]:
        raise UsageError("the evaluator command is empty", hint="name a program, such as './evaluate'")
    text = defaults.text if written is None else written
    return defaults.at(
        CommandLine(argv=argv), name=name_of_command(argv), text=text, retries=defaults.retries or 0
    )


def runs_code(spec: EvaluatorSpec) -> bool:
    """Return True if an evaluator is the one that runs code which models wrote."""
    return spec.text.startswith(_CODE_EXEC)


def at_level(spec: EvaluatorSpec, sandbox: str) -> EvaluatorSpec:
    """Let the one that runs code do so in a sandbox of this level; empty: as it says itself."""
    if not sandbox or not runs_code(spec):
        return spec
    words = ("--sandbox", sandbox)
    target = CommandLine(argv=(*argv_of(spec), *words), is_ours=is_ours(spec))
    return replace(spec, text=f"{spec.text} {shlex.join(words)}", target=target)


def name_of_command(argv: tuple[str, ...]) -> str:
    """Name a command after its script if an interpreter runs one, else after its program."""
    program = Path(argv[0]).name
    scripts = [word for word in argv[1:] if not word.startswith("-") and _is_script(word)]
    named_after = Path(scripts[0] if scripts and re.match(_LAUNCHER, program) else program)
    stem = named_after.stem if _is_script(named_after.name) else named_after.name
    return as_name(stem).strip("-") or "evaluator"


def _is_script(word: str) -> bool:
    return Path(word).suffix.lower() in INTERPRETERS


def _parse(target: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    if target.startswith(_SHIPPED):
        return _parse_shipped(target, defaults)
    return command_spec(split_command(target), defaults, target)


def _parse_shipped(target: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    name, words = shipped_program(target)
    return defaults.at(words, name=name, text=target, retries=defaults.retries or 0)


def shipped_program(text: str) -> tuple[str, CommandLine]:
    """Find the program that ships by its text, and what an evaluator of it is called."""
    metric, *arguments = split_command(text)
    name, _, variant = metric[1:].partition("@")
    program = shipped.metric_path(name)
    launcher = sys.executable if program.suffix == ".py" else "sh"
    chosen = ("--variant", variant) if variant else ()
    argv = (launcher, str(program), *chosen, *arguments)
    return metric[1:], CommandLine(argv=argv, is_ours=program.suffix == ".py")


def _of_words(command: str | list[str], defaults: EvaluatorSpec, _settings: JsonMapping) -> EvaluatorSpec:
    argv = split_command(command) if isinstance(command, str) else tuple(command)
    return command_spec(argv, defaults)


def _of_shipped(target: str, defaults: EvaluatorSpec, _settings: JsonMapping) -> EvaluatorSpec:
    return parse_evaluator(target, defaults)  # measures are no programs, but are named as what ships


def _targets() -> dict[str, TargetKey]:
    return {"command": TargetKey(checks.command, _of_words), "use": TargetKey(checks.metric, _of_shipped)}


def _speak(spec: EvaluatorSpec, contract: Contract[Any, Any]) -> "Command[Any, Any]":
    from optimize_eval.programs.command import Command

    return Command(spec, contract)


def _connect(spec: EvaluatorSpec, _opened: Opened) -> Evaluator:
    if spec.text.startswith(_SHIPPED):
        _check_library(spec.text)
    return _speak(spec, evaluating(spec.score_range))


def _check_library(text: str) -> None:
    """Refuse a shipped evaluator before its calls where the library that it needs is not installed."""
    library = _LIBRARIES.get(split_command(text)[0].removeprefix(_SHIPPED).partition("@")[0])
    if library and find_spec(library) is None:
        raise UsageError(
            f"{text} needs {library}, which is not installed",
            hint=f"{sys.executable} -m pip install {library}",
        )


def _check_examples(spec: EvaluatorSpec, examples: "Sequence[tuple[str, Example]]") -> None:
    """Have the checks of all examples read: those that are wrong fail whatever the candidate is."""
    if not spec.text.startswith(_CHECKS) or not examples:
        return
    payloads = [Payload(candidate="", example=example.raw) for _, example in examples]
    with closing(_speak(spec, evaluating(spec.score_range))) as program:
        said = program.call_many(
            payloads[:1], spec.timeout
        )  # it is not asked further where it does not start
        if not _failed_otherwise(said[0]):
            said += program.call_many(payloads[1:], spec.timeout)
    problems = [
        Problem(path=file, rule="bad_checks", line=example.line, column=1, reason=answer.message)
        for (file, example), answer in zip(examples, said, strict=False)
        if isinstance(answer, EvaluationError) and not _failed_otherwise(answer)
    ]
    if problems:
        raise DataError(problems)


def _failed_otherwise(answer: object) -> bool:
    return isinstance(answer, EvaluationError) and answer.kind is not FailureKind.REPORTED


def _identify(spec: EvaluatorSpec) -> "Identity":
    from optimize_eval.programs.identity import identify_command

    return identify_command(spec)


def _has_changed(spec: EvaluatorSpec, known: "Identity") -> bool:
    from optimize_eval.programs.identity import has_changed

    return has_changed(spec, known)


def _shell(spec: EvaluatorSpec, payload: Payload) -> ShellCall:
    """Write the program with its environment, which reads the payload."""
    model = [] if payload.task_model is None else [(TASK_MODEL_VARIABLE, payload.task_model)]
    variables = [mask(f"{name}={for_shell(value)}") for name, value in spec.environment.items()]
    variables += [f"{name}={shlex.quote(value)}" for name, value in model]
    program = mask(shlex.join(argv_of(spec)))
    return ShellCall(" ".join([*(["env", *variables] if variables else []), program]), folder=spec.cwd)


def _missing(spec: EvaluatorSpec) -> str:
    """Look for the program, its folder and the script that it runs."""
    program = argv_of(spec)[0]
    search = {**os.environ, **spec.environment}.get("PATH")
    executable = os.path.join(spec.cwd or ".", program) if "/" in program else program  # noqa: PTH118  / wins
    if shutil.which(executable, path=search) is None:
        is_there = "/" in program and exists(executable)  # and no program, or one that may not be executed
        refusal = PermissionError(errno.EACCES, "")
        missing = explain_refusal(spec, executable, refusal) if is_there else explain_missing(spec, search)
        return f"{missing.message} ({missing.hint})" if missing.hint else missing.message
    hint = script_hint(spec)
    return hint if hint.startswith("there is no file") else ""


KIND = Kind(
    noun="a program",
    parse=_parse,
    targets=_targets,
    uses=frozenset({"cwd"}),
    connect=_connect,
    check_examples=_check_examples,
    speak=_speak,
    identify=_identify,
    has_changed=_has_changed,
    shell=_shell,
    missing=_missing,
)
