"""How benchmarks measure: compiled limits, CPU time of this process or of children, interleaved rounds."""

import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

PROGRAMS = Path(__file__).parent / "programs"
ROUNDS = 7
_FOLDER = tempfile.TemporaryDirectory(prefix="optimize-eval-bench-")  # goes with the interpreter


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table; `value` and `bar` are in the same unit, and the bar is the most there may be.

    With `more_is_better` it is the least.
    """

    what: str
    value: float
    bar: float
    unit: str
    more_is_better: bool = False

    @property
    def shown(self) -> str:
        return f"{self.value:.3g}{self.unit}"

    @property
    def bar_shown(self) -> str:
        return f"{'≥' if self.more_is_better else '≤'} {self.bar:g}{self.unit}"

    @property
    def holds(self) -> bool:
        return self.value >= self.bar if self.more_is_better else self.value <= self.bar


@cache
def compiled(name: str, *flags: str) -> Path:
    """Compile one of our C programs and return where it is."""
    target = Path(_FOLDER.name) / name
    subprocess.run(["gcc", "-O2", "-o", target, PROGRAMS / f"{name}.c", *flags], check=True)
    return target


def wall(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def own_cpu(work: Callable[[], object]) -> float:
    """Measure the CPU seconds of this process alone."""
    return _cpu(resource.RUSAGE_SELF, work)


def children_cpu(work: Callable[[], object]) -> float:
    """Measure the CPU seconds of the children that `work` starts and waits for."""
    return _cpu(resource.RUSAGE_CHILDREN, work)


def _cpu(who: int, work: Callable[[], object]) -> float:
    before = resource.getrusage(who)
    work()
    after = resource.getrusage(who)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median_ratio(ours: Callable[[], float], theirs: Callable[[], float], rounds: int = ROUNDS) -> float:
    """Interleave rounds of both and take the median of their ratios."""
    return median(ours() / theirs() for _ in range(rounds))


def median_of(measure: Callable[[], float], rounds: int = ROUNDS) -> float:
    return median(measure() for _ in range(rounds))
