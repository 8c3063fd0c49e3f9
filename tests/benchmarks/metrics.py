"""A ready-made metric that is kept alive: CPU of its own process per unit."""

import json
import time

from optimize_eval.connect import connect, parse_evaluator
from optimize_eval.protocol import Payload
from optimize_eval.reach import EvaluatorSpec
from tests.benchmarks.measure import Row, children_cpu, median_of

UNITS = 10_000
ROUNDS = 3

_CANDIDATE = "the quick brown fox jumps over the lazy dog and then sleeps under a tree until the night comes"
_TARGETS = ["a quick fox jumped over lazy dogs and slept under trees", "foxes sleep at night, under a tree"]


def f1_cpu() -> Row:
    """Ask one by one, as a run without batches does; the process's start is in it."""
    seconds = median_of(lambda: children_cpu(_ask_all), rounds=ROUNDS)
    return Row(
        what=f"`-e @f1`, persistent, {UNITS:,} units, 2 targets: the metric's own CPU per unit",
        value=seconds / UNITS * 1e6,
        bar=150,
        unit=" µs",
    )


def _ask_all() -> None:
    evaluator = connect(parse_evaluator("@f1", EvaluatorSpec(workers=1)))
    examples = (json.dumps({"id": number, "targets": _TARGETS}).encode() for number in range(UNITS))
    for example in examples:
        evaluator.call(Payload(candidate=_CANDIDATE, example=example), time.monotonic() + 30)
    evaluator.close()
