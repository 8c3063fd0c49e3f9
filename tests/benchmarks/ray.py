"""More than one machine: what the driver takes, how it grows with nodes, and where it becomes the limit.

Nodes of a cluster of this machine share its processors, so growth is measured with evaluators that wait. The
simulation has the real driver, and nodes that answer from a table.
"""

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import orjson

from tests.benchmarks.measure import PROGRAMS, Row, compiled
from tests.benchmarks.whole import Command, command
from tests.cluster.raylets import Raylets, raylets

_FOLDERS = ExitStack()
atexit.register(_FOLDERS.close)
_UNITS, _SLOTS = 20_000, 2
_NAPS, _NAP_SLOTS, _NAP = 160, 8, 0.25
_SLOTS_OF_TABLE = 32
_TEXTS = 10


def chunk_1() -> Row | None:
    return _overhead(1, bar=1500)


def chunk_16() -> Row | None:
    return _overhead(16, bar=200)


def chunk_64() -> Row | None:
    return _overhead(64, bar=200)


def growth_2() -> Row | None:
    return _growth(2)


def growth_4() -> Row | None:
    return _growth(4)


def simulated_1() -> Row:
    return _simulated(1, examples=200, seconds=0.1)


def simulated_10() -> Row:
    return _simulated(10, examples=600, seconds=1, straggles=0.01)


def simulated_100() -> Row:
    return _simulated(100, examples=2_000, seconds=2, straggles=0.01)


def simulated_1000() -> Row:
    return _simulated(1_000, examples=10_000, seconds=4, loses_every=0.5)


def simulated_1000_of_short_calls() -> Row:
    return _simulated(1_000, examples=10_000, seconds=0.1)


def _overhead(chunk: int, bar: float) -> Row | None:
    """Tell the driver's CPU for a unit, and how long one takes against slots of this machine."""
    if find_spec("ray") is None:
        return None
    worker = str(compiled("worker"))
    with (
        command(worker, candidates=1, examples=1) as single,
        _on(_cluster(1), "--slots-per-node", "2") as there,
    ):
        options = [*there, f"--chunk={chunk}"]
        started = _with(single, options).carry_out().own
        with command(worker, candidates=2, examples=_UNITS // 2, options=[f"-j{_SLOTS}"]) as here:
            here.carry_out()
            local = _seconds_per_unit(here.run)
            spent = _with(here, options).carry_out()
            remote = _seconds_per_unit(here.run)
    what = (
        f"{_UNITS:,} units on a node, chunk {chunk}: the driver's CPU per unit "
        f"({remote * 1e6:.0f} µs a unit, {local * 1e6:.0f} µs by slots of this process)"
    )
    return Row(what=what, value=(spent.own - started) / _UNITS * 1e6, bar=bar, unit=" µs")


def _growth(nodes: int) -> Row | None:
    """Compare what nodes get done in the middle of a run with as many times what one does."""
    if find_spec("ray") is None:
        return None
    ideal = nodes * _rate(1)
    what = f"{nodes} nodes, calls of {_NAP * 1000:.0f} ms, {_NAP_SLOTS} slots each: of {ideal:.0f} units/s"
    return Row(what=what, value=_rate(nodes) / ideal * 100, bar=90, unit=" %", more_is_better=True)


@cache
def _rate(nodes: int) -> float:
    slots = ["--slots-per-node", str(_NAP_SLOTS), "--workers", str(_NAP_SLOTS)]
    with _on(_cluster(nodes), *slots) as options:
        with command(str(compiled("napper")), candidates=1, examples=nodes * _NAPS, options=options) as run:
            run.carry_out()
            return 1 / _seconds_per_unit(run.run)


def _simulated(
    nodes: int, *, examples: int, seconds: float, straggles: float = 0, loses_every: float = 0
) -> Row:
    units = _TEXTS * examples
    table = {
        "nodes": nodes,
        "slots": _SLOTS_OF_TABLE,
        "seconds": seconds,
        "straggles": straggles,
        "loses_every": loses_every,
        "units": units,
    }
    with command("true", candidates=_TEXTS, examples=examples) as run:
        spent = _drive(run, table)
        started = _drive(run, {**table, "units": 0}, "--limit=1")
    own = spent["own"] - started["own"]
    lost = f", {spent['lost']} nodes lost" if spent["lost"] else ""
    beside = f"{spent['peak'] / 1e6:.0f} MB, {spent['rate']:,.0f} units/s, slots busy for {spent['busy']:.0%}"
    what = (
        f"simulated: {nodes:,} nodes × {_SLOTS_OF_TABLE} slots, {units:,} calls of {seconds:g} s{lost}: the "
        f"driver's CPU per unit ({beside})"
    )
    return Row(what=what, value=own / units * 1e6, bar=250, unit=" µs")


def _drive(run: Command, table: dict[str, float], *options: str) -> dict[str, Any]:
    words = [*run.arguments, "--fresh", "--no-preflight", "--engine=ray", "--address=table:1", *options]
    with tempfile.NamedTemporaryFile() as counts:
        subprocess.run(
            [sys.executable, PROGRAMS / "on_table.py", counts.name, *words],
            env={**os.environ, "TABLE": json.dumps(table)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        spent: dict[str, Any] = json.loads(Path(counts.name).read_bytes())
    return spent


@cache
def _cluster(nodes: int) -> Raylets:
    folder = _FOLDERS.enter_context(tempfile.TemporaryDirectory(prefix="optimize-eval-bench-"))
    return _FOLDERS.enter_context(raylets(Path(folder), nodes=nodes))


@contextmanager
def _on(cluster: Raylets, *options: str) -> Iterator[list[str]]:
    """Let commands that are started reach a cluster; gives what they are told of it."""
    with patch.dict(os.environ, cluster.env):
        yield ["--engine", "ray", "--address", cluster.address, *options]


def _with(run: Command, options: list[str]) -> Command:
    return Command(
        folder=run.folder,
        evaluator=run.evaluator,
        candidates=run.candidates,
        examples=run.examples,
        options=options,
    )


def _seconds_per_unit(run: Path) -> float:
    """Give the time between units that ended in the middle of a run, when all nodes had begun."""
    ends = sorted(_ends(run))
    first, last = int(0.4 * len(ends)), int(0.9 * len(ends))
    return (ends[last] - ends[first]) / (last - first)


def _ends(run: Path) -> Iterator[float]:
    with (run / "journal.jsonl").open("rb") as journal:
        for line in journal:
            record = orjson.loads(line)
            if "outcome" in record:
                yield datetime.fromisoformat(record["started_at"]).timestamp() + record["seconds"]
