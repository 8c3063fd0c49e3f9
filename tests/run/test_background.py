"""Work beside the thread that wants it: an interrupt stops it, a second one ends it, and neither is lost."""

import signal
import threading
from collections.abc import Iterator

import pytest

from optimize_eval.api import ProgramHost, beside
from optimize_eval.run.host import GRACE
from tests.run.projects import await_that


@pytest.fixture(autouse=True)
def _interrupts() -> Iterator[None]:
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


def interrupt() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@pytest.mark.parametrize("interrupts", [1, 2])
def test_each_interrupt_is_a_wish_to_stop_and_goes_on_when_the_work_has_ended(interrupts: int) -> None:
    host, ends = ProgramHost(), []

    def work() -> None:
        interrupt()
        await_that(lambda: host.stop.is_requested)
        if interrupts > 1:
            interrupt()
            await_that(lambda: host.stop.is_over, GRACE / 2)
        ends.append(host.stop.is_over)

    with pytest.raises(KeyboardInterrupt):
        beside(work, host)
    assert ends == [interrupts > 1]


def test_what_the_work_raises_is_raised_where_it_is_waited_for() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        beside(lambda: 1 // 0, ProgramHost())
    assert caught.traceback[-1].name == "<lambda>"


def test_work_that_could_not_begin_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="can't start"):
        beside(lambda: pytest.fail("it was done"), ProgramHost())
