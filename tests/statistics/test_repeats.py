"""What repeats tell: pass@k, pass^k, and how much more of them would gain."""

import math
import random
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.statistics.estimates import components_of
from optimize_eval.statistics.rates import Repeats, all_of, any_of, at_most, list_k, with_enough

outcomes = st.lists(st.booleans(), min_size=1, max_size=7)


@given(outcomes, st.data())
def test_pass_at_k_is_the_share_of_all_choices_of_k_repeats(passed: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(passed)))
    choices = list(combinations(passed, k))
    repeats = Repeats(scored=len(passed), passed=sum(passed))
    assert any_of(k, repeats) == pytest.approx(sum(map(any, choices)) / len(choices))
    assert all_of(k, repeats) == pytest.approx(sum(map(all, choices)) / len(choices))


@given(st.integers(0, 60), st.integers(0, 60), st.fractions(0, 1, max_denominator=50))
def test_the_probability_of_so_few_is_the_exact_sum(few: int, more: int, share: Fraction) -> None:
    tosses = few + more
    ways = (math.comb(tosses, n) * share**n * (1 - share) ** (tosses - n) for n in range(few + 1))
    assert at_most(few, tosses, float(share)) == pytest.approx(float(sum(ways)), rel=1e-9, abs=1e-300)


def test_the_probability_of_so_few_of_many_is_known_as_well() -> None:
    from scipy import stats

    assert at_most(3150, 4000, 0.8) == pytest.approx(stats.binom.cdf(3150, 4000, 0.8), rel=1e-9)


def test_which_k_are_listed() -> None:
    assert list_k(1) == [1]
    assert list_k(5) == [1, 2, 3, 4, 5]
    assert list_k(20) == [1, 2, 4, 8, 16, 20]
    assert list_k(32) == [1, 2, 4, 8, 16, 32]
    assert with_enough(2, [Repeats(2, 0), Repeats(1, 1), Repeats(3, 3)]) == [0, 2]


def test_components_are_what_more_repeats_and_more_examples_give() -> None:
    """Scores of 400 examples: what examples add has sd .3, what a repeat adds sd .2."""
    draw = random.Random(3)
    for repeats in (2, 8):
        means, within = [], []
        for _ in range(400):
            example = draw.gauss(0.5, 0.3)
            scores = [example + draw.gauss(0, 0.2) for _ in range(repeats)]
            mean = math.fsum(scores) / repeats
            means.append(mean)
            within.append(math.fsum((score - mean) ** 2 for score in scores) / (repeats - 1))
        centre = math.fsum(means) / 400
        se = math.sqrt(math.fsum((mean - centre) ** 2 for mean in means) / 399 / 400)
        found = components_of(se, 400, repeats, math.sqrt(math.fsum(within) / 400))
        assert found is not None
        assert found.se() == pytest.approx(se)
        assert found.se(examples=4) == pytest.approx(se / 2)
        assert found.gain_of_repeats == pytest.approx(1 - 0.3 / math.sqrt(0.09 + 0.04 / repeats), abs=0.02)
        assert found.se(repeats=math.inf) == pytest.approx(0.3 / 20, rel=0.1)


def test_where_repeats_tell_nothing_there_are_no_components() -> None:
    assert components_of(0.1, 10, 1, 0.2) is None
    assert components_of(0.1, 10, 3, 0.2, None) is None
    nothing = components_of(0.0, 10, 3, 0.0)
    assert nothing is not None
    assert nothing.gain_of_repeats is None
