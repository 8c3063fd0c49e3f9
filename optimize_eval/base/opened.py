"""What a command has live: evaluators and models, files of replies, processes that run code.

Whoever has something called owns one, hands it down to all that is made, and closes it. Nothing that is made
closes what it was made of, so it does not matter who else takes part in that.
"""

from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from threading import RLock
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.retries_and_caps import Caps, Queue


class Closes(Protocol):
    """What has an end."""

    def close(self) -> None: ...


@runtime_checkable
class Waits(Protocol):
    """An evaluator, or a model under test, that may wait long for a server that has no room."""

    def stop_waiting(self) -> None:
        """Give up what waits: the run stops. What is under way may finish."""
        ...

    @property
    def queues(self) -> Sequence[Queue]:
        """What waits for a server at the moment."""
        ...


@runtime_checkable
class Metered(Protocol):
    """An evaluator, or a model under test, whose calls of models cost something."""

    def meter(self, caps: Caps) -> None:
        """Ask these caps before each call of a model, and tell them what it took."""
        ...


Live = TypeVar("Live", bound=Closes)


class Opened:
    """Live things, which end together: the last to be made first, so none before what it is made of.

    What calls models asks the caps first, if there are some.
    """

    def __init__(self, caps: Caps | None = None) -> None:
        self._caps = caps
        self._making = RLock()  # what is made may share in turn
        self._shared: dict[Hashable, Any] = {}
        self._live: list[Closes] = []
        self._is_closed = False

    def share(self, key: Hashable, make: Callable[[], Live]) -> Live:
        """Give the one live thing of a key, which is made for the first who asks."""
        with self._making:
            if key not in self._shared:
                self._shared[key] = self.keep(make)
            shared: Live = self._shared[key]
            return shared

    def keep(self, make: Callable[[], Live]) -> Live:
        """Make what nobody shares, and keep it until the end."""
        with self._making:
            if self._is_closed:
                raise EvaluationError(FailureKind.INTERNAL, "the evaluator was closed")
            live = make()
            if self._caps and isinstance(live, Metered):
                live.meter(self._caps)
            self._live.append(live)
            return live

    def stop_waiting(self) -> None:
        """Let nothing wait for a server any more; calls in flight continue."""
        for live in [*self._live]:
            if isinstance(live, Waits):
                live.stop_waiting()

    @property
    def waiting(self) -> str:
        """Say which calls wait for servers that have no room; mostly none does."""
        queues = [queue for live in [*self._live] if isinstance(live, Waits) for queue in live.queues]
        return "; ".join(map(str, {queue.who: queue for queue in queues}.values()))

    def close(self) -> None:
        """End all, also where one fails; be it several times, as by a run that is stopped."""
        with self._making:
            self._is_closed = True
            ending, self._live = self._live, []
        with ExitStack() as closing:
            for live in ending:
                closing.callback(live.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
