"""Bare calls of one evaluator from so many slot threads, all of which must be answered."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec, Opened
from optimize_eval.base.protocol import Payload
from optimize_eval.evaluators.kinds import connect, parse_evaluator

PAYLOAD = Payload(candidate="x", example=b'{"input": "x"}')


def live(text: str) -> Evaluator:
    """Connect an evaluator and ask it twice, so that it has declared and started what it will."""
    evaluator = connect(parse_evaluator(text, EvaluatorSpec(workers=2)), Opened())
    ask(evaluator, 2)
    return evaluator


def ask(evaluator: Evaluator, calls: int) -> None:
    for _ in range(calls):
        evaluator.call(PAYLOAD, time.monotonic() + 30)


def shared(evaluator: Evaluator, calls: int, slots: int) -> Callable[[], None]:
    """Make the work: `slots` threads that share so many calls; a failure in one of them ends it."""

    def work() -> None:
        with ThreadPoolExecutor(slots) as threads:
            for done in [threads.submit(ask, evaluator, calls // slots) for _ in range(slots)]:
                done.result()

    return work
