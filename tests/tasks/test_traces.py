"""A trace that several scorers share: made once, whoever comes first, and forgotten when all have it."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.retries_and_caps import GivenUp
from optimize_eval.base.spent import NOTHING, Spent, Usage
from optimize_eval.tasks.trace import Trace, Traces

SPENT = Spent(usages=(Usage(model="m"),))
TRACE = Trace(items=(), spent=SPENT)


def test_three_scorers_at_once_make_one_trace_whose_cost_is_told_once() -> None:
    traces, together, made = Traces(3), threading.Barrier(3), []

    def make() -> Trace:
        made.append(1)
        return TRACE

    def take(_number: int) -> Spent:
        together.wait()
        return traces.of("key", make).spent

    with ThreadPoolExecutor(3) as pool:
        spent = list(pool.map(take, range(3)))
    assert len(made) == 1
    assert (spent.count(SPENT), spent.count(NOTHING)) == (1, 2)
    assert len(traces) == 0


def test_a_failure_is_shared_too() -> None:
    traces, made = Traces(2), []

    def make() -> Trace:
        made.append(1)
        error = EvaluationError(FailureKind.REPORTED, "solver: no")
        error.spent = SPENT
        raise error

    spent = []
    for _ in range(2):
        with pytest.raises(EvaluationError, match="solver: no") as caught:
            traces.of("key", make)
        spent.append(caught.value.spent)
    assert (len(made), spent, len(traces)) == (1, [SPENT, NOTHING], 0)


def test_what_was_broken_off_is_made_again_and_who_waited_gives_up() -> None:
    traces, begun, go_on = Traces(3), threading.Event(), threading.Event()

    def broken_off() -> Trace:
        begun.set()
        go_on.wait()
        raise KeyboardInterrupt

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(traces.of, "key", broken_off)
        begun.wait()
        waits = pool.submit(traces.of, "key", lambda: TRACE)
        while traces._kept["key"].wanted > 1:  # noqa: SLF001  it is waiting by then
            pass
        go_on.set()
        assert isinstance(first.exception(), KeyboardInterrupt)
        assert isinstance(waits.exception(), GivenUp)
    assert traces.of("key", lambda: TRACE) == TRACE


def test_only_so_many_are_kept() -> None:
    traces = Traces(2, most=3)
    for number in range(100):
        traces.of(number, lambda: TRACE)
    assert len(traces) == 3
    large = Trace(items=[{"type": "message", "role": "user", "content": "x" * 10_000_000}])
    for number in range(5):
        traces.of(f"large {number}", lambda: large)
    assert len(traces) == 3
    traces = Traces(2)
    for number in range(5):
        traces.of(number, lambda: large)
    assert len(traces) == 3
    for number in range(5):
        assert traces.of(number, lambda: large) is large
