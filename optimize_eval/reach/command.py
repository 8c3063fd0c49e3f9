"""An evaluator that is a program, started once per call: payload on stdin, answer on stdout.

Says what the end of a program means; how it is started and ended is process's business.
"""

import itertools
import os
import secrets
import shutil
import signal
from pathlib import Path

from optimize_eval.errors import EvaluationError, FailureKind
from optimize_eval.protocol import TASK_MODEL_VARIABLE, Answer, Payload, ScoreRange, encode, parse_answer
from optimize_eval.reach import EvaluatorSpec, not_started, process

_SHOWN_LINE = 200
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127  # what a shell, env and the like exit with
_SIGNAL_BASE = 128  # a shell reports a program that a signal ended as 128 + the signal's number
_TASK_MODEL = TASK_MODEL_VARIABLE.encode()
_CRASH_HINT = "it crashed: run it by hand on the same payload, a debugger or its own log may tell more"


class CommandEvaluator:
    """Asks a program, one process per call."""

    def __init__(self, spec: EvaluatorSpec) -> None:
        self._spec = spec
        self._program: process.Program | None = None
        outer = os.environ.get(process.CALL_VARIABLE.decode(), "")
        self._tag = f"{outer}.{secrets.token_hex(6)}" if outer else secrets.token_hex(6)
        self._calls = itertools.count(1)

    def call(self, payload: Payload, deadline: float) -> Answer:
        program = self._program or self._find_program()
        ended = self._run(program, payload, deadline)
        if ended.status:
            raise _failed(ended, self._spec, payload)
        try:
            return parse_answer(ended.stdout, self._spec.score_range)
        except EvaluationError as error:
            error.detail = _text(ended.stderr)
            raise

    def close(self) -> None:
        process.sweep(self._tag)

    def _run(self, program: process.Program, payload: Payload, deadline: float) -> process.Ended:
        tag = f"{self._tag}.{next(self._calls)}"
        variables = {} if payload.task_model is None else {_TASK_MODEL: payload.task_model.encode()}
        try:
            return process.run(program, encode(payload), tag=tag, variables=variables, deadline=deadline)
        except process.NotStarted as refused:
            self._program = None  # look again next time: it may have been mended
            raise not_started.explain_refusal(
                program.argv, program.executable, program.cwd, refused.error
            ) from refused
        except process.Late as late:
            raise _late(self._spec.timeout, late.stderr) from None
        except process.Flood as flood:
            raise _flood(flood.stderr) from None

    def _find_program(self) -> process.Program:
        spec = self._spec
        environment = {**os.environ, **spec.environment}
        executable = _find_executable(spec.argv[0], spec.cwd, environment.get("PATH"))
        if executable is None:
            raise not_started.explain_missing(spec.argv, spec.cwd)
        encoded = {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
        self._program = process.Program(
            argv=spec.argv, executable=executable, cwd=spec.cwd, environment=encoded
        )
        return self._program


def _find_executable(name: str, cwd: str | None, search: str | None) -> str | None:
    """Resolve argv[0] as a shell in `cwd` would; a path that exists is returned, executable or not."""
    if "/" in name:
        path = Path(cwd or ".", name).absolute()
        return str(path) if path.exists() else None
    found = shutil.which(name, path=search)
    return str(Path(found).absolute()) if found else None


def _failed(ended: process.Ended, spec: EvaluatorSpec, payload: Payload) -> EvaluationError:
    stderr = _text(ended.stderr)
    if ended.status < 0:
        name = _signal_name(-ended.status)
        hint = "nothing of ours did this; a lack of memory often does" if name == "SIGKILL" else _CRASH_HINT
        return EvaluationError(FailureKind.KILLED, f"ended by {name}", detail=stderr, hint=hint)
    said = _last_line(stderr) or _first_line(_text(ended.stdout)) or "it said nothing on stderr"
    return EvaluationError(
        FailureKind.EXIT_CODE,
        f"exit status {ended.status}: {said}",
        detail=stderr,
        hint=not_started.script_hint(spec.argv, spec.cwd) or _exit_hint(ended, stderr, payload),
    )


def _exit_hint(ended: process.Ended, stderr: str, payload: Payload) -> str:
    if _is_answer(ended.stdout):
        return "stdout held a valid answer, but a status other than 0 means failure: exit 0 after answering"
    if ended.status == _NOT_EXECUTABLE:
        return "a program that the evaluator calls is not executable"
    if ended.status == _NOT_FOUND:
        return "a program that the evaluator calls is not installed, or not on PATH"
    if ended.status > _SIGNAL_BASE and (name := _signal_name(ended.status - _SIGNAL_BASE)):
        return f"{ended.status} is how a shell reports {name}"
    if payload.example is None and "example" in stderr:
        return "it seems to need an example, and there was none: --example FILE:LINE"
    return 'stderr says more; exit 0 and answer {"error": "why"} where there is no score to give'


def _is_answer(stdout: bytes) -> bool:
    try:
        parse_answer(stdout, ScoreRange.ANY)
    except EvaluationError:
        return False
    return True


def _late(timeout: float, stderr: bytes) -> EvaluationError:
    return EvaluationError(
        FailureKind.TIMEOUT,
        f"no answer within {timeout:g} s; it and all it started were killed",
        detail=_text(stderr),
        hint="allow more time with --timeout, or look whether it waits for something that never comes",
    )


def _flood(stderr: bytes) -> EvaluationError:
    return EvaluationError(
        FailureKind.OUTPUT_TOO_LARGE,
        f"more than {process.STDOUT_CAP // 2**20} MiB on stdout; it and all it started were killed",
        detail=_text(stderr),
        hint="print one JSON object; write bulky output to a file and answer with its path",
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _text(output: bytes) -> str:
    return output.decode("utf-8", "replace")


def _last_line(text: str) -> str:
    return _first_line("\n".join(reversed(text.rstrip().rsplit("\n", 1))))


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:_SHOWN_LINE].rstrip()
