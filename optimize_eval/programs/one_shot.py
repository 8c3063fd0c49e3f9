"""One process for one payload: feed it, drain it within limits, see it ended with all it started.

What its end means comes after that: which failure it is, what to do, and which line of stderr says why. A
traceback has the reason at its end in one language, at its start in another, and often words after it that
say nothing. Each pattern meets one line, cut before, and is linear in it.
"""

import contextlib
import os
import re
import select
import shlex
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from optimize_eval.base.checks import seconds_given
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import ANSWER_CAP, EvaluatorSpec
from optimize_eval.programs import not_started
from optimize_eval.programs.exchange import AnswerT, Contract, QuestionT, is_ours
from optimize_eval.programs.process import POLL_WITHOUT_HANDLE, Child, NotStarted, Program

STDERR_KEPT = 64 * 1024
GRACE = 0.5  # seconds between SIGTERM and SIGKILL
LINGER = 0.5  # seconds that stdout is read on after the program itself has ended

_QUICK = 0.005  # an output larger than a pipe holds waits so long for its first reader
_CHUNK = 16 * 1024  # larger buffers cost a trip to the system for their memory on every call
_LAST_READS = 128
_LONGEST_POLL = 3600.0


@dataclass(frozen=True, slots=True)
class Exit:
    """How a program ended (as subprocess counts: a signal is negative; None: unknown) and what it wrote."""

    status: int | None
    stdout: bytes
    stderr: bytes
    is_held: bool = False  # something that it left behind held stdout, which was waited for in vain


class _Cut(Exception):
    def __init__(self, stderr: bytes = b"") -> None:
        super().__init__()
        self.stderr = stderr


class DeadlinePassed(_Cut):
    """The deadline passed; the program and all it started were killed."""


class OutputTooLarge(_Cut):
    """stdout went beyond ANSWER_CAP; the program and all it started were killed."""


class Tail:
    """The last STDERR_KEPT bytes that came through a pipe."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept = bytearray()

    def take(self, fd: int, event: int) -> bool:
        """Read what is there; return True if more may come."""
        data = os.read(fd, _CHUNK)
        self._kept += data
        if len(self._kept) > 2 * STDERR_KEPT:
            del self._kept[:-STDERR_KEPT]
        return has_more(data, event)

    def clear(self) -> None:
        self._kept.clear()

    def __bytes__(self) -> bytes:
        return bytes(self._kept[-STDERR_KEPT:])


def run(
    program: Program, payload: bytes, *, tag: str, variables: Mapping[bytes, bytes], deadline: float
) -> Exit:
    """Run a program once on a payload; raises NotStarted, DeadlinePassed or OutputTooLarge.

    `tag` marks the processes of this call and must be unique; `variables` are added to the program's
    environment; `deadline` is an instant of time.monotonic.
    """
    call = _Call(payload)
    child = Child(tag)
    try:
        child.start(program, variables, call.feed)  # fed before the start: the usual payload fits the pipe
        _listen(child, call, deadline)
        return Exit(child.reap(), bytes(call.stdout), bytes(call.stderr), call.is_held)
    except (NotStarted, DeadlinePassed):
        raise
    except BaseException as error:
        child.kill()
        if isinstance(error, OutputTooLarge):
            raise OutputTooLarge(bytes(call.stderr)) from None
        raise
    finally:
        child.close()


def _listen(child: Child, call: "_Call", deadline: float) -> None:
    try:
        call.listen(child, deadline)
    except DeadlinePassed:
        _terminate(child, call)
        raise DeadlinePassed(bytes(call.stderr)) from None


def _terminate(child: Child, call: "_Call") -> None:
    """Be polite first: SIGTERM to the group, a moment of grace, then kill."""
    seen = child.descendants()
    child.signal_group(signal.SIGTERM)
    with contextlib.suppress(DeadlinePassed, OutputTooLarge):
        until = time.monotonic() + GRACE
        call.listen(child, until, last=until)
    child.kill(seen)


_Takers = dict[int, Callable[[int], bool]]  # descriptor → what takes its event and returns True to go on


class _Call:
    """What is still to be written, what came so far, and whether the program has ended."""

    __slots__ = ("_ended", "_rest", "is_held", "stderr", "stdout")

    def __init__(self, payload: bytes) -> None:
        self.stdout = bytearray()
        self.stderr = Tail()
        self._rest = memoryview(payload)
        self._ended = False
        self.is_held = False

    def feed(self, child: Child) -> None:
        """Write what fits; close stdin when all went, or nobody wants it any more, which is no error."""
        try:
            self._rest = self._rest[os.write(child.stdin, self._rest) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._rest = self._rest[:0]
        if not self._rest:
            child.close_stdin()

    def listen(self, child: Child, deadline: float, *, last: float | None = None) -> None:
        """Feed and drain until the program has ended and stdout is read.

        Raises DeadlinePassed or OutputTooLarge. After the end of the program itself, stdout is read for
        LINGER more, or until `last`.
        """
        self._await_quick_end(child, deadline)
        poller, takers = self._watch(child)
        until = (last or time.monotonic() + LINGER) if self._ended else deadline
        while not self._ended or child.stdout in takers:
            had_ended = self._ended
            wait = until - time.monotonic()
            self._take_all(child, poller, takers, wait)
            if self._ended and not had_ended:
                until = last or time.monotonic() + LINGER
            elif wait <= 0 and not self._ended:
                raise DeadlinePassed
            elif wait <= 0:
                self.is_held = True
                break
        if child.stderr in takers:
            self._drain_stderr(child)

    def _await_quick_end(self, child: Child, deadline: float) -> None:
        """Sleep through the whole life of a short program: its answer waits in the pipe for one wake-up."""
        if child.handle >= 0 and child.stdin < 0:
            poller = select.poll()
            poller.register(child.handle, select.POLLIN)
            self._ended = bool(poller.poll(milliseconds(min(deadline - time.monotonic(), _QUICK))))

    def _watch(self, child: Child) -> tuple[select.poll, _Takers]:
        """Say for each of our ends what is to be done when it is ready."""
        poller = select.poll()
        takers: _Takers = {
            child.stdout: lambda event: self._take_stdout(child.stdout, event),
            child.stderr: lambda event: self.stderr.take(child.stderr, event),
        }
        if child.handle >= 0 and not self._ended:
            takers[child.handle] = self._take_end
        for fd in takers:
            poller.register(fd, select.POLLIN)
        if child.stdin >= 0:
            takers[child.stdin] = lambda _event: self._take_room(child)
            poller.register(child.stdin, select.POLLOUT)
        return poller, takers

    def _take_all(self, child: Child, poller: select.poll, takers: _Takers, wait: float) -> None:
        wait = wait if child.handle >= 0 else min(wait, POLL_WITHOUT_HANDLE)
        for fd, event in poller.poll(milliseconds(wait)):
            # POLLHUP alone: every writer is gone and the pipe is empty, so there is nothing to read.
            if event == select.POLLHUP or not takers[fd](event):
                del takers[fd]
                poller.unregister(fd)
        if child.handle < 0 and not self._ended:
            self._ended = child.has_ended()

    def _take_stdout(self, fd: int, event: int) -> bool:
        data = os.read(fd, _CHUNK)
        self.stdout += data
        if len(self.stdout) > ANSWER_CAP:
            raise OutputTooLarge
        return has_more(data, event)

    def _take_room(self, child: Child) -> bool:
        self.feed(child)
        return child.stdin >= 0

    def _take_end(self, _event: int) -> bool:
        self._ended = True
        return False

    def _drain_stderr(self, child: Child) -> None:
        """Take what is there now; a background child may hold stderr open for ever."""
        poller = select.poll()
        poller.register(child.stderr, select.POLLIN)
        for _ in range(_LAST_READS):
            events = poller.poll(0)
            if not events or not self.stderr.take(child.stderr, events[0][1]):
                return


def milliseconds(seconds: float) -> int:
    """Convert for poll, which cannot wait for months; whoever waits longer polls again."""
    return max(0, int(min(seconds, _LONGEST_POLL) * 1000) + 1)


def has_more(data: bytes, event: int) -> bool:
    """Return True if a pipe may still give something after a read of at most _CHUNK bytes."""
    # With every writer gone (POLLHUP) a short read has emptied the pipe, which spares one more read.
    return bool(data) and not (event & select.POLLHUP and len(data) < _CHUNK)


_SHOWN_LINE = 200
_MATCHED = 500  # letters of a line that are looked at
_CRASHES = tuple(  # how a runtime says that it gave up; in text that holds several, the first line counts
    map(
        re.compile,
        (
            r"panic: |fatal error: ",  # Go
            r"PHP (?:Fatal|Parse) error: |(?:Fatal|Parse) error: ",  # PHP, OCaml
            r"(?:<internal:)?[^:\s][^:]*:\d+:in [`'][^']*': ",  # Ruby
            r"[^:\s][^:]*\.rb:\d+: (?!warning)",
            r"Can't locate |Global symbol |syntax error at ",  # Perl
            r"lua[\d.]*: ",
            r"thread '[^']*' (?:\(\d+\) )?panicked at ",  # Rust
            r"[^:\s][^:]*:(?:\d+:)+ (?:fatal )?error: |error\[E\d+\]: ",  # compilers
            r"(?:\./)?[^:\s]+\.go:\d+:\d+: ",
            r"jq: error",
            r"  what\(\):  ",  # C++
            r"(?:[^:\s]+: )?[^:\s]+:\d+: [^\n]*?\bAssertion ",  # C
            r"Unhandled exception|\*\* \(\w",  # .NET, Elixir
        ),
    )
)
_CAUSE = re.compile(r"Caused by: ")  # Java: the last one began it all
_EXCEPTION = re.compile(r"(Uncaught )?[\w.]*(Error|Exception)\b")
_AFTER = re.compile(  # what runtimes print after the reason
    r"\s*$|BEGIN failed--|Compilation failed in require|Execution of \S+ aborted|\S+ had compilation errors"
    r"|Execution halted|exit status \d+$|\d+ errors?$|error: compilation failed|Aborted|note: run with "
)
_TRACED = ("    while executing", "CallStack (from HasCallStack):")  # Tcl, Haskell: the reason stands before
_PLACE = re.compile(r"<internal:[^>]*>:\d+:in [`'][^']*': ")  # of a library of Ruby's own
_SEARCHED = " (@INC "  # where Perl looked, which is long
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_UNSET = tuple(  # how a language says that the environment has no variable of a name
    map(
        re.compile,
        (
            r"KeyError: '(?P<name>\w+)'$",  # Python, whose traceback says whether it was the environment
            r".*: key not found: \"(?P<name>\w+)\" \(KeyError\)",  # Ruby
            r"[^:]*: (?:line )?\d+: (?P<name>\w+): (?:unbound variable|parameter not set)",
        ),
    )
)
_PYTHONS = ("os.environ", "<frozen os>", "/os.py")


def telling_line(stderr: str) -> str:
    """Choose the line that says why a program failed; else its last one."""
    lines = stderr.strip("\r\n").split("\n")
    number = _number_of_telling([line[:_MATCHED].rstrip() for line in lines])
    line = lines[number].strip()
    if line.endswith(":") and number + 1 < len(lines) and _goes_on(line, lines[number + 1]):
        line = f"{line} {lines[number + 1].strip()}"
    line = _PLACE.sub("", line[:_MATCHED], count=1)
    return line.partition(_SEARCHED)[0][:_SHOWN_LINE]


def unset_variable(stderr: str) -> str:
    """Name the variable of the environment whose lack ended a program; empty where it was not that."""
    line = telling_line(stderr)
    if line.startswith("KeyError") and not any(word in stderr for word in _PYTHONS):
        return ""
    unset = next(filter(None, (pattern.match(line) for pattern in _UNSET)), None)
    return unset["name"] if unset and _VARIABLE.fullmatch(unset["name"]) else ""


def _number_of_telling(lines: list[str]) -> int:
    backwards = range(len(lines) - 1, -1, -1)
    for pattern in _CRASHES:
        if (first := next((n for n, line in enumerate(lines) if pattern.match(line)), None)) is not None:
            return first
    for pattern in (_CAUSE, _EXCEPTION):
        if (last := next((n for n in backwards if pattern.match(lines[n])), None)) is not None:
            return last
    if (traced := next((n for n, line in enumerate(lines) if line in _TRACED), 0)) > 0:
        return traced - 1
    return next((n for n in backwards if not _AFTER.match(lines[n])), len(lines) - 1)


def _goes_on(line: str, following: str) -> bool:
    """Return True where the reason stands on the next line: Rust's message, and R's where it is long."""
    return "panicked at " in line or (line.startswith("Error") and following.startswith("  "))


HINT_KILLED = "nothing of ours did this; a lack of memory often does"

_SHELL_SAYS = {  # what a shell, env and the like exit with
    126: "a program that it calls is not executable",
    127: "a program that it calls is not installed, or not on PATH",
}
_SIGNAL_BASE = 128  # a shell reports a program that a signal ended as 128 + the signal's number
_LOST_HINT = "this process ignores SIGCHLD, or something else in it waits for our children: let it do neither"
_CRASH_HINT = "it crashed: run it by hand on the same payload, a debugger or its own log may tell more"


def explain_failure(
    ended: Exit,
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
        return _explain_kill(_signal_name(-ended.status), stderr, contract.fix(question, stderr))
    words = telling_line(stderr) or _first_line(text_of(ended.stdout)) or "it said nothing"
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


def _explain_kill(name: str, stderr: str, fix: str) -> EvaluationError:
    """Explain an end by a signal; a program that aborts, as assert does, has said why."""
    why = telling_line(stderr) if name == "SIGABRT" else ""
    message = f"ended by {name}: {why}" if why else f"ended by {name}"
    hint = fix if why else HINT_KILLED if name == "SIGKILL" else _CRASH_HINT
    return EvaluationError(FailureKind.KILLED, message, detail=stderr, hint=hint, retry_after=0.0)


def _exit_hint(ended: Exit, program: Program, contract: Contract[QuestionT, AnswerT]) -> str:
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
    name = unset_variable(stderr)
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
