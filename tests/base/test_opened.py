"""Live things: each is made once, and all of them end together, the last first."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import Opened


class Thing:
    def __init__(self, ends: Callable[[], object]) -> None:
        self._ends = ends

    def close(self) -> None:
        self._ends()


def test_what_many_threads_share_is_made_once_and_by_its_key() -> None:
    opened, together, made = Opened(), threading.Barrier(8), []

    def make() -> Thing:
        made.append(1)
        return Thing(lambda: None)

    def shared(number: int) -> Thing:
        together.wait()
        return opened.share(number % 2, make)

    with ThreadPoolExecutor(8) as threads:
        things = [*threads.map(shared, range(8))]
    assert (len(made), len(set(things))) == (2, 2)


def test_what_a_thing_is_made_of_ends_after_it_and_all_end_where_one_fails_once() -> None:
    ended: list[str] = []

    def fails() -> None:
        ended.append("whole")
        raise ValueError("it does not end")

    def whole() -> Thing:
        opened.share("part", lambda: Thing(lambda: ended.append("part")))
        opened.keep(lambda: Thing(lambda: ended.append("own")))
        return Thing(fails)

    with Opened() as opened:
        opened.share("part", lambda: Thing(lambda: ended.append("part")))
        opened.keep(whole)
        with pytest.raises(ValueError, match="it does not end"):
            opened.close()
    assert ended == ["whole", "own", "part"]
    with pytest.raises(EvaluationError, match="closed"):
        opened.keep(whole)
