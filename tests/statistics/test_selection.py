"""Choosing the best of several: the cross-fitted gain is not optimistic, and its interval holds."""

import math
import random

import pytest

from optimize_eval.statistics.paired import difference_of
from optimize_eval.statistics.selection import CrossFitted, cross_fitted, mixture

DRAWS = 200


def _fit(gains: dict[str, list[float]], seed: int) -> CrossFitted:
    best = max(gains, key=lambda name: sum(gains[name]))
    naive = difference_of([0.0] * len(gains[best]), gains[best], may_flip=False).se
    assert naive is not None
    found = cross_fitted(gains, None, seed=seed, naive_se=naive)
    assert found is not None
    return found


@pytest.mark.parametrize("k", [2, 5, 20])
def test_among_equal_candidates_the_gain_is_told_without_bias(k: int) -> None:
    draw = random.Random(k)
    found = [
        _fit({f"c{n}": [draw.gauss(0.1, 0.3) for _ in range(60)] for n in range(k)}, seed)
        for seed in range(DRAWS)
    ]
    covered = sum(one.ci is not None and one.ci[0] <= 0.1 <= one.ci[1] for one in found)
    assert covered >= 178  # scipy.stats.binom.ppf(0.001, 200, 0.93) is 173
    assert abs(sum(one.diff for one in found) / DRAWS - 0.1) < 0.01


def test_where_candidates_differ_the_gain_is_never_optimistic() -> None:
    draw = random.Random(7)
    errors = []
    for seed in range(DRAWS):
        means = {f"c{n}": 0.02 * n for n in range(6)}
        gains = {name: [draw.gauss(mean, 0.3) for _ in range(60)] for name, mean in means.items()}
        best = max(gains, key=lambda name: sum(gains[name]))
        errors.append(_fit(gains, seed).diff - means[best])
    assert sum(errors) / DRAWS < 0.01


def test_a_clear_winner_keeps_its_gain_and_every_half_chooses_it() -> None:
    gains = {"a": [0.5, 0.6] * 20, "b": [0.0, 0.1] * 20}
    found = _fit(gains, 1)
    assert found.diff == pytest.approx(0.55)
    assert found.chosen == {"a": 1.0, "b": 0.0}
    assert mixture(gains, found.chosen) == gains["a"]


def test_it_is_the_same_for_the_same_seed_and_no_narrower_than_the_plain_interval() -> None:
    draw = random.Random(2)
    gains = {name: [draw.gauss(0, 1) for _ in range(30)] for name in "abc"}
    first = cross_fitted(gains, None, seed=4, naive_se=9.0)
    assert first == cross_fitted(gains, None, seed=4, naive_se=9.0)
    assert first is not None
    assert first.se == 9.0


def test_the_same_gains_choose_the_same_on_every_python() -> None:
    """Python adds up in another way since 3.12; of the same gains in another order, neither is higher."""
    draw = random.Random(1)
    gains = {name: [draw.choice((0.0, 0.1, 0.2, 0.3, 0.7)) for _ in range(20)] for name in "abc"}
    found = cross_fitted(gains, None, seed=1, naive_se=0.0)
    assert found is not None
    assert found.chosen == {"a": 0.05, "b": 0.325, "c": 0.625}


def test_clusters_stay_whole() -> None:
    """Within two clusters all examples are alike, so each is measured by what the others chose."""
    clusters = [n // 5 for n in range(20)]
    gains = {name: [float(cluster % 2 == place) for cluster in clusters] for place, name in enumerate("ab")}
    found = cross_fitted(gains, clusters, seed=1, naive_se=0.0)
    assert found is not None
    assert found.df == 3
    assert cross_fitted(gains, [n // 10 for n in range(20)], seed=1, naive_se=0.0) is None


def test_what_was_not_scored_takes_no_part() -> None:
    gains = {"a": [math.nan, *[0.3] * 9], "b": [0.2] * 9 + [math.nan]}
    found = cross_fitted(gains, None, seed=0, naive_se=0.0)
    assert found is not None
    assert found.chosen["a"] == 1.0
    assert found.diff == pytest.approx(0.3)
    assert found.n_pairs == 9


def test_many_examples_are_halved_in_blocks() -> None:
    gains = {"a": [0.5, 0.7] * 1500, "b": [0.0] * 3000}
    found = cross_fitted(gains, None, seed=0, naive_se=0.0)
    assert found is not None
    assert found.diff == pytest.approx(0.6)
    assert (found.n_pairs, found.df) == (3000, 2999)
