"""Intervals against scipy and against their promise; carried shares and margins."""

import random
from collections.abc import Callable, Sequence
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.statistics.bounds import (
    MOST_UNITS,
    Tolerance,
    bet,
    tango,
    units_needed,
    units_planned,
)
from optimize_eval.statistics.differences import Margin, carry_over, difference_of
from optimize_eval.statistics.estimates import BETTING, TANGO, mean_of

UNIT = st.lists(st.floats(0, 1), min_size=2, max_size=30)
DRAWS = 600


@given(UNIT, st.booleans())
def test_no_interval_of_unit_scores_leaves_the_range_or_has_no_width(values: list[float], by: bool) -> None:  # noqa: FBT001
    found = mean_of(values, [n // 2 for n in range(len(values))] if by else None, is_unit=True)
    if found.ci is not None:
        low, high = found.ci
        assert found.mean is not None
        assert 0 <= low <= found.mean + 1e-12
        assert found.mean - 1e-12 <= high <= 1
        assert low < high or found.se


def test_without_a_range_what_does_not_vary_has_no_interval() -> None:
    assert mean_of([0.2] * 9).ci is None
    assert mean_of([1.5, 2.5, 3.0]).method == "t"


def _mostly_ones(draw: random.Random) -> float:
    return 1.0 if draw.random() < 0.95 else draw.random()


Score = Callable[[random.Random], float]


@pytest.mark.parametrize(
    ("score", "truth", "n"),
    [
        (_mostly_ones, 0.975, 30),
        (_mostly_ones, 0.975, 100),
        (lambda draw: draw.betavariate(9.5, 0.5), 0.95, 10),
        (lambda draw: draw.betavariate(2, 2), 0.5, 10),
        (lambda draw: float(draw.random() < 0.95), 0.95, 30),
    ],
    ids=["95 % ones, 30", "95 % ones, 100", "beta(9.5, .5)", "beta(2, 2)", "0/1 at .95"],
)
def test_a_means_interval_covers_the_truth_where_scores_are_lopsided(
    score: Score, truth: float, n: int
) -> None:
    draw = random.Random(20_261_118)
    covered = 0
    for _ in range(DRAWS):
        ci = mean_of([score(draw) for _ in range(n)], is_unit=True).ci
        covered += ci is not None and ci[0] <= truth <= ci[1]
    assert covered >= 517  # scipy.stats.binom.ppf(0.001, 600, 0.9) is 517


@pytest.mark.parametrize("clusters", [5, 20])
def test_clustered_shares_are_covered(clusters: int) -> None:
    draw = random.Random(clusters)
    covered = 0
    for _ in range(DRAWS):
        labels, values = [], []
        for cluster in range(clusters):
            p = draw.betavariate(0.9 * 7 / 3, 0.1 * 7 / 3)  # a correlation of .3 within clusters
            size = draw.randint(1, 10)
            labels += [cluster] * size
            values += [float(draw.random() < p) for _ in range(size)]
        ci = mean_of(values, labels, is_unit=True).ci
        covered += ci is not None and ci[0] <= 0.9 <= ci[1]
    assert covered >= 517


def test_a_carried_share_is_fiellers() -> None:
    """Checked by its definition: at an end, val minus end × train is exactly t standard errors from 0."""
    from scipy import stats

    found = carry_over((0.3, 0.03, 79.0), (0.2, 0.04, 59.0))
    assert found is not None
    assert found.share == pytest.approx(2 / 3)
    assert found.ci is not None
    share = found.share
    df = (0.04**2 + (share * 0.03) ** 2) ** 2 / (0.04**4 / 59 + (share * 0.03) ** 4 / 79)
    for end in found.ci:
        se = (0.04**2 + (end * 0.03) ** 2) ** 0.5
        assert abs(0.2 - end * 0.3) / se == pytest.approx(stats.t.ppf(0.975, df))


def test_a_train_gain_that_may_be_0_has_no_share() -> None:
    assert carry_over((0.05, 0.03, 79.0), (0.2, 0.04, 59.0)) is None
    assert carry_over((-0.3, 0.03, 79.0), (0.2, 0.04, 59.0)) is None
    exact = carry_over((0.3, 0.0, 79.0), (0.3, 0.0, 59.0))
    assert exact is not None
    assert (exact.share, exact.ci) == (1.0, None)


def test_several_shares_hold_together_by_being_wider() -> None:
    one, many = (carry_over((0.3, 0.03, 79.0), (0.2, 0.04, 59.0), m) for m in (1, 10))
    assert one is not None
    assert many is not None
    assert one.ci is not None
    assert many.ci is not None
    assert many.ci[0] < one.ci[0]


def held(margin: float, gains: Sequence[float], *, is_unit: bool = True) -> Margin:
    difference = difference_of([0.5] * len(gains), [0.5 + one for one in gains])
    found = Tolerance(margin=margin, is_unit=is_unit).margin_of(difference, gains, None, seed=0)
    assert found is not None
    return found


def test_without_a_range_a_margin_is_held_by_two_one_sided_t_tests() -> None:
    from scipy import stats

    gains = [0.001 + 0.02 * (-1) ** place for place in range(60)]
    found = held(0.02, gains, is_unit=False)
    assert found.ci90[0] == pytest.approx(0.001 - stats.t.ppf(0.95, 59) * 0.02 * (60 / 59) ** 0.5 / 60**0.5)
    assert (found.no_worse, found.equivalent) == (True, True)
    assert not held(0.003, gains, is_unit=False).no_worse
    better = held(0.02, [one + 0.1 for one in gains], is_unit=False)
    assert (better.no_worse, better.equivalent) == (True, False)


@pytest.mark.parametrize("n", [10, 59, 300])
def test_pairs_that_are_all_equal_show_hardly_less_than_their_number_can(n: int) -> None:
    exact = 1 - 0.05 ** (1 / n)  # the share that may differ all the way
    assert exact <= -held(0.05, [0.0] * n).ci90[0] <= 1.1 * exact
    assert held(0.05, [0.0] * n, is_unit=False).equivalent  # where there is no end to reach for


def test_the_bound_of_59_equal_pairs_and_what_it_takes() -> None:
    found = held(0.05, [0.0] * 59)
    assert (found.ci90[0], found.ci90[1]) == pytest.approx((-0.05268, 0.05268), abs=1e-5)
    assert [held(0.05, [0.0] * n).equivalent for n in (59, 62, 63, 65)] == [False, False, True, True]
    assert (units_planned(0.05, 0.0, BETTING), units_planned(0.05, 0.0, TANGO)) == (63, 52)


def test_clusters_are_held_by_their_totals_and_an_example_counts_as_one() -> None:
    pairs, clusters = [0.3, 0.1, -0.4, 0.2, 0.2, 0.2] * 20, [n // 3 for n in range(120)]
    plain = bet([total / 3 for total in (0.0, 0.6) * 20], None, seed=4)
    assert bet(pairs, clusters, seed=4) == pytest.approx(plain)
    lone = [*pairs, 1.0], [*clusters, "alone"]
    low, high = bet(*lone, seed=4)
    assert low < sum(lone[0]) / 121 < high


def test_the_bound_is_the_mirror_of_the_other_and_never_above_the_mean() -> None:
    draw = random.Random(3)
    for n in (2, 3, 10, 40, 200):
        pairs = [draw.choice([-1.0, -0.6, 0.0, 0.03, 1.0]) for _ in range(n)]
        low, high = bet(pairs, None, seed=n)
        assert bet([-one for one in pairs], None, seed=n) == (-high, -low)
        assert -1 <= low <= sum(pairs) / n <= high <= 1


def test_what_a_number_of_examples_would_show_is_what_so_many_show() -> None:
    pairs = [0.02, -0.03] * 20
    difference = difference_of([0.5] * 40, [0.5 + one for one in pairs])
    low, _ = bet(pairs, None, seed=0)
    needed = units_needed(difference, BETTING, low, 0.03)
    assert needed is not None
    longer = held(0.03, pairs * (needed // 40 + 1)), held(0.03, [0.02, -0.03] * (needed * 9 // 20))
    assert [one.no_worse for one in longer] == [True, False]
    assert units_needed(difference, BETTING, low, 0.004) is None
    assert units_needed(difference, BETTING, low, 0.005001) == MOST_UNITS


@pytest.mark.parametrize("n", [10, 30])
@pytest.mark.parametrize("margin", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("differing", [0.1, 0.2, 0.5])
def test_zeros_and_ones_that_lose_the_margin_are_called_no_worse_in_5_of_100(
    n: int, margin: float, differing: float
) -> None:
    win, loss = (differing - margin) / 2, (differing + margin) / 2
    chance = 0.0
    for wins in range(n + 1):
        for losses in range(n + 1 - wins):
            if tango(wins, losses, n)[0] > -margin:
                ways = comb(n, wins) * comb(n - wins, losses)
                chance += ways * win**wins * loss**losses * (1 - differing) ** (n - wins - losses)
    assert chance < 0.065
