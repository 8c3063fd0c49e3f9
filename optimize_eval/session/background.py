"""A session beside the thread that wants it, so that no Ctrl-C of a program that calls us lands in its midst.

The session runs in a thread of its own, where Python delivers no signal. The calling thread waits, shows the
progress and, where it is interrupted, lets the session end as a command's would: once for what is in flight
to finish, once more to end it. Then the interrupt goes on.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from threading import Lock, Thread
from typing import Generic, TypeVar

from optimize_eval.base.outcome import Progress
from optimize_eval.run.stop import Stop
from optimize_eval.session.host import Watch

T = TypeVar("T")
Show = Callable[[Sequence[Progress]], object]

_TICK = 0.1  # seconds


class ProgramHost:
    """The host that a program is which calls us: it prints nothing, and its signals are its own."""

    def __init__(self, show: Show | None = None) -> None:
        self.stop = Stop()
        self.notes: list[str] = []
        self._show = show
        self._progress: Sequence[Progress] = ()

    def say(self, note: str) -> None:
        self.notes.append(note)

    def calling(self) -> AbstractContextManager[object]:
        return nullcontext()

    @contextmanager
    def watching(self, *, is_recheck: bool) -> Iterator[Watch]:  # noqa: ARG002  shown alike
        yield self._take

    def show(self, progress: Sequence[Progress] | None = None) -> None:
        """Hand over how far the session is, as copies: it goes on meanwhile."""
        progress = self._progress if progress is None else progress
        if self._show and progress:
            self._show(tuple(replace(one) for one in progress))

    def _take(self, progress: Sequence[Progress]) -> None:
        self._progress = progress


def beside(work: Callable[[], T], host: ProgramHost) -> T:
    """Do the work in a thread of its own; an interrupt of the waiting ends the work first."""
    doing = _Doing(work, host.stop)
    try:
        doing.thread.start()
        while not doing.is_done(_TICK):
            host.show()
        doing.thread.join()  # a moment more, or the caller would still count it
    except BaseException:
        doing.end()
        raise
    return doing.result()


class _Doing(Generic[T]):
    """Work in another thread. Waiting is done on a bare lock: an interrupt leaves nothing else half taken."""

    def __init__(self, work: Callable[[], T], stop: Stop) -> None:
        self._work = work
        self._stop = stop
        self._results: list[T] = []
        self._error: BaseException | None = None
        self._is_done = False
        self._doing = Lock()
        self._doing.acquire()
        self.thread = Thread(target=self._do, name="session")

    def is_done(self, seconds: float) -> bool:
        """Wait so long for the end, or for ever where it is negative."""
        if not self._is_done:
            self._doing.acquire(timeout=seconds)
        return self._is_done

    def result(self) -> T:
        if self._error:
            raise self._error
        return self._results[0]

    def end(self) -> None:
        """Stop the work and wait for its end; interrupted once more, it is ended at once."""
        self._stop.request()
        is_begun = self.thread.ident is not None  # else it sees the stop before anything else
        while is_begun and not self._is_done:
            try:
                self.is_done(-1)
            except KeyboardInterrupt:
                self._stop.request()

    def _do(self) -> None:
        try:
            if not self._stop.is_requested:
                self._results.append(self._work())
        except BaseException as error:  # noqa: BLE001  raised where it is waited for
            self._error = error
        finally:
            self._is_done = True
            self._doing.release()
