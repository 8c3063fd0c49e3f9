"""A persistent program: CPU of our own per call."""

from tests.benchmarks.calls import live, shared
from tests.benchmarks.measure import Row, compiled, median_of, own_cpu

CALLS = 20_000


def call_cpu() -> Row:
    evaluator = live(str(compiled("worker")))
    seconds = median_of(lambda: own_cpu(shared(evaluator, CALLS, 1)))
    evaluator.close()
    return Row(what="persistent C worker, `call()`: own CPU", value=seconds / CALLS * 1e6, bar=40, unit=" µs")
