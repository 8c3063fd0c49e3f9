"""Simulate whether claims are as often true as they say, through the product's own functions: one table.

Each row draws a scene (runs with known truth) many times and gives the rate of what it names, or its mean,
± one standard error of the simulation, and how many draws it had: --draws divided by the scene's cost.
bar      what is promised; none where a row is there to be seen
verdict  ok: within the bar · ok within 3 SE: beyond it by at most three standard errors · MISSED · shown ·
         refused: nothing is claimed in any draw (refused before a call, or said to be never found)
beside   from the same draws, for comparison
A WORD selects the scenes whose family or cell has it (search, coverage, gate, sessions, leaks, found …).
Results are the same for the same --seed and --draws, whatever --jobs is. Exit 1: a bar was missed.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from functools import cache

from tests.benchmarks.truth import (
    boards,
    claims,
    coverage,
    gates,
    judges,
    leaks,
    power,
    searches,
    sessions,
    stability,
)
from tests.benchmarks.truth.scenes import Measured, Scene, measure

_DRAWS = 2000
_WIDTHS = (34, 50, 6, 15, 13, 14)  # of a terminal's columns; the last has no end


@cache
def every_scene() -> list[Scene]:
    return [
        scene
        for module in (coverage, claims, boards, gates, judges, leaks, power, searches, sessions, stability)
        for scene in module.scenes()
    ]


def select(words: Sequence[str]) -> list[int]:
    """Choose the scenes that have one of the words, by their numbers."""
    return [
        number
        for number, scene in enumerate(every_scene())
        if not words or any(word in f"{scene.family} {scene.cell}" for word in words)
    ]


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    missed = 0
    print(line("what", "cell", "draws", "rate ± SE", "bar", "verdict", "beside"))
    print(line(*("-" * width for width in _WIDTHS), "---"), flush=True)
    with multiprocessing.Pool(options.jobs) as pool:
        wanted = ((number, options.draws, options.seed) for number in select(options.words))
        for text, holds in pool.imap(_measured, wanted):
            missed += not holds
            print(text, flush=True)
    print(f"\n{missed} missed", file=sys.stderr)
    return 1 if missed else 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.truth",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--draws", type=int, default=_DRAWS, help="of a scene whose cost is 1 (2000)")
    parser.add_argument("--seed", type=int, default=0, help="other draws (0)")
    parser.add_argument("--jobs", type=int, help="processes (as many as there are cores)")
    options = parser.parse_args(arguments)
    for word in options.words:
        if not select([word]):
            families = " · ".join(dict.fromkeys(scene.family for scene in every_scene()))
            parser.error(f"no scene has {word!r}; there are: {families}")
    return options


def _measured(wanted: tuple[int, int, int]) -> tuple[str, bool]:
    number, draws, seed = wanted
    measured = measure(every_scene()[number], draws, seed)
    return row(measured), measured.holds


def row(measured: Measured) -> str:
    scene = measured.scene
    beside = " · ".join(f"{name} {value}" for name, value in measured.beside.items())
    numbers = (f"{measured.draws:,}", str(measured), measured.bar, measured.verdict)
    return line(scene.family, scene.cell, *numbers, beside)


def line(*cells: str) -> str:
    return f"| {' | '.join(_padded(cells))} |"


def _padded(cells: Sequence[str]) -> Iterator[str]:
    yield from (cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=False))
    yield cells[-1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
