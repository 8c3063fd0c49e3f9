"""One process per call: against the C limit, in CPU of our own, and with many slots that wait."""

import subprocess

from tests.benchmarks.calls import live, shared
from tests.benchmarks.measure import Row, compiled, median_of, median_ratio, own_cpu, wall

CALLS = 3000
SLOTS = 8
WAITING_SLOTS, WAITING_CALLS, WAIT = 64, 640, 0.1


def against_the_limit() -> Row:
    program = str(compiled("evaluator", "-static"))
    limit = [str(compiled("spawn_limit", "-lpthread")), program, str(CALLS), "2"]
    evaluator = live(program)
    ratio = median_ratio(
        lambda: wall(shared(evaluator, CALLS, SLOTS)),
        lambda: wall(lambda: subprocess.run(limit, check=True)),
    )
    return Row(
        what=f"one-shot C evaluator, {SLOTS} slots: wall against the C limit", value=ratio, bar=1.6, unit="×"
    )


def call_cpu() -> Row:
    evaluator = live(str(compiled("evaluator", "-static")))
    seconds = median_of(lambda: own_cpu(shared(evaluator, CALLS // 3, 1)))
    return Row(what="one-shot `call()`: own CPU", value=seconds / (CALLS // 3) * 1e6, bar=150, unit=" µs")


def many_slots() -> Row:
    evaluator = live(str(compiled("sleeper", "-static")))
    ideal = WAITING_CALLS / WAITING_SLOTS * WAIT
    seconds = median_of(lambda: wall(shared(evaluator, WAITING_CALLS, WAITING_SLOTS)))
    what = f"{WAITING_SLOTS} slots, evaluator sleeping 100 ms: against ideal"
    return Row(what=what, value=seconds / ideal, bar=1.08, unit="×")
