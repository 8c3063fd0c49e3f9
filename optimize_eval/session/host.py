"""What a session needs of whoever starts it: a place for notes, a wish to stop, and somebody who watches."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from optimize_eval.base.outcome import Progress
from optimize_eval.run.stop import Stop

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
