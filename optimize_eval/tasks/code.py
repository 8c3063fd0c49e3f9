"""Code that tasks bring along, as its callers see it: what it runs in, and its failures in words.

It runs in processes that are kept alive, and end with those that hold them. They have no secrets of our
environment, no more memory than `code_program` says, and until the deadline of each call. Else they run
with the user's rights, or enclosed, without these: then code of one task is in no process with another's.

The sandbox is a program that stands alone, beside the shipped evaluators. It tries once what this machine
has, and says how processes are started in it.
"""

import base64
import os
import re
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from functools import cache, partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, Protocol

from optimize_eval.base import shipped, strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec, Opened
from optimize_eval.base.frozen import frozen
from optimize_eval.base.secrets import is_confidential_variable
from optimize_eval.programs import leftovers, one_shot, process
from optimize_eval.programs.exchange import CommandLine
from optimize_eval.programs.not_started import explain_refusal
from optimize_eval.programs.one_shot import DeadlinePassed
from optimize_eval.programs.process import Program
from optimize_eval.programs.worker import (
    CLOSED,
    PATIENCE,
    MakeLine,
    Pool,
    Worker,
    WorkerBroken,
    WorkerLike,
    WorkerReply,
)

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

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
    "SIGKILL": one_shot.HINT_KILLED,
    "SIGABRT": "a library gave up: it may have run out of memory (code has 4 GiB)",
}
_HINT_FOREIGN = "what came from it was no answer: the code may write where its process answers"
_LONGEST_LINE = 200


def reported(function: str, fault: str, printed: bytes, *, is_enclosed: bool) -> EvaluationError:
    """Explain a call that failed in the code itself."""
    hint = _hint_of(fault) if is_enclosed else ""
    return EvaluationError(
        FailureKind.REPORTED, f"{function}: {fault}", detail=one_shot.text_of(printed), hint=hint
    )


def failure_of(function: str, seconds: float, error: Exception, *, is_enclosed: bool) -> EvaluationError:
    """Explain a call that its process did not answer; raises what is another error."""
    match error:
        case DeadlinePassed():
            hint = "make it faster, or allow more with --timeout"
            message, printed = f"{function} takes longer than {seconds:.3g} s", one_shot.text_of(error.stderr)
            return EvaluationError(FailureKind.TIMEOUT, message, detail=printed, hint=hint)
        case process.NotStarted():
            python = CommandLine(argv=(sys.executable,))  # for words alone
            return explain_refusal(
                EvaluatorSpec(name="code", text="code", target=python), sys.executable, error.error
            )
        case WorkerBroken():
            return _explain_end(function, error, is_enclosed=is_enclosed)
    raise error


def _explain_end(function: str, broken: WorkerBroken, *, is_enclosed: bool) -> EvaluationError:
    """Say how a process came to its end, as far as it told."""
    said = one_shot.text_of(broken.stderr)
    last = said.strip().rpartition("\n")[2][:_LONGEST_LINE]
    first = one_shot.text_of(broken.stdout).partition("\n")[0]
    if is_enclosed and (why := _of_sandbox(first, last, str(broken))):
        message = f"the sandbox of {function} did not start: {why[:_LONGEST_LINE]}"
        return EvaluationError(FailureKind.START_FAILED, message, detail=said, hint=_HINT_NO_SANDBOX)
    if broken.status is None:
        how, hint = str(broken), _HINT_FOREIGN
    else:
        end, by = one_shot.ending(broken.status)
        how = f"it ended {end}"
        hint = _HINTS_SIGNAL.get(by, _HINT_CRASHED) if by else _HINT_EXITED
    message = f"the process of {function} is gone: {how}{': ' * bool(last)}{last}"
    return EvaluationError(FailureKind.KILLED, message, detail=said, hint=hint)


def _of_sandbox(*said: str) -> str:
    """Find what a sandbox says that does not start; the words about a line that is no answer have it, too."""
    found = (_OF_SANDBOX.search(text) for text in said)
    return next((hit[1] for hit in found if hit), "")


def _hint_of(fault: str) -> str:
    """Say what of a fault the sandbox did."""
    return _HINT_DENIED if fault.startswith(_DENIED) else ""


NONE = "none"  # the level without a sandbox

_BESIDE = Path(__file__)
_PROGRAM, _ARGUMENTS = _BESIDE.with_name("code_program.py"), _BESIDE.with_name("code_arguments.py")
_HOSTING = "evaluators/_hosting.py"
_TO_TRY = 60.0  # seconds, of which it takes one


@frozen
class Hosting:
    """How processes for code are started, and what closes them in."""

    level: str
    program: Program
    first: bytes = field(default=b"", repr=False)  # what their stdin begins with
    takes_folder: bool = False  # of its own, to write to
    layers: Sequence[str] = ()
    missing: Sequence[str] = ()  # promises that nothing keeps

    @property
    def is_enclosed(self) -> bool:
        return self.level != NONE

    def to_dict(self) -> JsonDict:
        """Give what a run records of it."""
        if not self.is_enclosed:
            return {"sandbox": self.level}
        return {"sandbox": self.level, "layers": [*self.layers], "missing": [*self.missing]}


class Starter:
    """Starts processes for code, from a thread of its own where they are enclosed: they end with it."""

    def __init__(self, level: str) -> None:
        self._level = level
        self._thread = _thread() if hosting(level).is_enclosed else None
        self._folders: list[str] = []

    @property
    def is_enclosed(self) -> bool:
        return self._thread is not None

    def start(self, tag: str) -> tuple[process.Child, bytes]:
        """Start a process, and give what its stdin begins with; raises NotStarted."""
        how = hosting(self._level)
        start = partial(process.start_program, how.program, tag, self._variables(how))
        return (_started_by(self._thread, start) if self._thread else start()), how.first

    def close(self) -> None:
        """Let no thread and no folder stay; the processes have ended, or end with the thread."""
        if self._thread:
            self._thread.shutdown()
        for folder in self._folders:
            with suppress(RecursionError):  # of who nests folders to spite us
                rmtree(folder, ignore_errors=True)

    def _variables(self, how: Hosting) -> dict[bytes, bytes]:
        if not how.takes_folder:
            return {}
        folder = tempfile.mkdtemp(prefix="scratch-")
        self._folders.append(folder)
        return dict.fromkeys((b"TMPDIR", b"HOME"), os.fsencode(folder))


def hosting(level: str) -> Hosting:
    """Find out how code is run at a level; raises UsageError where the level cannot be kept."""
    if level != NONE:
        return enclosed(level)
    # P: it stands beside modules of ours; u: prints come now
    return Hosting(level=level, program=_program((sys.executable, "-Pu", str(_PROGRAM)), _harmless()))


@cache
def enclosed(level: str) -> Hosting:
    """Let the sandbox try once what this machine has."""
    told = _try_sandbox(level)
    if refused := told.get("refused"):
        raise UsageError(f"the tasks' code is not run: {refused}")
    environment = {os.fsencode(name): os.fsencode(text) for name, text in told["environment"].items()}
    return Hosting(
        level=level,
        program=_program(tuple(told["argv"]), environment, cwd="/"),
        first=base64.b64decode(told["first"]),
        takes_folder=told["takes_folder"],
        layers=tuple(told["layers"]),
        missing=tuple(told["missing"]),
    )


def _thread() -> "ThreadPoolExecutor":
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  see above

    return ThreadPoolExecutor(1, "sandbox")


def _started_by(thread: "ThreadPoolExecutor", start: Callable[[], process.Child]) -> process.Child:
    started = thread.submit(start)
    try:
        return started.result()
    except BaseException:  # Ctrl-C, maybe: nobody will have it
        started.add_done_callback(_end)
        raise


def _end(started: "Future[process.Child]") -> None:
    if started.exception() is None:
        started.result().kill()
        started.result().close()


def _try_sandbox(level: str) -> JsonMapping:
    """Let the sandbox say what it has."""
    argv = (sys.executable, str(shipped.path(_HOSTING)), level, str(_PROGRAM), str(_ARGUMENTS))
    tag, deadline = os.urandom(6).hex(), time.monotonic() + _TO_TRY
    try:
        ended = one_shot.run(_program(argv, _harmless()), b"", tag=tag, variables={}, deadline=deadline)
        told: JsonMapping = strict_json.loads(ended.stdout.decode(), unique_keys=True)
    except (
        one_shot.DeadlinePassed,
        one_shot.OutputTooLarge,
        process.NotStarted,
        ValueError,
    ) as error:
        raise UsageError(
            f"the tasks' code is not run: the sandbox does not start ({type(error).__name__})",
            hint=f"see what it says: {' '.join(argv)}",
        ) from None
    return told


def _program(argv: tuple[str, ...], environment: Mapping[bytes, bytes], cwd: str | None = None) -> Program:
    return Program(argv=argv, executable=argv[0], cwd=cwd, environment=environment)


def _harmless() -> Mapping[bytes, bytes]:
    kept = {name: text for name, text in os.environ.items() if not is_confidential_variable(name, text)}
    return {os.fsencode(name): os.fsencode(text) for name, text in kept.items()}


Ask = Callable[[JsonMapping], JsonMapping]  # what a snippet wants of a model → its reply

_MOST_SOLVING = 32  # processes that mostly wait for models


class Snippets(Protocol):
    """What runs code; for many threads."""

    def call(
        self,
        code: str,
        function: str,
        arguments: JsonMapping,
        deadline: float,
        *,
        ask: Ask | None = None,
    ) -> Any:
        """Call a function that the code defines, plain or async, and give what it returns: a JSON value.

        Arguments are JSON values by name, in the order in which the function takes them; the last ones are
        left out where it takes fewer. Those of these names become what the API promises:

        sample, samples       as they are
        solver_output         of {"items": […], "completion": {…}}, an object with output and messages
        scores                of [{"values": {…}, "metadata": {…}}], objects with these two attributes
        trace, model          of the same as solver_output, a SolverTrace; of {}, what calls `ask`

        Raises EvaluationError: REPORTED with the words and the line of an exception, TIMEOUT, KILLED.
        """
        ...

    def close(self) -> None:
        """End its processes; it is not called again."""
        ...


class _Talk:
    """A call: its first line, and the replies that the code wants of a model meanwhile."""

    def __init__(self, code: str, question: JsonMapping, ask: Ask | None) -> None:
        self.digest = str(question["digest"])
        self.failure: EvaluationError | None = None
        self._code = code
        self._question = question
        self._ask = ask

    def __call__(self, identity: str, *, is_known: bool = False) -> bytes:
        code = {} if is_known else {"code": self._code}
        return strict_json.dumps({**self._question, **code, "_id": identity}) + b"\n"

    def replied(self, wanted: object) -> JsonMapping:
        """Have a model called; that this failed is the call's failure, whatever the code makes of it."""
        if self._ask is None:
            return {"_error": "no model can be called from here"}
        if not isinstance(wanted, Mapping):
            return {"_error": "a model is sent messages, or items"}
        try:
            return {"_reply": self._ask(wanted)}
        except EvaluationError as error:
            self.failure = self.failure or error
            return {"_error": error.message}


class _Process:
    """One process, which keeps the code that it was sent."""

    reason = ""  # it breaks only while it owes an answer

    def __init__(self, worker: Worker, first: bytes) -> None:
        """Take a process, whose stdin begins with something else than calls."""
        self._worker = worker
        self._first = first
        self._known: set[str] = set()
        self.interrupt = worker.interrupt
        self.close_stdin = worker.close_stdin
        self.close = worker.close

    @property
    def is_dead(self) -> bool:
        return self._worker.is_dead

    def call(self, make_line: MakeLine, deadline: float) -> WorkerReply:
        assert isinstance(make_line, _Talk)  # noqa: S101  for the checker
        line = partial(self._line, partial(make_line, is_known=make_line.digest in self._known))
        reply = self._worker.call(line, deadline)
        while (wanted := reply.answer.get("_ask")) is not None:
            began = time.monotonic()
            said = self._reply_to(make_line, wanted)
            deadline += time.monotonic() - began  # a model's time is its own
            reply = self._worker.call(partial(_line_of, said), deadline)
        if "value" in reply.answer:
            self._known.add(make_line.digest)
        return reply

    def _line(self, make_line: MakeLine, identity: str) -> bytes:
        first, self._first = self._first, b""
        return first + make_line(identity)

    def _reply_to(self, talk: _Talk, wanted: object) -> JsonMapping:
        try:
            return talk.replied(wanted)
        except BaseException:  # nobody will answer the code any more
            self.close_stdin()
            self.close(time.monotonic())
            raise


class HostedSnippets:
    """Runs code in processes, of which there are more when several threads call."""

    def __init__(self, level: str = NONE) -> None:
        """Raise UsageError where processes cannot be closed in as the level says."""
        self._starter = Starter(level)
        self._tag = os.urandom(6).hex()
        self._starts = count(1)
        self._has_started = self._is_closed = False
        scoring = Pool(self._start, _no_note, size=os.cpu_count() or 1, window=1)
        solving = Pool(self._start, _no_note, size=_MOST_SOLVING, window=1, first=PATIENCE)  # a model is slow
        self._pools = (scoring, solving)
        ends = (self._pools, self._starter, os.getpid())
        self._ending = weakref.finalize(self, _close_all, *ends)  # at exit, too

    def call(
        self,
        code: str,
        function: str,
        arguments: JsonMapping,
        deadline: float,
        *,
        ask: Ask | None = None,
    ) -> Any:
        digest = sha256(code.encode(errors="replace")).hexdigest()
        talk = _Talk(code, {"digest": digest, "function": function, "arguments": arguments}, ask)
        seconds = deadline - time.monotonic()
        try:
            answer, printed = self._pools[ask is not None].call(talk, seconds)
        except (DeadlinePassed, WorkerBroken, process.NotStarted) as error:
            if self._is_closed:
                raise EvaluationError(FailureKind.INTERNAL, CLOSED) from None
            enclosed = self._starter.is_enclosed
            raise talk.failure or failure_of(function, seconds, error, is_enclosed=enclosed) from None
        if talk.failure:
            raise talk.failure
        if "value" not in answer:
            fault = str(answer.get("fault"))
            raise reported(function, fault, printed, is_enclosed=self._starter.is_enclosed)
        return answer["value"]

    def close(self) -> None:
        self._is_closed = True
        self._ending()
        if self._has_started:
            leftovers.sweep(self._tag)

    def _start(self) -> WorkerLike:
        self._has_started = True
        child, first = self._starter.start(f"{self._tag}.{next(self._starts)}")
        return _Process(Worker(child), first)


def share_snippets(opened: Opened, level: str = "", place: str = "") -> HostedSnippets:
    """Take part in the processes that code runs in.

    Without a sandbox that is all code of a command; else all that has the same place, such as a task.
    """
    is_enclosed = level not in {"", NONE}
    key = (level, place) if is_enclosed else (NONE, "")
    return opened.share((HostedSnippets, *key), partial(HostedSnippets, key[0]))


def _line_of(said: JsonMapping, identity: str) -> bytes:
    return strict_json.dumps({**said, "_id": identity}) + b"\n"


def _no_note(_broken: WorkerBroken) -> None:
    pass


def _close_all(pools: tuple[Pool, ...], starter: Starter, pid: int) -> None:
    if pid == os.getpid():
        for pool in pools:
            pool.close()
        starter.close()
