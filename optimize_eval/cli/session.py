"""The span in which a command runs evaluators: whatever ends it, nothing they started is left."""

import contextlib
import signal
import time
from collections.abc import Iterator
from types import FrameType

from optimize_eval.reach.process import adopt_orphans, end_orphans, own_children, reap_adopted
from optimize_eval.run.stop import Stop

_REAP_EVERY = 5.0  # seconds
_LIKE_CTRL_C = (signal.SIGTERM, signal.SIGHUP)


def end_like_ctrl_c() -> None:
    """Let SIGTERM and SIGHUP act like Ctrl-C, but leave ignored what was ignored from the start (nohup)."""
    for number in _LIKE_CTRL_C:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


@contextlib.contextmanager
def owned_processes() -> Iterator[None]:
    """Adopt what evaluators orphan, and end everything at the end."""
    ours_before = own_children()  # of a shell that became us by exec: not ours to end
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # an inherited SIG_IGN would lose every exit status
    adopts = adopt_orphans()
    try:
        yield
    finally:
        with _uninterrupted():
            if adopts:
                end_orphans(ours_before)


class Interrupted(Exception):
    """A command was interrupted, and has said so."""


class Reaper:
    """Collects what evaluators left behind and what has ended since, now and then during a long run."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _REAP_EVERY

    def __call__(self) -> None:
        if time.monotonic() >= self._next:
            reap_adopted()
            self._next = time.monotonic() + _REAP_EVERY


@contextlib.contextmanager
def stoppable(stop: Stop) -> Iterator[None]:
    """Let Ctrl-C and its like ask a run to stop; once more, and it stops at once."""
    ignored = [number for number in _LIKE_CTRL_C if signal.getsignal(number) is signal.SIG_IGN]
    numbers = [number for number in (signal.SIGINT, *_LIKE_CTRL_C) if number not in ignored]
    former = {number: signal.signal(number, lambda *_: stop.ask()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignore signals while cleaning up, which takes a moment and must not be cut short."""
    former = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, *_LIKE_CTRL_C)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
