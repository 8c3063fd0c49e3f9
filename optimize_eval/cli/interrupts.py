"""Signals: what Ctrl-C, SIGTERM and SIGHUP do to a command. Loaded first; it imports nothing of ours."""

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimize_eval.run.host import Stop

_A_MOMENT = 0.005  # seconds
_LIKE_CTRL_C = (signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """A command was interrupted, and has printed so."""


def end_like_ctrl_c() -> None:
    """Let SIGTERM and SIGHUP act like Ctrl-C, but leave ignored what was ignored from the start (nohup)."""
    for number in (signal.SIGINT, *_LIKE_CTRL_C):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


@contextlib.contextmanager
def never_lost() -> Iterator[None]:
    """Interrupt again where Python drops an interrupt that came within a destructor or a callback."""
    former, sys.unraisablehook = sys.unraisablehook, _interrupt_again
    try:
        yield
    finally:
        sys.unraisablehook = former
        if _lost:
            _lost.clear()
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt


@contextlib.contextmanager
def stoppable(stop: "Stop") -> Iterator[None]:
    """Stop a run after the calls in flight at the first Ctrl-C (SIGTERM, SIGHUP), at once at the second."""
    ignored = [number for number in _LIKE_CTRL_C if signal.getsignal(number) is signal.SIG_IGN]
    numbers = [number for number in (signal.SIGINT, *_LIKE_CTRL_C) if number not in ignored]
    former = {number: signal.signal(number, lambda *_: stop.request()) for number in numbers}
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


_lost: list[type[KeyboardInterrupt]] = []  # interrupts that were dropped


def _interrupt_again(unraisable: "sys.UnraisableHookArgs") -> None:
    if unraisable.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(unraisable)
        return
    _lost.append(KeyboardInterrupt)
    signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, _A_MOMENT)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
