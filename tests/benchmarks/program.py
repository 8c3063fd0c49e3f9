"""The program itself: what its start costs."""

import subprocess

from tests.benchmarks.measure import Row, children_cpu, median_of
from tests.benchmarks.whole import command
from tests.paths import PROGRAM


def help_cpu() -> Row:
    return Row(what="`optimize-eval --help`: CPU", value=_milliseconds("--help"), bar=150, unit=" ms")


def run_help_cpu() -> Row:
    value = _milliseconds("run", "--help")
    return Row(what="`optimize-eval run --help`: CPU", value=value, bar=140, unit=" ms")


def dry_run_cpu() -> Row:
    with command("true", candidates=2, examples=1000) as made:
        value = _milliseconds(*made.arguments, "--dry-run")
    return Row(what="`run --dry-run`, 1,000 examples: CPU", value=value, bar=170, unit=" ms")


def _milliseconds(*arguments: str) -> float:
    def start() -> None:
        subprocess.run([PROGRAM, *arguments], stdout=subprocess.DEVNULL, check=True)

    return median_of(lambda: children_cpu(start), rounds=15) * 1000
