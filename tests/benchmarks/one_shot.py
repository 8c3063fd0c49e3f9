"""One process per call: against the C limit, in CPU of our own, and with many slots that wait."""

import subprocess
import threading
import time
from collections.abc import Callable

from optimize_eval.connect import connect, parse_evaluator
from optimize_eval.protocol import Payload
from optimize_eval.reach import Evaluator, EvaluatorSpec
from tests.benchmarks import measure
from tests.benchmarks.measure import Row, compiled, median_of, median_ratio, wall

CALLS = 3000
SLOTS = 8
WAITING_SLOTS, WAITING_CALLS, WAIT = 64, 640, 0.1


def against_the_limit() -> Row:
    evaluator = str(compiled("evaluator", "-static"))
    limit = [str(compiled("spawn_limit", "-lpthread")), evaluator, str(CALLS), "2"]
    ratio = median_ratio(
        lambda: wall(_calls(evaluator, CALLS, SLOTS)),
        lambda: wall(lambda: subprocess.run(limit, check=True)),
    )
    return Row(
        what=f"one-shot C evaluator, {SLOTS} slots: wall against the C limit", value=ratio, bar=1.6, unit="×"
    )


def own_cpu() -> Row:
    evaluator = str(compiled("evaluator", "-static"))
    seconds = median_of(lambda: measure.own_cpu(_calls(evaluator, CALLS // 3, 1)))
    return Row(what="one-shot `call()`: own CPU", value=seconds / (CALLS // 3) * 1e6, bar=150, unit=" µs")


def many_slots() -> Row:
    sleeper = str(compiled("sleeper", "-static"))
    ideal = WAITING_CALLS / WAITING_SLOTS * WAIT
    seconds = median_of(lambda: wall(_calls(sleeper, WAITING_CALLS, WAITING_SLOTS)))
    what = f"{WAITING_SLOTS} slots, evaluator sleeping 100 ms: against ideal"
    return Row(what=what, value=seconds / ideal, bar=1.08, unit="×")


def _calls(evaluator_text: str, calls: int, slots: int) -> Callable[[], None]:
    """Make the work: `slots` threads that share so many calls of one evaluator."""
    evaluator = connect(parse_evaluator(evaluator_text, EvaluatorSpec()))

    def work() -> None:
        threads = [threading.Thread(target=_slot, args=(evaluator, calls // slots)) for _ in range(slots)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return work


def _slot(evaluator: Evaluator, calls: int) -> None:
    for _ in range(calls):
        evaluator.call(Payload(candidate="x"), time.monotonic() + 30)
