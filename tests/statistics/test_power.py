"""Power: a stated difference is found in about 80 of 100 runs, and what can never be found is None."""

import math
import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.statistics import power
from optimize_eval.statistics.power import can_decide, fewest_units, holm


@given(st.integers(1, 40))
def test_fewest_units_are_the_first_that_can_decide(comparisons: int) -> None:
    fewest = fewest_units(comparisons)
    assert can_decide(fewest, comparisons)
    assert not can_decide(fewest - 1, comparisons)
    assert holm([2 ** (1 - fewest)] * comparisons)[0] <= 0.05


@pytest.mark.parametrize(("units", "comparisons"), [(5, 1), (9, 20), (7, 4), (1, 1)])
def test_too_few_units_never_find_anything(units: int, comparisons: int) -> None:
    assert power.detectable(se=0.01, units=units, comparisons=comparisons) is None
    assert power.detectable_share(pairs=units, discordance=0.3, comparisons=comparisons) is None


@given(st.integers(15, 400), st.integers(1, 20), st.floats(0.001, 1))
def test_a_difference_grows_with_its_standard_error_and_with_comparisons(
    units: int, comparisons: int, se: float
) -> None:
    found = power.detectable(se=se, units=units, comparisons=comparisons)
    assert found is not None
    assert found == pytest.approx(se * (power.detectable(se=1.0, units=units, comparisons=comparisons) or 0))
    more = power.detectable(se=se, units=units, comparisons=comparisons + 1)
    assert more is None or more > found


@pytest.mark.parametrize(("n", "shares"), [(30, 0.2), (100, 0.1), (100, 0.4)])
@pytest.mark.parametrize("comparisons", [1, 4])
def test_mcnemar_finds_its_stated_difference_in_80_of_100_draws(
    n: int, shares: float, comparisons: int
) -> None:
    from scipy import stats

    difference = power.detectable_share(pairs=n, discordance=shares, comparisons=comparisons)
    assert difference is not None
    draw = random.Random(n)
    share = max(shares, difference)
    found = 0
    for _ in range(400):
        kinds = [draw.random() for _ in range(n)]
        wins = sum(kind < (share + difference) / 2 for kind in kinds)
        losses = sum((share + difference) / 2 <= kind < share for kind in kinds)
        p = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
        found += p * comparisons <= 0.05 and wins > losses
    assert 0.73 <= found / 400 <= 0.88


def test_few_units_find_their_stated_difference_by_flips() -> None:
    """Six units confirm only what has one sign in all of them: Φ(δ)⁶ = .8."""
    six = power.detectable(se=1 / math.sqrt(6), units=6)
    assert six == pytest.approx(1.79, abs=0.15)


@pytest.mark.parametrize(("units", "most"), [(6, 1), (7, 3)])
def test_the_difference_by_flips_is_that_of_the_draw_that_is_80th_of_100(units: int, most: int) -> None:
    """A shift is found where few enough sets of values sum to 0 or less: list the sets of each draw."""
    draw = random.Random(units)
    draws = [[draw.gauss(0, 1) for _ in range(units)] for _ in range(500)]
    groups = [group for size in range(1, units + 1) for group in combinations(range(units), size)]
    needed = [sorted(-sum(noise[at] for at in group) / len(group) for group in groups) for noise in draws]
    found = power.detectable(se=1 / math.sqrt(units), units=units)
    assert found == pytest.approx(sorted(max(0, shifts[-most]) for shifts in needed)[399], abs=0.002)


def test_what_was_simulated_beforehand_is_what_the_simulation_gives() -> None:
    assert {units: len(known) for units, known in power.SIMULATED.items()} == {
        units: sum(can_decide(units, comparisons) for comparisons in range(1, 11))
        for units in range(6, power.MOST_FLIPPED_EXACTLY + 1)
    }
    for units, known in power.SIMULATED.items():
        for comparisons in range(1, len(known) + 1) if units < 10 else (len(known),):
            assert known[comparisons - 1] == pytest.approx(power.simulate(units, comparisons), rel=1e-12)
    assert power.shift(8, 1) == power.SIMULATED[8][0]
    assert power.shift(14, 11) == power.simulate(14, 11), "of more comparisons nothing is known beforehand"


def test_the_number_of_examples_is_where_the_difference_is_found() -> None:
    n = power.examples_needed(0.05, sd=0.3)
    assert n == 285
    reach = power.detectable(se=0.3 / math.sqrt(n), units=n)
    assert reach is not None
    assert reach <= 0.05
    assert power.examples_needed_for_shares(0.2, discordance=0.3) > power.examples_needed_for_shares(
        0.3, discordance=0.3
    )
    assert power.examples_needed(0.05, sd=0.3, comparisons=20) > n


def test_large_samples_of_shares_agree_with_the_exact_sums() -> None:
    exact, large = (power.detectable_share(pairs=n, discordance=0.2) for n in (749, 751))
    assert exact == pytest.approx(large, abs=0.003)


def test_binomial_tails_and_critical_values_are_those_of_scipy() -> None:
    from scipy.stats import binom

    draw = random.Random(3)
    for tosses in (1, 2, 7, 40, 250, 499):
        for share in (0.001, 0.5, draw.random(), 1.0):
            for successes in {0, 1, tosses // 2, tosses, tosses + 1, draw.randint(0, tosses)}:
                found = power.at_least(successes, tosses, share)
                assert found == pytest.approx(binom.sf(successes - 1, tosses, share), abs=1e-9)
        fewest = power.critical_wins(tosses, 3)
        assert fewest > tosses or 6 * binom.sf(fewest - 1, tosses, 0.5) <= 0.05
        assert 6 * binom.sf(fewest - 2, tosses, 0.5) > 0.05
