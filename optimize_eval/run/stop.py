"""The wish to stop a run, which comes from a signal or a program, and what waits for it."""

import threading
import time

from optimize_eval.retrying import GivenUp

GRACE = 5.0  # seconds for what is in flight


class Stop:
    """Asked for once, what is in flight may finish within the grace; twice, it is ended."""

    def __init__(self) -> None:
        self._at: float | None = None
        self._is_urgent = False
        self._wake = threading.Event()

    def ask(self) -> None:
        if self._at is not None:
            self._is_urgent = True
            return
        self._at = time.monotonic()  # first: a signal that comes during set() must not call it again
        self._wake.set()

    @property
    def is_asked(self) -> bool:
        return self._at is not None

    @property
    def is_over(self) -> bool:
        """Tell whether what is in flight is to be ended."""
        return self._is_urgent or (self._at is not None and time.monotonic() - self._at > GRACE)

    def pause(self, seconds: float) -> None:
        """Wait, but not on after a stop: then the unit is given up and stays owed."""
        if self._wake.wait(seconds):
            raise GivenUp
