"""When a pool starts another worker."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from optimize_eval.programs.worker import MakeLine, Pool, WorkerReply

REPLY = WorkerReply(answer={}, stderr=b"")


class Worker:
    """A worker whose calls take as long as a function."""

    is_dead, reason = False, ""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work

    def call(self, _make_line: MakeLine, _deadline: float) -> WorkerReply:
        self._work()
        return REPLY

    def interrupt(self) -> None: ...
    def close_stdin(self) -> None: ...
    def close(self, _deadline: float) -> None: ...


def started_for(
    work: Callable[[], object],
    *,
    calls: int,
    size: int,
    window: int = 1,
    patience: float,
    first: float = 0.001,
) -> int:
    """Make so many calls at once, and count the workers that were started for them."""
    workers: list[Worker] = []

    def start() -> Worker:
        workers.append(Worker(work))
        return workers[-1]

    pool = Pool(start, lambda _broken: None, size=size, window=window, patience=patience, first=first)
    with ThreadPoolExecutor(calls) as threads:
        assert list(threads.map(lambda _: pool.call(lambda _id: b"", 30), range(calls))) == [REPLY] * calls
    pool.close()
    return len(workers)


def test_calls_that_are_over_soon_share_one_worker() -> None:
    assert started_for(lambda: None, calls=16, size=8, patience=60, first=60) == 1


@pytest.mark.parametrize("patience", [0, 0.001])
def test_calls_that_last_have_a_worker_each_up_to_the_size(patience: float) -> None:
    all_at_once = threading.Barrier(3, timeout=30)  # it is passed by three workers only
    assert started_for(all_at_once.wait, calls=6, size=3, patience=patience) == 3


def test_a_window_is_filled_rather_than_waited_for() -> None:
    all_at_once = threading.Barrier(4, timeout=30)
    assert started_for(all_at_once.wait, calls=4, size=3, window=4, patience=60, first=60) == 1


def test_until_the_first_answer_comes_a_second_worker_has_time_and_then_the_usual_patience_counts() -> None:
    workers: list[Worker] = []
    calls, at_first = 5, list[int]()  # the first one, and twice two
    both = threading.Barrier(2, timeout=30)  # it is passed by two workers only

    def work() -> None:
        if at_first:
            both.wait()
            return
        while len(workers) + _waiting(pool) < calls:
            time.sleep(0.001)
        at_first.append(len(workers))

    def start() -> Worker:
        workers.append(Worker(work))
        return workers[-1]

    pool = Pool(start, lambda _broken: None, size=2, window=1, patience=0.001, first=60)
    with ThreadPoolExecutor(calls) as threads:
        list(threads.map(lambda _: pool.call(lambda _id: b"", 30), range(calls)))
    pool.close()
    assert (at_first, len(workers)) == ([1], 2)


def _waiting(pool: Pool) -> int:
    """Count the threads that wait for a worker."""
    return len(pool._changed._waiters)  # type: ignore[attr-defined]  # noqa: SLF001
