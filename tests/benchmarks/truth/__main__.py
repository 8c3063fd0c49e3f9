"""`python -m tests.benchmarks.truth [--draws N] [WORD…]`: are claims as often true as they say? One table.

A WORD selects the scenes whose family or cell has it. Everything goes through the product's own functions.
The bars allow for three standard errors of the simulation itself; rows without a bar are shown only.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from functools import cache

from tests.benchmarks.truth import claims, coverage, gates, leaks, power, searches, sessions
from tests.benchmarks.truth.scenes import Measured, Scene, measure

_DRAWS = 2000


@cache
def every_scene() -> list[Scene]:
    return [
        scene
        for module in (coverage, claims, gates, leaks, power, searches, sessions)
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--draws", type=int, default=_DRAWS)
    given = parser.parse_args(arguments)
    missed = 0
    print("| what | cell | draws | measured | bar | |\n|---|---|---|---|---|---|", flush=True)
    with multiprocessing.Pool() as pool:
        asked = ((number, given.draws) for number in select(given.words))
        for line, holds in pool.imap(_measured, asked):
            missed += not holds
            print(line, flush=True)
    print(f"\n{missed} missed", file=sys.stderr)
    return 1 if missed else 0


def _measured(asked: tuple[int, int]) -> tuple[str, bool]:
    number, draws = asked
    found = measure(every_scene()[number], draws)
    return row(found), found.holds


def row(found: Measured) -> str:
    return f"| {' | '.join(_cells(found))} |"


def _cells(found: Measured) -> Iterator[str]:
    scene = found.scene
    yield scene.family
    yield scene.cell
    yield f"{found.draws:,}"
    if not found.draws:
        yield "refused before any call, or never found"
    else:
        beside = "" if found.beside is None else f" (exact Wilson {found.beside:.3f})"
        yield f"{found.value:+.4f}" if not scene.is_share else f"{found.value:.3f}{beside}"
    yield found.bar
    yield ("" if found.bar == "shown" else "ok") if found.holds else "MISSED"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
