"""The program itself: what `--help` costs."""

import subprocess

from tests.benchmarks.measure import Row, children_cpu, median_of
from tests.conftest import PROGRAM


def help_cpu() -> Row:
    seconds = median_of(
        lambda: children_cpu(
            lambda: subprocess.run([PROGRAM, "--help"], stdout=subprocess.DEVNULL, check=True)
        )
    )
    return Row(what="`optimize-eval --help`: CPU", value=seconds * 1000, bar=150, unit=" ms")
