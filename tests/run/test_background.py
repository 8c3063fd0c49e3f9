"""Work beside the thread that wants it: an interrupt stops it, a second one ends it, and neither is lost."""

import threading

import pytest

from optimize_eval.api import ProgramHost, beside


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
