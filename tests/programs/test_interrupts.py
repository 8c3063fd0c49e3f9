"""Ctrl-C at each line between the start of a call and its end: no process stays, and no descriptor."""

import linecache
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Timer
from types import FrameType, FunctionType
from typing import Any

import pytest

from optimize_eval.programs import one_shot, process
from optimize_eval.programs.leftovers import CALL_VARIABLE, own_children, sweep_starting
from tests.processes import descriptors, processes_with

HANGS = process.Program(
    argv=("sh", "-c", "sleep 600 & wait"),
    executable="/bin/sh",
    cwd=None,
    environment={b"PATH": os.environb[b"PATH"]},
)
ENDING = {*("await_end", "close", "descendants"), *("kill", "reap", "signal_group")}  # one Ctrl-C, not two
STARTING = {
    *("run", "_listen", "feed", "started", "start", "spawn", "_directly", "_arguments"),
    *("_open_handle", "_open_pipes", "_close_theirs", "close_stdin"),
}
LINES = {
    function.__code__
    for place in (one_shot, one_shot._Call, process, process.Child, process)  # noqa: SLF001
    for name, function in vars(place).items()
    if isinstance(function, FunctionType) and name in STARTING
}
pytestmark = pytest.mark.filterwarnings("ignore:subprocess:ResourceWarning")  # of a Popen that nobody got


@contextmanager
def interrupted_at(number: int) -> Iterator[list[str]]:
    """Raise KeyboardInterrupt at the n-th line of what starts a program; gives the lines until then."""
    reached: list[str] = []

    def trace(frame: FrameType, event: str, _argument: object) -> Callable[..., Any] | None:
        caller = frame.f_back.f_code.co_name if frame.f_back else ""
        if frame.f_code not in LINES or caller in ENDING:
            return None
        if event == "line":
            text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
            reached.append(f"{frame.f_code.co_name}:{frame.f_lineno}: {text}")
            if len(reached) == number:
                raise KeyboardInterrupt
        return trace

    tracer = sys.gettrace()
    sys.settrace(trace)
    try:
        yield reached
    finally:
        sys.settrace(tracer)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Close what an interrupt of the closing itself left."""
    before = set(Path("/dev/fd").iterdir())
    yield
    for path in set(Path("/dev/fd").iterdir()) - before:
        with suppress(OSError):  # that of the listing
            os.close(int(path.name))


def lines_of(start: Callable[[str], object]) -> list[str]:
    """Interrupt a start at its first line, its second, and so on until it is through; check each time."""
    for number in count(1):
        tag = os.urandom(6).hex()
        before, children = descriptors(), own_children()
        with suppress(KeyboardInterrupt, one_shot.DeadlinePassed), interrupted_at(number) as reached:
            start(tag)
        entry = CALL_VARIABLE + b"=" + tag.encode()
        assert not processes_with(entry), f"left by an interrupt at line {reached[-1]}"
        assert own_children() <= children, f"left before it had a tag, at line {reached[-1]}"
        is_closing = "close" in reached[-1]  # what must not be closed twice may be left
        assert is_closing or descriptors() == before, f"left open by an interrupt at line {reached[-1]}"
        if len(reached) < number:
            return reached
    raise AssertionError


def test_a_call_that_is_interrupted_anywhere_leaves_nothing() -> None:
    def call(tag: str) -> None:
        one_shot.run(HANGS, b"{}\n", tag=tag, variables={}, deadline=time.monotonic() + 0.05)

    assert any(line.startswith("_open_handle") for line in lines_of(call))


def test_a_start_that_is_interrupted_anywhere_leaves_nothing() -> None:
    def start(tag: str) -> None:
        child = process.start_program(HANGS, tag, {})
        child.kill()
        child.close()

    assert any(line.startswith("_close_theirs") for line in lines_of(start))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a table to find it in")
def test_what_has_no_environment_yet_is_waited_for() -> None:
    """A process that was just started has none: here one starts another program a moment later."""
    tag = os.urandom(6).hex()
    becomes = f"read line; {os.fsdecode(CALL_VARIABLE)}={tag} exec sleep 600"
    child = subprocess.Popen(["/bin/sh", "-c", becomes], stdin=subprocess.PIPE, env={})
    assert child.stdin
    Timer(0.1, child.stdin.close).start()
    try:
        sweep_starting(tag)
        assert child.poll() is not None
    finally:
        child.kill()
        child.wait()
