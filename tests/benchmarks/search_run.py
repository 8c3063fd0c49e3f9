"""A search of 10,000 evaluations by Python functions: what it takes of us, and how its memory grows."""

import json
import subprocess
import sys
import tempfile
from functools import cache
from typing import Any

from tests.benchmarks.measure import PROGRAMS, Row

_CALLS, _FEWER = 10_000, 2_500


@cache
def _searched(calls: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, str(PROGRAMS / "search.py"), str(calls), folder]
        done = subprocess.run(words, capture_output=True, check=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def own_cpu_per_evaluation() -> Row:
    """Tell the CPU of all: start, GEPA, journals and the final sweep included."""
    told = _searched(_CALLS)
    what = f"`optimize`, 10,000 evaluations by functions, {told['candidates']} candidates: own CPU for each"
    return Row(what=what, value=told["cpu"] / told["calls"] * 1000, bar=1, unit=" ms")


def growth() -> Row:
    small, large = _searched(_FEWER)["peak"], _searched(_CALLS)["peak"]
    what = f"the same against 2,500 evaluations: peak RSS ({large / 10**6:.0f} MB) grows by"
    return Row(what=what, value=(large / small - 1) * 100, bar=25, unit=" %")
