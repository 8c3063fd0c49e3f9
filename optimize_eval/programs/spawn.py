"""A program put into a process: by the function that subprocess itself uses for that.

Popen encodes the whole environment again for each process and does more that a call does not need: a quarter
of what a call costs us. The function under it is private. Where Python is not one of those that it is known
of, and whenever it refuses, Popen starts the program, or says why it does not start.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from optimize_eval.base.frozen import frozen

_KNOWN = frozenset({(3, 11), (3, 12), (3, 13)})  # the versions whose arguments these are
_FIRST_FREE = 3  # below it are descriptors that the program gets
_OURS = 0  # only for Popen: who waits for the process is not Popen


def _fork_exec() -> Callable[..., int] | None:
    try:
        from _posixsubprocess import fork_exec  # noqa: PLC0415  another Python than CPython has none
    except ImportError:
        return None
    return fork_exec if sys.version_info[:2] in _KNOWN else None


_FORK_EXEC = _fork_exec()


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
