"""Records get to the journal in their order, all of them before `settle` returns, and errors get back."""

import contextlib
import re
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from optimize_eval.base.outcome import Scored
from optimize_eval.base.protocol import Payload
from optimize_eval.run.live import Clock
from optimize_eval.run.plan import Unit
from optimize_eval.run.runner import Record, Scribe, record_of

MANY = 1000


def record(number: int) -> Record:
    unit = Unit(number, "key", 0, Payload(candidate="x"), {"line": number})
    return record_of(unit, Scored(score=1.0, side_info={}, seconds=0.1), "now")


def test_what_was_put_is_written_once_and_in_order_when_it_settles() -> None:
    written: list[int] = []

    def write(records: Sequence[Record]) -> None:
        written.extend(one.unit.number for one in records)

    with contextlib.closing(Scribe(write, MANY)) as scribe:
        for number in range(500):
            scribe.put(record(number))
        scribe.settle()
        assert written == list(range(500))
        scribe.put(record(500))
    assert written == list(range(501))


def test_records_are_written_without_being_asked_for() -> None:
    is_written = threading.Event()
    with contextlib.closing(Scribe(lambda _records: is_written.set(), MANY)) as scribe:
        scribe.put(record(1))
        assert is_written.wait(10)


def test_what_comes_while_others_are_written_is_not_lost_by_closing() -> None:
    written: list[int] = []
    closing: list[threading.Thread] = []

    def close() -> None:
        scribe.close()

    def write(records: Sequence[Record]) -> None:
        written.extend(one.unit.number for one in records)
        if not closing:  # as late as can be: the scribe's thread looks next whether it was closed
            scribe.put(record(2))
            closing.append(threading.Thread(target=close))
            closing[0].start()
            closing[0].join(0.2)

    scribe = Scribe(write, MANY)
    scribe.put(record(1))
    scribe._thread.join(10)  # noqa: SLF001  it ends when it is closed
    closing[0].join(10)
    assert written == [1, 2]


def test_an_error_of_writing_is_raised_where_records_come_from_and_nothing_is_written_after_it() -> None:
    calls: list[Any] = []

    def write(records: Sequence[Record]) -> None:
        calls.append(records)
        raise OSError("disk full")

    with contextlib.closing(Scribe(write, MANY)) as scribe:
        scribe.put(record(1))
        with pytest.raises(OSError, match="disk full"):
            scribe.settle()
        with pytest.raises(OSError, match="disk full"):
            scribe.put(record(2))
        with pytest.raises(OSError, match="disk full"):
            scribe.settle()
    assert len(calls) == 1


def test_no_more_than_the_slots_hold_is_ever_unwritten() -> None:
    """So after kill -9 at most that many are called again, beside those in flight."""
    slots = 3
    sizes: list[int] = []
    with contextlib.closing(Scribe(lambda records: sizes.append(len(records)), slots)) as scribe:
        for number in range(500):
            scribe.put(record(number))
    assert sum(sizes) == 500
    assert max(sizes) <= slots + 1, "one of them waits in its slot"


def test_the_clock_tells_utc_in_milliseconds() -> None:
    clock = Clock()
    before = datetime.now(UTC)
    told = [clock.now() for _ in range(3)]
    after = datetime.now(UTC)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", text) for text in told)
    assert all((datetime.fromisoformat(text) - before).total_seconds() >= -0.001 for text in told)
    assert all(datetime.fromisoformat(text) <= after for text in told)
