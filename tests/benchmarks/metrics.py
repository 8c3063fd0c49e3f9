"""Ready-made metrics and functions that are kept alive: CPU per unit; what the sandbox of code_exec adds."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from optimize_eval.base.evaluator import EvaluatorSpec, Opened
from optimize_eval.base.protocol import Payload
from optimize_eval.evaluators.kinds import connect, parse_evaluator
from tests.benchmarks.measure import Row, children_cpu, median_of, wall

UNITS = 10_000
ROUNDS = 3
SANDBOXES = 41

_PROGRAM = "def f(x):\n    return 2 * x\n"
_CANDIDATE = "the quick brown fox jumps over the lazy dog and then sleeps under a tree until the night comes"
_TARGETS = ["a quick fox jumped over lazy dogs and slept under trees", "foxes sleep at night, under a tree"]


_CHECKS = [
    {"contains": "fox"},
    {"not_regex": "(?i)as an ai"},
    {"max_length": 280},
    {"json": {"type": "object"}, "weight": 0.5, "name": "an object"},
    {"contains_any": ["dogs", "DOG"], "ignore_case": True},
]
_FUNCTION = "def score(candidate, example):\n    return 1\n"


def checks_cpu() -> Row:
    """Ask one by one, five checks each, one of them a schema; the process's start is in it."""
    seconds = median_of(lambda: children_cpu(lambda: _ask_all("@checks", {"checks": _CHECKS})), rounds=ROUNDS)
    return Row(
        what=f"`-e @checks`, persistent, {UNITS:,} units, 5 checks: the metric's own CPU per unit",
        value=seconds / UNITS * 1e6,
        bar=120,
        unit=" µs",
    )


def function_cpu() -> Row:
    """Ask one by one; with two starts and the import, of a function that costs nothing."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "m.py")
        path.write_text(_FUNCTION, encoding="utf-8")
        seconds = median_of(lambda: children_cpu(lambda: _ask_all(f"{path}:score", {})), rounds=ROUNDS)
    return Row(
        what=f"`-e m.py:f`, {UNITS:,} calls: CPU of its process per call",
        value=seconds / UNITS * 1e6,
        bar=60,
        unit=" µs",
    )


def f1_cpu() -> Row:
    """Ask one by one, as a run without batches does; the process's start is in it."""
    seconds = median_of(lambda: children_cpu(lambda: _ask_all("@f1", {"targets": _TARGETS})), rounds=ROUNDS)
    return Row(
        what=f"`-e @f1`, persistent, {UNITS:,} units, 2 targets: the metric's own CPU per unit",
        value=seconds / UNITS * 1e6,
        bar=150,
        unit=" µs",
    )


def sandbox_wall() -> Row:
    """Ask one by one, each in a new sandbox, and between them start a bare interpreter."""
    evaluator = connect(
        parse_evaluator("@code_exec@io_pairs --sandbox strict", EvaluatorSpec(workers=1)), Opened()
    )
    payload = Payload(candidate=_PROGRAM, example=b'{"io_pairs": [[1, 2], [3, 6]]}')
    bare = [str(Path(sys.executable).resolve()), "-I", "-S", "-c", "pass"]

    def ask() -> None:
        evaluator.call(payload, time.monotonic() + 30)

    ask()
    rounds = [(wall(ask), wall(lambda: subprocess.run(bare, check=True))) for _ in range(SANDBOXES)]
    evaluator.close()
    added = median(ours for ours, _ in rounds) - median(bare for _, bare in rounds)
    return Row(
        what="`-e @code_exec@io_pairs --sandbox strict`: wall per call above a bare interpreter's start",
        value=added * 1000,
        bar=40,
        unit=" ms",
    )


def _ask_all(text: str, fields: Mapping[str, object]) -> None:
    evaluator = connect(parse_evaluator(text, EvaluatorSpec(workers=1)), Opened())
    examples = (json.dumps({"id": number, **fields}).encode() for number in range(UNITS))
    for example in examples:
        evaluator.call(Payload(candidate=_CANDIDATE, example=example), time.monotonic() + 30)
    evaluator.close()
