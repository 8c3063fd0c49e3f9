"""Other people's programs as processes: a start with three pipes, and an end that leaves nothing behind.

What goes through the pipes, and what a status or an output *means*, is said in one_shot and worker, why a
program did not start at all in not_started. A program runs in its own session, so that its process
group can be killed as one; what leaves the group is found and ended by leftovers.

It is started by the function under Popen, which is private: Popen encodes the whole environment again for
each process and does more that a call does not need, a quarter of what a call costs us. Where Python is not
one of those that it is known of, and whenever it refuses, Popen starts the program, or says why it cannot.

After kill -9 a watchdog ends what was started: a shell that starts in a millisecond, once for a command.
PR_SET_PDEATHSIG would be tied to the thread that started a program, and would have to be set after the fork.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from optimize_eval.base.frozen import frozen
from optimize_eval.programs import leftovers
from optimize_eval.programs.leftovers import (
    CALL_VARIABLE,
    HAS_PIDFD,
    STUCK,
    Process,
    descendants,
    is_readable,
    sweep,
    sweep_starting,
)

_KNOWN = frozenset({(3, 11), (3, 12), (3, 13)})  # the versions whose arguments these are
_FIRST_FREE = 3  # below it are descriptors that the program gets
_OURS = 0  # only for Popen: who waits for the process is not Popen


_FORK_EXEC: Callable[..., int] | None = None
with contextlib.suppress(ImportError):  # another Python than CPython has none
    from _posixsubprocess import fork_exec

    _FORK_EXEC = fork_exec if sys.version_info[:2] in _KNOWN else None


@frozen
class Program:
    """What to start: found once, started for every call."""

    argv: tuple[str, ...]
    executable: str  # its path
    cwd: str | None
    environment: Mapping[bytes, bytes]
    entries: dict[tuple[bytes, ...], list[bytes]] = field(default_factory=dict, compare=False, repr=False)

    def environment_with(self, variables: Mapping[bytes, bytes]) -> list[bytes]:
        """Encode the environment with these variables, and what stays of it only once."""
        names = tuple(variables)
        base = self.entries.get(names)
        if base is None:
            inherited = self.environment.items()
            base = [name + b"=" + text for name, text in inherited if name not in variables]
            self.entries[names] = base
        return [*base, *(name + b"=" + text for name, text in variables.items())]


def spawn(program: Program, variables: Mapping[bytes, bytes], pipes: Sequence[int]) -> int:
    """Start a program as the leader of a session of its own; gives its pid, to be waited for.

    `pipes` become its stdin, stdout and stderr. Raises OSError where it does not start.
    """
    return _directly(program, variables, pipes) or _by_popen(program, variables, pipes)


def _directly(program: Program, variables: Mapping[bytes, bytes], pipes: Sequence[int]) -> int:
    """Start it without Popen; 0 where that is not possible."""
    ends: list[int] = []  # of a pipe on which exec, which closes it, says nothing
    try:
        ends += os.pipe()
        if _FORK_EXEC is None or ends[-1] < _FIRST_FREE:
            return 0
        sys.audit("subprocess.Popen", program.executable, program.argv, program.cwd, program.environment)
        pid = _FORK_EXEC(*_arguments(program, variables, pipes, *ends))
        os.close(ends.pop())
        if not os.read(ends[0], 1):
            return pid
        with contextlib.suppress(ChildProcessError):  # of a host that ignores SIGCHLD
            os.waitpid(pid, 0)
        return 0  # Popen will say why
    finally:
        _close(ends)


def _close(ends: list[int]) -> None:
    while ends:
        os.close(ends.pop())


def _arguments(
    program: Program, variables: Mapping[bytes, bytes], pipes: Sequence[int], report: int, theirs: int
) -> tuple[object, ...]:
    stdin, stdout, stderr = pipes
    environment = program.environment_with(variables)
    closes_others = restores_signals = leads_session = is_vfork = True
    return (
        *(
            [*program.argv],
            [os.fsencode(program.executable)],
            closes_others,
            (theirs,),
            program.cwd,
            environment,
        ),
        *(stdin, -1, -1, stdout, -1, stderr, report, theirs, restores_signals, leads_session),
        *(-1, None, None, None, -1, None),  # no group, user or mask of its own, nothing called before exec
        is_vfork,
    )


def _by_popen(program: Program, variables: Mapping[bytes, bytes], pipes: Sequence[int]) -> int:
    stdin, stdout, stderr = pipes
    # start_new_session keeps vfork; preexec_fn, user= and the like would fall back to a slow fork.
    started = subprocess.Popen(
        program.argv,
        executable=program.executable,
        cwd=program.cwd,
        env={**program.environment, **variables},
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )
    started.returncode = _OURS
    return started.pid


POLL_WITHOUT_HANDLE = 0.01  # seconds between looks at a process that cannot be waited for in a poll

_HAS_WAITID = hasattr(os, "waitid")  # macOS has it from Python 3.13
_LOST = 256  # no status of a process


class NotStarted(Exception):
    """The operating system refused to start the program."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error


class Child:
    """One started program: our ends of its pipes, and the ways to end it.

    `stdin`, `stdout` and `stderr` are descriptors, `stdin` a non-blocking one; `handle` becomes readable when
    the program ends, or is -1 where the system has nothing of the kind. A closed one is -1.
    """

    __slots__ = ("_pid", "_status", "_tag", "_theirs", "handle", "stderr", "stdin", "stdout")

    def __init__(self, tag: str) -> None:
        """Start nothing yet: Ctrl-C may come at any instruction, and who has this can end what starts."""
        self._tag = tag
        self._pid = 0  # not known
        self._status: int | None = None  # how it ended, once it is reaped
        self._theirs = [-1, -1, -1]  # the program's ends of the pipes, until it has them
        self.stdin = self.stdout = self.stderr = self.handle = -1

    def start(
        self,
        program: Program,
        variables: Mapping[bytes, bytes],
        first: Callable[["Child"], None] = lambda _child: None,
    ) -> None:
        """Start; `first` is called when the pipes are there, before the program is. Raises NotStarted."""
        try:
            self._open_pipes()
            first(self)
            self._pid = spawn(program, {**variables, CALL_VARIABLE: os.fsencode(self._tag)}, self._theirs)
            self._open_handle()
        except OSError as error:
            self.close()
            raise NotStarted(error) from error
        self._close_theirs()

    def has_ended(self) -> bool:
        """Look without waiting and, where the system can, without reaping: the group keeps its number."""
        try:
            if _HAS_WAITID:
                return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            return self._status is not None or self._is_reaped(os.WNOHANG)
        except ChildProcessError:
            return True

    def await_end(self, seconds: float) -> bool:
        """Wait for the end at most so long; see has_ended about reaping."""
        if self.handle >= 0:
            return is_readable(self.handle, seconds)
        until = time.monotonic() + seconds
        while not (has_ended := self.has_ended()) and time.monotonic() < until:
            time.sleep(POLL_WITHOUT_HANDLE)
        return has_ended

    def signal_group(self, number: signal.Signals) -> None:
        if HAS_PIDFD and self._status is not None:
            return  # reaped: the number may be somebody else's by now
        try:
            os.killpg(self._pid, number)
        except (ProcessLookupError, PermissionError):  # macOS says EPERM of a group of zombies
            return

    def reap(self) -> int | None:
        """Kill what the ended program left in its group, then collect its status; None if that was lost.

        It is lost where the host ignores SIGCHLD or waits for all children.
        """
        # The order matters: until the leader is reaped, its group's number cannot belong to anybody else.
        self.signal_group(signal.SIGKILL)
        try:
            if self._status is None:  # else the pid may be another child's by now
                self._is_reaped()
        except ChildProcessError:
            self._status = _LOST
        return self.status

    def _is_reaped(self, options: int = 0) -> bool:
        pid, status = os.waitpid(self._pid, options)
        if pid:
            self._status = os.waitstatus_to_exitcode(status)
        return bool(pid)

    @property
    def status(self) -> int | None:
        """Give the status of a program that was reaped; None where that was lost."""
        return None if self._status == _LOST else self._status

    def descendants(self) -> list[Process]:
        return descendants(self._pid)

    def kill(self, seen: Iterable[Process] = ()) -> None:
        """End the group, and whatever else carries this call's tag or was seen below it."""
        if not self._pid:  # Ctrl-C came between the start and its being known here
            sweep_starting(self._tag)
            return
        below = [*seen, *self.descendants()] if self._status is None else [*seen]
        self.signal_group(signal.SIGKILL)
        if self.await_end(STUCK):
            self.reap()
        sweep(self._tag, below)

    def close_stdin(self) -> None:
        if self.stdin >= 0:
            fd, self.stdin = self.stdin, -1  # first: Ctrl-C in between must not let it be closed twice
            os.close(fd)

    def close(self) -> None:
        self._close_theirs()
        for fd in (self.stdin, self.stdout, self.stderr, self.handle):
            if fd >= 0:
                os.close(fd)
        self.stdin = self.stdout = self.stderr = self.handle = -1

    def _open_handle(self) -> None:
        if HAS_PIDFD:
            with contextlib.suppress(OSError):  # out of descriptors: the slower way works too
                self.handle = os.pidfd_open(self._pid)

    def _open_pipes(self) -> None:
        # os.pipe is close-on-exec from birth, so no other slot's child can inherit an end.
        self._theirs[0], self.stdin = os.pipe()
        self.stdout, self._theirs[1] = os.pipe()
        self.stderr, self._theirs[2] = os.pipe()
        os.set_blocking(self.stdin, False)

    def _close_theirs(self) -> None:
        while self._theirs:  # a line for both: Ctrl-C between them would leave one open
            os.close(self._theirs.pop()) if self._theirs[-1] >= 0 else self._theirs.pop()


def start_program(program: Program, tag: str, variables: Mapping[bytes, bytes]) -> Child:
    """Start a program that stays; Ctrl-C meanwhile leaves nothing of it. Raises NotStarted."""
    child = Child(tag)
    try:
        child.start(program, variables)
        return child  # noqa: TRY300  until it is given away, it is ours to end
    except NotStarted:
        raise
    except BaseException:
        child.kill()
        child.close()
        raise


_SHELL = "/bin/sh"
# Its words name nothing of ours: `pkill -9 -f optimize-eval` must not end it, too.
_SCRIPT = 'read -r _ || exec "$PYTHON" -I -S "$SWEEP" "$TAG"'
_TAG = leftovers.CALL_VARIABLE.decode()


@contextlib.contextmanager
def watchdog() -> Iterator[None]:
    """Let what is started within be killed as soon as this process is gone, however that ends."""
    former = os.environ.get(_TAG)
    tag = f"{former or ''}.{os.urandom(6).hex()}".lstrip(".")
    theirs, ours = os.pipe()
    pid = 0
    try:
        pid = _start(tag, theirs)
        os.environ[_TAG] = tag  # the tags of all calls begin with it
        yield
    finally:
        _set_tag(former)
        _dismiss(pid, theirs, ours)


def _start(tag: str, stdin: int) -> int:
    """Start the shell; 0 where there is none, or no process table that it could sweep."""
    if not (leftovers.HAS_PROC and sys.executable):
        return 0
    environment = {"PYTHON": sys.executable, "SWEEP": leftovers.__file__, "TAG": tag}
    shell = Program(
        argv=("sh", "-c", _SCRIPT),
        executable=_SHELL,
        cwd="/",
        environment={os.fsencode(name): os.fsencode(text) for name, text in environment.items()},
    )
    with contextlib.suppress(OSError), open(os.devnull, "wb") as nowhere:  # noqa: PTH123  no Path: each start
        return spawn(shell, {}, (stdin, nowhere.fileno(), nowhere.fileno()))
    return 0


def _set_tag(former: str | None) -> None:
    if former is None:
        os.environ.pop(_TAG, None)
    else:
        os.environ[_TAG] = former


def _dismiss(pid: int, theirs: int, ours: int) -> None:
    """Tell the shell that nothing is left to sweep."""
    with contextlib.suppress(BrokenPipeError):
        os.write(ours, b"\n")
    os.close(ours)
    os.close(theirs)
    if pid:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
