"""Python functions as evaluators: one that a program hands over, and one of a file, `judge.py:score`.

How they are called, and what they may return, is said in function_program. A function that is handed over is
called in our process, where nothing ends it when it is late; it is the same evaluator next time if its name
and its code are. A file is never imported into our process: its function is a command, whose program is
function_program, and what is wrong with either is told before there is a run.
"""

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import orjson

from optimize_eval.base import checks
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind, Skipped, UsageError
from optimize_eval.base.evaluator import Capacity, Evaluator, EvaluatorSpec, Opened
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import Answered, Payload, ScoreRange, judge_answer
from optimize_eval.evaluators.command_kind import KIND as COMMAND
from optimize_eval.evaluators.kinds import Kind, TargetKey, unwritten
from optimize_eval.programs import function_program
from optimize_eval.programs.command import Command
from optimize_eval.programs.exchange import CommandLine, call_singly, evaluating, split_command
from optimize_eval.programs.function_program import Unusable, answer_of, call_of
from optimize_eval.programs.identity import (
    Function,
    Identity,
    PythonFunction,
    digest_of,
    digest_words,
    python_function,
)
from optimize_eval.programs.not_started import name_close_to


class FunctionEvaluator:
    """A function behind the methods of an evaluator."""

    note = ""
    capacity = Capacity()

    def __init__(self, function: Function, score_range: ScoreRange) -> None:
        self._call = call_of(function, "the function")
        self._score_range = score_range

    def call(self, payload: Payload, _deadline: float) -> Answered:
        example = None if payload.example is None else orjson.loads(payload.example)
        try:
            returned = self._call(payload.candidate, example, payload.task_model)
        except Skipped as skipped:
            returned = {**skipped.side_info, "skip": skipped.message}
        except EvaluationError:
            raise
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise EvaluationError(FailureKind.REPORTED, message, hint="the function raised this") from error
        return judge_answer(answer_of(returned), self._score_range)

    def call_many(self, payloads: Sequence[Payload], timeout: float) -> list[Answered | EvaluationError]:
        return call_singly(payloads, timeout, self.call)

    def close(self) -> None:
        """Nothing was started."""


def function_spec(function: Function, defaults: EvaluatorSpec) -> EvaluatorSpec:
    """Describe a function; its code is part of what it is."""
    target = python_function(function)
    try:
        call_of(function, target.name)
    except Unusable as unusable:
        raise UsageError(f"the evaluator {unusable}", hint=unusable.hint) from None
    return replace(defaults, name=target.name, text=target.name, target=target, retries=0)


def _target(spec: EvaluatorSpec) -> PythonFunction:
    assert isinstance(spec.target, PythonFunction), "the table chose this kind by the target"  # noqa: S101  for the checker
    return spec.target


def _connect(spec: EvaluatorSpec, _opened: Opened) -> Evaluator:
    return FunctionEvaluator(_target(spec).function, spec.score_range)


def _identify(spec: EvaluatorSpec) -> Identity:
    words = _target(spec).words
    environment = [sorted(spec.environment.items())] if spec.environment else []
    digest = digest_words([words, (), *environment])
    return Identity(name=spec.name, text=shlex.join(words), files=(), sha256=digest)


KIND = Kind(
    noun="a Python function",
    parse=unwritten,
    targets=dict,
    connect=_connect,
    identify=_identify,
    is_started=False,
)


_IMPORT = 60.0  # seconds that importing a file may take; more, where a call may
_FUNCTION = re.compile(r"(?s)(.+\.py):([^\W\d]\w*)")


@frozen
class FunctionOfFile(CommandLine):
    """A function by its name, and the file that it is in, as it was written."""

    kind: ClassVar[str] = "function of a file"
    file: str
    function: str


def function_of_file(text: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    """Describe a function of a file."""
    named = _FUNCTION.fullmatch(text)
    if named is None:
        raise UsageError(f"{text!r} names no function of a Python file", hint="write judge.py:score")
    file, function = named.groups()
    target = FunctionOfFile(
        argv=(sys.executable, function_program.__file__, file, function),
        is_ours=True,
        owes_proof=True,
        file=file,
        function=function,
    )
    return defaults.at(target, name=function, text=shlex.quote(text), retries=defaults.retries or 0)


def _parse_file(target: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    (text,) = split_command(target)
    return function_of_file(text, defaults)


def _of_key(text: str, defaults: EvaluatorSpec, _settings: JsonMapping) -> EvaluatorSpec:
    return function_of_file(text, defaults)


def _keys() -> dict[str, TargetKey]:
    return {"function": TargetKey(checks.text, _of_key)}


def _target_of_file(spec: EvaluatorSpec) -> FunctionOfFile:
    assert isinstance(spec.target, FunctionOfFile), "the table chose this kind by the target"  # noqa: S101  for the checker
    return spec.target


def _path(spec: EvaluatorSpec) -> Path:
    return Path(spec.cwd or ".", _target_of_file(spec).file)


def _missing(spec: EvaluatorSpec) -> str:
    path = _path(spec)
    if path.is_file():
        return ""
    close = name_close_to(path)
    return f"there is no file {_target_of_file(spec).file}{f'; did you mean {close}?' if close else ''}"


def _refuse_missing(spec: EvaluatorSpec) -> None:
    if missing := _missing(spec):
        raise UsageError(missing, hint=f"{spec.text} names a function of it; paths count from --cwd")


def _identify_file(spec: EvaluatorSpec) -> Identity:
    _refuse_missing(spec)
    path, function = _path(spec), _target_of_file(spec).function
    files = ((path.name, digest_of(path)),)
    chosen = [sorted(spec.environment.items())] if spec.environment else []
    digest = digest_words(["python file", function, files, *chosen])
    return Identity(name=spec.name, text=f"{path.name}:{function}", files=files, sha256=digest)


def _has_file_changed(spec: EvaluatorSpec, known: Identity) -> bool:
    try:
        return _identify_file(spec).files != known.files
    except UsageError:  # it cannot be read any more
        return True


def _connect_file(spec: EvaluatorSpec, _opened: Opened) -> Evaluator:
    _refuse_missing(spec)
    command = Command(spec, evaluating(spec.score_range))
    try:
        _refuse_unusable(spec, command)
    except BaseException:
        command.close()
        raise
    return command


def _refuse_unusable(spec: EvaluatorSpec, command: Command[Any, Any]) -> None:
    """Have the file imported, and the function looked at, before anything is called."""
    try:
        said = command.ask_before(_describe, max(_IMPORT, spec.timeout))
    except EvaluationError as error:
        hint = error.hint or "look at what it does when it is imported, before any function is called"
        raise UsageError(f"{spec.text} cannot be imported: {error.message}", hint=hint) from error
    if "error" in said:
        raise UsageError(str(said["error"]), hint=str(said["hint"]))


def _describe(identity: str) -> bytes:
    return orjson.dumps({"describe": True, "_id": identity}) + b"\n"


KIND_OF_FILE = COMMAND._replace(
    noun="a function of a Python file",
    parse=_parse_file,
    targets=_keys,
    connect=_connect_file,
    speak=None,
    identify=_identify_file,
    has_changed=_has_file_changed,
    missing=_missing,
)
