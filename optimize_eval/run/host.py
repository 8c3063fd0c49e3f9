"""What a session needs of whoever starts it: a place for notes, somebody who watches, a wish to stop."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from optimize_eval.base.checks import HINT, parse_duration
from optimize_eval.base.errors import UsageError
from optimize_eval.base.outcome import Progress
from optimize_eval.base.retries_and_caps import GivenUp

GRACE = 5.0  # seconds for what is in flight


def instant_after(duration: str | None) -> float | None:
    """Give the instant of time.monotonic at which --max-time is over; raises UsageError if malformed."""
    if duration is None:
        return None
    try:
        return time.monotonic() + parse_duration(duration)
    except ValueError:
        raise UsageError(f"--max-time {duration!r} is not a duration", hint=HINT) from None


class Stop:
    """The first request lets calls in flight finish within the grace; the second ends them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._ends_at: float | None = None
        self._at: float | None = None
        self._is_urgent = False
        self._wake = threading.Event()
        self.is_out_of_time = False  # the clock requested it

    def end_at(self, instant: float | None) -> None:
        """Let the clock request the stop at an instant, unless somebody does before."""
        self._ends_at = instant

    def request(self) -> None:
        if self._at is not None:
            self._is_urgent = True
            return
        self._at = self._clock()  # first: a signal that comes during set() must not call it again
        self._wake.set()

    @property
    def is_requested(self) -> bool:
        return self._at is not None or self._is_due()

    @property
    def is_over(self) -> bool:
        """Return True if what is in flight is to be ended."""
        return self._is_urgent or (self.is_requested and self._clock() - (self._at or 0.0) > GRACE)

    def pause(self, seconds: float) -> None:
        """Wait, but not on after a stop: then the unit is given up and stays owed."""
        if self._wake.wait(seconds):
            raise GivenUp

    def _is_due(self) -> bool:
        """Look at the clock; several threads may do so at once, with the same result."""
        if self._ends_at is None or self._clock() < self._ends_at:
            return False
        self.is_out_of_time = True
        self._at = self._ends_at
        self._wake.set()
        return True


Say = Callable[[str], None]
Watch = Callable[[Sequence[Progress]], None]


class Host(Protocol):
    """A command, or a program that calls us."""

    stop: Stop  # one for all that a host starts: who stops a session wants no further one

    def say(self, note: str) -> None:
        """Take a note for people, apart from the result."""
        ...

    def calling(self) -> AbstractContextManager[object]:
        """Guard the span in which evaluators run."""
        ...

    def watching(self, *, is_recheck: bool) -> AbstractContextManager[Watch]:
        """Give what is called with the progress, ten times a second."""
        ...
