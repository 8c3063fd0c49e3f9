"""How often a claim is false, by draws through the product's own aggregation."""

import random
from collections.abc import Callable, Sequence

import pytest

from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.comparison import compare, corrected, tolerance_of
from optimize_eval.findings.diff_shapes import Change
from optimize_eval.findings.regression_gates import judged
from optimize_eval.statistics.differences import ScoreDifference
from tests.benchmarks.truth import boards, gates
from tests.benchmarks.truth.claims import PICKED, of_the_best, skipped_where_bad
from tests.findings.made import made, points

DRAWS = 100
TICKS = 50
FEW = 30
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


def test_of_ten_equal_candidates_of_unequal_spread_any_has_a_mark_in_at_most_5_of_100_runs() -> None:
    draw = random.Random(14)
    assert sum(_has_mark(draw) for _ in range(DRAWS // 2)) <= 8  # scipy.stats.binom.ppf(0.999, 50, 0.05)


def _has_mark(draw: random.Random) -> bool:
    base = _scores(draw, FEW)
    cells = {"base": {"val": base}}
    for n in range(10):
        cells[f"c{n}"] = {"val": [x + draw.gauss(0, (0.02, 0.05, 0.1, 0.2, 0.3)[n % 5]) for x in base]}
    rows = made({"judge": cells}, score_range=ScoreRange.ANY).findings().rows
    return any(d.mark in {"better", "worse"} for row in rows if (d := row.against_baseline("val")))


def test_skipping_bad_examples_of_one_of_two_equal_candidates_never_wins() -> None:
    draw = random.Random(9)
    assert not sum(map(skipped_where_bad, [draw] * 60))


def test_nor_does_a_model_lead_a_board_by_that_and_among_many_a_real_lead_is_found() -> None:
    draw = random.Random(10)
    assert not sum(map(boards.skipped_where_bad, [draw] * 40))
    assert boards.real_lead(draw)  # of 528 pairs


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


@pytest.mark.parametrize("n", [30, 100])
@pytest.mark.parametrize("difference", gates.BORDER.values(), ids=gates.BORDER)
def test_a_candidate_that_loses_the_margin_meets_the_gate_in_at_most_5_of_100_runs(
    difference: Callable[[random.Random], float], n: int
) -> None:
    draw = random.Random(n)
    met = sum(_is_no_worse([difference(draw) for _ in range(n)], None, 0.03) for _ in range(FEW))
    assert met <= 5  # scipy.stats.binom.ppf(0.999, 30, 0.05) is 6


def test_of_clusters_the_loss_that_few_of_them_have_is_not_called_none() -> None:
    draw = random.Random(8)
    met = 0
    for _ in range(FEW):
        units = [(gates.BORDER["5 % lose .6"](draw), draw.choice([1, 1, 12])) for _ in range(40)]
        lost = [d for d, size in units for _ in range(size)]
        met += _is_no_worse(lost, [n for n, (_, size) in enumerate(units) for _ in range(size)], 0.03)
    assert met <= 5


@pytest.mark.parametrize(("sd", "n"), [(0.0, 65), (0.02, 100), (0.1, 100)])
def test_a_candidate_that_is_as_good_meets_the_gate_with_a_margin(sd: float, n: int) -> None:
    draw = random.Random(2)
    met = sum(_is_no_worse([draw.gauss(0, sd) for _ in range(n)], None, 0.05) for _ in range(FEW))
    assert met >= 0.8 * FEW


def _is_no_worse(differences: Sequence[float], clusters: Sequence[int] | None, margin: float) -> bool:
    before = [0.6] * len(differences)
    after = [0.6 + one for one in differences]
    tolerance = tolerance_of(margin, ScoreRange.UNIT)
    (one,) = corrected([compare(before, after, clusters, seed=0, may_flip=False, tolerance=tolerance)])
    return judged(_change(one))[0]


def _shares(draw: random.Random, n: int) -> tuple[Sequence[float], Sequence[float]]:
    a, b = ([float(draw.random() < 0.7) for _ in range(n)] for _ in range(2))
    return a, b


def _is_met(a: Sequence[float], b: Sequence[float]) -> bool:
    (one,) = corrected([compare(list(a), list(b), None, seed=0, may_flip=True)])
    return judged(_change(one))[0]


def _change(one: ScoreDifference) -> Change:
    return Change(
        difference=one,
        margin=one.margin,
        low=one,
        low_margin=one.margin,
        newly_failing=0,
        newly_failing_in_part=0,
        fixed=0,
        more_failed=False,
    )


def test_a_rare_large_gain_exceeds_the_largest_gain_in_at_most_5_of_100_runs() -> None:
    draw = random.Random(12)
    exceeded = sum(_gains_more_than_said(draw) for _ in range(FEW))
    assert exceeded <= 6  # scipy.stats.binom.ppf(0.999, 30, 0.05)


def _gains_more_than_said(draw: random.Random) -> bool:
    """Let 5 of 100 examples gain .6 and the others lose .01: t lies below that gain in 27 of 100 draws."""
    after = [0.4 + (0.6 if draw.random() < 0.05 else -0.01) for _ in range(20)]
    most = made({"judge": {"a": {"val": [0.4] * 20}, "b": {"val": after}}}).findings().largest_gain
    return most is not None and most < 0.05 * 0.6 - 0.95 * 0.01
