"""Signals: what Ctrl-C, SIGTERM and SIGHUP do to a command. It loads nothing, being there before all else."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimize_eval.run.stop import Stop

_LIKE_CTRL_C = (signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """A command was interrupted, and has said so."""


def end_like_ctrl_c() -> None:
    """Let SIGTERM and SIGHUP act like Ctrl-C, but leave ignored what was ignored from the start (nohup)."""
    for number in _LIKE_CTRL_C:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


@contextlib.contextmanager
def stoppable(stop: "Stop") -> Iterator[None]:
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
def uninterrupted() -> Iterator[None]:
    """Ignore signals while cleaning up, which takes a moment and must not be cut short."""
    former = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, *_LIKE_CTRL_C)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
