"""The span in which a command runs evaluators: whatever ends it, nothing they started is left."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

from optimize_eval.reach.process import adopt_orphans, end_orphans

_LIKE_CTRL_C = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def owned_processes() -> Iterator[None]:
    """Adopt what evaluators orphan, let SIGTERM and SIGHUP act like Ctrl-C, and end everything at the end."""
    adopts = adopt_orphans()
    for number in _LIKE_CTRL_C:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in (signal.SIGINT, *_LIKE_CTRL_C):
            signal.signal(number, signal.SIG_IGN)  # the cleaning up takes a moment and must not be cut short
        if adopts:
            end_orphans()
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
