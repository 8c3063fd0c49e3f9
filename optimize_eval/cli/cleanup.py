"""Cleaning up after evaluators: however a command ends, nothing that they started is left."""

import contextlib
import signal
import time
from collections.abc import Iterator

from optimize_eval.cli.interrupts import uninterrupted
from optimize_eval.programs.leftovers import adopt_orphans, end_orphans, own_children, reap_adopted
from optimize_eval.programs.process import watchdog

_REAP_EVERY = 5.0  # seconds


@contextlib.contextmanager
def owned_processes() -> Iterator[None]:
    """Adopt what evaluators orphan, and end everything at the end, be that kill -9."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # an inherited SIG_IGN would lose every exit status
    with watchdog():
        ours_before = own_children()  # of a shell that became us by exec, too: not ours to end
        adopts = adopt_orphans()
        try:
            yield
        finally:
            with uninterrupted():
                if adopts:
                    end_orphans(ours_before)


class Reaper:
    """Collects what evaluators left behind and what has ended since, now and then during a long run."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _REAP_EVERY

    def __call__(self) -> None:
        if time.monotonic() >= self._next:
            reap_adopted()
            self._next = time.monotonic() + _REAP_EVERY
