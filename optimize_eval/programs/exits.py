"""What the end of a program means: which failure it is, and what to do about it."""

import shlex
import signal

from optimize_eval.base.checks import seconds_given
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import ANSWER_CAP, EvaluatorSpec
from optimize_eval.programs import not_started, one_shot, telling
from optimize_eval.programs.codec import AnswerT, Contract, QuestionT
from optimize_eval.programs.spawn import Program
from optimize_eval.programs.targets import is_ours

HINT_KILLED = "nothing of ours did this; a lack of memory often does"

_SHOWN_LINE = 200
_SHELL_SAYS = {  # what a shell, env and the like exit with
    126: "a program that it calls is not executable",
    127: "a program that it calls is not installed, or not on PATH",
}
_SIGNAL_BASE = 128  # a shell reports a program that a signal ended as 128 + the signal's number
_LOST_HINT = "this process ignores SIGCHLD, or something else in it waits for our children: let it do neither"
_CRASH_HINT = "it crashed: run it by hand on the same payload, a debugger or its own log may tell more"


def failed(
    ended: one_shot.Exit,
    spec: EvaluatorSpec,
    program: Program,
    contract: Contract[QuestionT, AnswerT],
    question: QuestionT,
) -> EvaluationError:
    """Explain an end by a signal or with a status other than 0, which is a failure whatever was printed."""
    stderr = text_of(ended.stderr)
    if ended.status is None:
        return EvaluationError(
            FailureKind.INTERNAL, "its exit status was lost", detail=stderr, hint=_LOST_HINT
        )
    if ended.status < 0:
        return _killed(_signal_name(-ended.status), stderr, contract.fix(question, stderr))
    words = telling.telling_line(stderr) or _first_line(text_of(ended.stdout)) or "it said nothing"
    return EvaluationError(
        FailureKind.EXIT_CODE,
        f"exit status {ended.status}: {words}",
        detail=stderr,
        hint=not_started.script_hint(spec)
        or _exit_hint(ended, program, contract)
        or _variable_hint(stderr, spec)
        or contract.fix(question, stderr),
        retry_after=0.0,
    )


def _killed(name: str, stderr: str, fix: str) -> EvaluationError:
    """Explain an end by a signal; a program that aborts, as assert does, has said why."""
    why = telling.telling_line(stderr) if name == "SIGABRT" else ""
    message = f"ended by {name}: {why}" if why else f"ended by {name}"
    hint = fix if why else HINT_KILLED if name == "SIGKILL" else _CRASH_HINT
    return EvaluationError(FailureKind.KILLED, message, detail=stderr, hint=hint, retry_after=0.0)


def _exit_hint(ended: one_shot.Exit, program: Program, contract: Contract[QuestionT, AnswerT]) -> str:
    status = ended.status or 0
    if _is_answer(ended.stdout, contract):
        return "stdout held a valid answer, but a status other than 0 means failure: exit 0 after answering"
    if status in _SHELL_SAYS:
        fix = not_started.carriage_return_hint(program.executable, program.argv[0])
        return fix or _SHELL_SAYS[status]
    if status - _SIGNAL_BASE in signal.valid_signals():
        return f"{status} is how a shell reports {_signal_name(status - _SIGNAL_BASE)}"
    return ""


def _variable_hint(stderr: str, spec: EvaluatorSpec) -> str:
    name = telling.unset_variable(stderr)
    if not name or is_ours(spec):
        return ""
    line = shlex.quote(f"env {name}=… {spec.text}")
    return f"it needs the variable {name}: export {name}=… before, or for this program alone -e {line}"


def _is_answer(stdout: bytes, contract: Contract[QuestionT, AnswerT]) -> bool:
    try:
        contract.parse(stdout)
    except EvaluationError:
        return False
    return True


def late(given: float, spec: EvaluatorSpec, stderr: bytes) -> EvaluationError:
    """Explain that a program did not answer in the seconds that it was given."""
    return EvaluationError(
        FailureKind.TIMEOUT,
        f"no answer within {seconds_given(given, spec.timeout)} s; it and all it started were killed",
        detail=text_of(stderr),
        hint="allow more time (--timeout), or look whether it waits for something that never comes",
    )


def flood(stderr: bytes) -> EvaluationError:
    return EvaluationError(
        FailureKind.OUTPUT_TOO_LARGE,
        f"more than {ANSWER_CAP // 2**20} MiB on stdout; it and all it started were killed",
        detail=text_of(stderr),
        hint="print one JSON object; write bulky output to a file and answer with its path",
    )


def ending(status: int) -> tuple[str, str]:
    """Say how a program came to its end, and the signal that did it, if one did: a shell adds 128 to it."""
    number = -status if status < 0 else status - _SIGNAL_BASE
    if number in signal.valid_signals():
        return f"by {_signal_name(number)}", _signal_name(number)
    return f"with exit status {status}", ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def text_of(output: bytes) -> str:
    return output.decode("utf-8", "replace")


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:_SHOWN_LINE].rstrip()
