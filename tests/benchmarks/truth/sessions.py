"""How often sessions claim more than there is: candidates dropped, edits, baselines, looks."""

from collections.abc import Iterator

from tests.benchmarks.truth.scenes import Scene
from tests.findings.sessions import another_baseline, dropped, edited, equal_steps, looked, run_again

_FALSE = 0.05


def scenes() -> Iterator[Scene]:
    ways = {
        "20 equal candidates, dropped one after the other": (dropped(20), 10),
        "20 equal candidates, the best alone with --reuse": (run_again(20), 10),
        "5 edits that inherit": (edited(5), 5),
        "5 edits that inherit, any verdict": (edited(5, at_any=True), 5),
        "20 edits that inherit, any verdict": (edited(20, at_any=True), 20),
        "100 edits that inherit, any verdict": (edited(100, at_any=True), 100),
        "the worst of 7 becomes the baseline": (another_baseline(6), 10),
        "10 looks, equal steps": (looked(*equal_steps(300, 10)), 10),
        "6 looks, doubling": (looked(*(10 * 2**n for n in range(6))), 10),
        "4 looks, fourfold": (looked(*(10 * 4**n for n in range(4))), 10),
    }
    for cell, (once, cost) in ways.items():
        yield Scene(family="sessions", cell=cell, once=once, high=_FALSE, cost=cost)
