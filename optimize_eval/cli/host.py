"""What a command offers to a session: signals, cleaning up after evaluators, progress on stderr."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from optimize_eval.base.outcome import Progress
from optimize_eval.cli import output
from optimize_eval.cli.cleanup import Reaper, owned_processes
from optimize_eval.cli.interrupts import stoppable
from optimize_eval.cli.progress import PAUSES, display
from optimize_eval.run.host import Stop

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
