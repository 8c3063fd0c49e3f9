"""What a command offers to a session: signals, cleaning up after evaluators, progress on stderr.

Cleaning up after evaluators: however a command ends, nothing that they started is left.
"""

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from optimize_eval.base.outcome import Progress
from optimize_eval.cli import output
from optimize_eval.cli.interrupts import stoppable, uninterrupted
from optimize_eval.cli.progress import PAUSES, display
from optimize_eval.programs.leftovers import adopt_orphans, end_orphans, own_children, reap_adopted
from optimize_eval.programs.process import watchdog
from optimize_eval.run.host import Stop

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


_ENDS_RECHECK = "Ctrl-C ends the recheck; the run is done"


class Terminal:
    """The host of a command's session."""

    def __init__(self, *, quiet: bool) -> None:
        self.stop = Stop()
        self._is_quiet = quiet

    def say(self, note: str) -> None:
        output.say(note)

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Own the processes, and let Ctrl-C and its like stop the session."""
        with owned_processes(), stoppable(self.stop):
            yield

    @contextmanager
    def watching(self, *, is_recheck: bool) -> Iterator[Callable[[Sequence[Progress]], None]]:
        """Show progress, and collect what evaluators left behind meanwhile."""
        reap = Reaper()
        shown = display(self.stop, quiet=self._is_quiet, hint=_ENDS_RECHECK if is_recheck else PAUSES)

        def watch(progress: Sequence[Progress]) -> None:
            shown(progress)
            reap()

        try:
            yield watch
        finally:
            shown.close()
