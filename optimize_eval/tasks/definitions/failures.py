"""Code of a task that gave no value: it failed, took too long, or its process is gone; in words and hints."""

import re
import sys

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.programs import exits, process
from optimize_eval.programs.codec import CommandLine
from optimize_eval.programs.not_started import explain_refusal
from optimize_eval.programs.one_shot import DeadlinePassed
from optimize_eval.programs.worker import WorkerBroken

_SPEC = EvaluatorSpec(name="code", text="code", target=CommandLine(argv=(sys.executable,)))  # for words alone
_DENIED = ("PermissionError", "FileNotFoundError", "OSError", "gaierror")
_HINT_DENIED = (
    "it runs in a sandbox, without files and network of this machine: --sandbox none runs it with your rights"
)
_OF_SANDBOX = re.compile(r'(?:^|not JSON: ")((?:bwrap|landlock|uid|rlimits|seccomp): [^"]+)')
_HINT_NO_SANDBOX = (
    "it started before: this machine may have no room for one more process or namespace; try a lower "
    "--concurrency, or --sandbox none, which runs the code with your rights"
)
_HINT_EXITED = "the code, or what it calls, ended the process (os._exit)"
_HINT_CRASHED = "it crashed, maybe in a library that the code uses"
_HINTS_SIGNAL = {
    "SIGKILL": exits.HINT_KILLED,
    "SIGABRT": "a library gave up: it may have run out of memory (code has 4 GiB)",
}
_HINT_FOREIGN = "what came from it was no answer: the code may write where its process answers"
_LONGEST_LINE = 200


def reported(function: str, fault: str, printed: bytes, *, is_enclosed: bool) -> EvaluationError:
    """Explain a call that failed in the code itself."""
    hint = _hint_of(fault) if is_enclosed else ""
    return EvaluationError(
        FailureKind.REPORTED, f"{function}: {fault}", detail=exits.text_of(printed), hint=hint
    )


def failure_of(function: str, seconds: float, error: Exception, *, is_enclosed: bool) -> EvaluationError:
    """Explain a call that its process did not answer; raises what is another error."""
    match error:
        case DeadlinePassed():
            hint = "make it faster, or allow more with --timeout"
            message, printed = f"{function} takes longer than {seconds:.3g} s", exits.text_of(error.stderr)
            return EvaluationError(FailureKind.TIMEOUT, message, detail=printed, hint=hint)
        case process.NotStarted():
            return explain_refusal(_SPEC, sys.executable, error.error)
        case WorkerBroken():
            return _gone(function, error, is_enclosed=is_enclosed)
    raise error


def _gone(function: str, broken: WorkerBroken, *, is_enclosed: bool) -> EvaluationError:
    """Say how a process came to its end, as far as it told."""
    said = exits.text_of(broken.stderr)
    last = said.strip().rpartition("\n")[2][:_LONGEST_LINE]
    first = exits.text_of(broken.stdout).partition("\n")[0]
    if is_enclosed and (why := _of_sandbox(first, last, str(broken))):
        message = f"the sandbox of {function} did not start: {why[:_LONGEST_LINE]}"
        return EvaluationError(FailureKind.START_FAILED, message, detail=said, hint=_HINT_NO_SANDBOX)
    if broken.status is None:
        how, hint = str(broken), _HINT_FOREIGN
    else:
        end, by = exits.ending(broken.status)
        how = f"it ended {end}"
        hint = _HINTS_SIGNAL.get(by, _HINT_CRASHED) if by else _HINT_EXITED
    message = f"the process of {function} is gone: {how}{': ' * bool(last)}{last}"
    return EvaluationError(FailureKind.KILLED, message, detail=said, hint=hint)


def _of_sandbox(*said: str) -> str:
    """Find what a sandbox says that does not start; the words about a line that is no answer have it, too."""
    found = (_OF_SANDBOX.search(text) for text in said)
    return next((one[1] for one in found if one), "")


def _hint_of(fault: str) -> str:
    """Say what of a fault the sandbox did."""
    return _HINT_DENIED if fault.startswith(_DENIED) else ""
