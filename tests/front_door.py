"""The front door: `optimize-eval` with its arguments, its exit status and both streams.

`in_this_process` calls the program's entry as a start of it would, and costs no start; `in_its_own_process`
starts the installed program, for tests where the process is the point: signals, streams, encodings, kills.
That both give the same is a law in cli/test_front_door.py.
"""

import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import orjson

from optimize_eval.cli import main
from tests.paths import PROGRAM

Cli = Callable[..., "Result"]

_SIGNALS: Mapping[signal.Signals, Any] = {  # as a program that a shell starts finds them
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
    signal.SIGCHLD: signal.SIG_DFL,
}
_READ_AT_START = re.compile("PYTHON|LD_")
_LONGEST = 50  # seconds
_SET_SUBREAPER, _GET_SUBREAPER = 36, 37


@dataclass(frozen=True, slots=True)
class Result:
    """What a finished command left: its exit status and both streams."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return orjson.loads(self.stdout)


def in_its_own_process(folder: Path) -> Cli:
    """Start the installed program in a folder."""

    def run(*arguments: str | Path, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Result:
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            cwd=folder,
            env=_environment(env),
            timeout=_LONGEST,
            check=False,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def in_this_process(folder: Path) -> Cli:
    """Call what the installed program calls, as if in a process of its own in a folder."""

    def run(*arguments: str | Path, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> Result:
        assert not any(_READ_AT_START.match(name) for name in env or ()), (
            "use `program`: Python reads it once"
        )
        with ExitStack() as undo:
            undo.enter_context(_own_environment(_environment(env)))
            undo.enter_context(_own_folder(folder))
            undo.enter_context(_own_arguments([str(PROGRAM), *map(str, arguments)]))
            undo.enter_context(_own_signals())
            undo.enter_context(_own_orphans())
            stdout, stderr = undo.enter_context(_own_streams(stdin))
            status = _status_of(main)
            return Result(status, _text_of(stdout), _text_of(stderr))

    return run


def _environment(given: Mapping[str, str] | None) -> dict[str, str]:
    """Hand on the test's environment, but not that it runs under CI: that changes what is printed."""
    return {**{name: value for name, value in os.environ.items() if name != "CI"}, **(given or {})}


def _status_of(entry: Callable[[], None]) -> int:
    try:
        entry()
    except SystemExit as ending:
        assert isinstance(ending.code, int)
        return ending.code
    return 0


@contextmanager
def _own_environment(environment: Mapping[str, str]) -> Iterator[None]:
    former = dict(os.environ)
    _make_environment(environment)
    try:
        yield
    finally:
        _make_environment(former)


def _make_environment(wanted: Mapping[str, str]) -> None:
    """Set and take away what differs, which is little."""
    here = dict(os.environ)
    for name in here.keys() - wanted.keys():
        del os.environ[name]
    os.environ.update({name: value for name, value in wanted.items() if here.get(name) != value})


@contextmanager
def _own_folder(folder: Path) -> Iterator[None]:
    former = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(former)


@contextmanager
def _own_arguments(arguments: list[str]) -> Iterator[None]:
    former, sys.argv = sys.argv, arguments
    try:
        yield
    finally:
        sys.argv = former


@contextmanager
def _own_signals() -> Iterator[None]:
    former = {number: signal.signal(number, handler) for number, handler in _SIGNALS.items()}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@contextmanager
def _own_orphans() -> Iterator[None]:
    """Let a run make our process the parent of orphans, but no longer than it lasts."""
    if sys.platform != "linux":
        yield
        return
    prctl, former = ctypes.CDLL(None).prctl, ctypes.c_int()
    prctl(_GET_SUBREAPER, ctypes.byref(former), 0, 0, 0)
    try:
        yield
    finally:
        prctl(_SET_SUBREAPER, former.value, 0, 0, 0)


@contextmanager
def _own_streams(stdin: bytes) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Put files in the place of the three standard descriptors, and new stream objects on them."""
    with ExitStack() as undo:
        files = [undo.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        files[0].write(stdin)
        files[0].seek(0)
        for number, (name, file) in enumerate(zip(("stdin", "stdout", "stderr"), files, strict=True)):
            undo.callback(_put_back, name, getattr(sys, name), number, os.dup(number))
            os.dup2(file.fileno(), number)
            mode, errors = ("w", "backslashreplace") if name == "stderr" else ("rw"[number], "strict")
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", errors=errors, closefd=False))
        yield files[1], files[2]


def _put_back(name: str, stream: Any, number: int, descriptor: int) -> None:
    getattr(sys, name).close()
    setattr(sys, name, stream)
    os.dup2(descriptor, number)
    os.close(descriptor)


def _text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()
