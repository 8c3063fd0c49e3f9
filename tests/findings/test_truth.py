"""How often a claim is false, by draws through the product's own aggregation."""

import random
from collections.abc import Sequence

import pytest

from optimize_eval.findings.diff.gates import judged
from optimize_eval.findings.diff.regressions import Evidence
from optimize_eval.findings.shaping import score_difference
from optimize_eval.findings.summary.compare import compare, corrected
from tests.benchmarks.truth.claims import PICKED, of_the_best
from tests.findings.made import made, points

DRAWS = 100
TICKS = 50
ALLOWED = 12  # scipy.stats.binom.ppf(0.999, 100, 0.05): a rate of 5 % stays below in 999 of 1,000 suites


def _scores(draw: random.Random, n: int, mean: float = 0.5) -> list[float]:
    return [min(1.0, max(0.0, draw.gauss(mean, 0.2))) for _ in range(n)]


def test_no_tick_stands_beside_a_winner_that_loses_half_of_its_train_gain() -> None:
    draw = random.Random(5)
    ticks = 0
    for _ in range(TICKS):
        cells = {"base": {"train": _scores(draw, 80), "val": _scores(draw, 60)}}
        for n in range(11):  # above 50 pairs no flips are drawn
            train, val = cells["base"]["train"], cells["base"]["val"]
            cells[f"c{n}"] = {
                "train": [x + draw.gauss(0.2, 0.2) for x in train],
                "val": [x + draw.gauss(0.1, 0.2) for x in val],
            }
        ticks += any(point.startswith("✓") for point in points(made({"judge": cells}).summary()))
    assert ticks <= 8  # scipy.stats.binom.ppf(0.999, 50, 0.05)


def test_the_interval_of_the_best_holds_its_own_true_gain() -> None:
    draw = random.Random(8)
    once = of_the_best(*PICKED["one sure at .05, 10 that scatter"])
    missed = sum(not once(draw) for _ in range(40))
    assert missed <= 8  # scipy.stats.binom.ppf(0.999, 40, 0.06)


def test_of_twelve_evaluators_without_any_difference_one_says_so_falsely_in_at_most_5_of_100_runs() -> None:
    draw = random.Random(6)
    false = 0
    for _ in range(DRAWS):
        told = {
            f"e{n}": {name: {"val": [float(draw.random() < 0.7) for _ in range(30)]} for name in "ab"}
            for n in range(12)
        }
        compared = [row.against_baseline("val") for row in made(told).findings().rows[2:]]
        false += any(one is not None and one.mark in {"better", "worse"} for one in compared)
    assert false <= ALLOWED


@pytest.mark.parametrize("n", [5, 9, 10, 30])
def test_an_unchanged_candidate_misses_the_gate_on_regressions_in_at_most_5_of_100_runs(n: int) -> None:
    draw = random.Random(n)
    missed = sum(not _is_met(*_shares(draw, n)) for _ in range(3 * DRAWS))
    assert missed <= 28  # scipy.stats.binom.ppf(0.999, 300, 0.05)


def _shares(draw: random.Random, n: int) -> tuple[Sequence[float], Sequence[float]]:
    a, b = ([float(draw.random() < 0.7) for _ in range(n)] for _ in range(2))
    return a, b


def _is_met(a: Sequence[float], b: Sequence[float]) -> bool:
    (one,) = corrected([compare(list(a), list(b), None, seed=0, may_flip=True)])
    difference = score_difference(one)
    evidence = Evidence(
        difference=difference,
        margin=None,
        low=difference,
        low_margin=None,
        newly_failing=0,
        newly_failing_in_part=0,
        fixed=0,
        more_failed=False,
    )
    return judged(evidence)[0]
