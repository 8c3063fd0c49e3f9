"""What ends programs where we cannot: a shell that waits for our end, and then sweeps what we had started.

Only kill -9 needs it. The shell starts in a millisecond, once for a command, and costs no call anything;
PR_SET_PDEATHSIG would be tied to the thread that started a program, and would have to be set after the fork.
"""

import contextlib
import os
import sys
from collections.abc import Iterator

from optimize_eval.programs import leftovers
from optimize_eval.programs.spawn import Program, spawn

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
