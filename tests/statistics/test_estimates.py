"""The numbers against scipy, against known values, and against what intervals promise."""

import math
import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from optimize_eval.statistics import estimates
from optimize_eval.statistics.differences import difference_of, gap_of
from optimize_eval.statistics.estimates import Estimate, Interval, mean_of, pooled_sd, within_sd
from optimize_eval.statistics.power import holm

NUMBERS = st.floats(-5, 5, allow_subnormal=False)
SAMPLES = st.lists(NUMBERS, min_size=2, max_size=40)


@given(st.floats(-60, 60), st.floats(1, 500))
def test_p_values_are_scipys(t: float, df: float) -> None:
    from scipy import stats

    assume(t == 0 or abs(t) > 1e-6)  # nearer to 0 scipy has fewer digits right than it is asked for here
    assert estimates.two_sided_p(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-9, abs=1e-14)


@given(st.sampled_from([0.9, 0.95, 0.975, 0.995]), st.floats(1, 500))
def test_quantiles_are_scipys(share: float, df: float) -> None:
    from scipy import stats

    assert estimates.quantile(share, df) == pytest.approx(stats.t.ppf(share, df), rel=1e-9)


@given(SAMPLES)
def test_a_mean_has_the_standard_error_and_interval_of_scipy(values: list[float]) -> None:
    from scipy import stats

    found = mean_of(values)
    assert found.mean == pytest.approx(math.fsum(values) / len(values))
    if found.method == "t" and found.se:
        low, high = stats.t.interval(0.95, len(values) - 1, found.mean, stats.sem(values))
        assert found.se == pytest.approx(stats.sem(values))
        assert found.ci == pytest.approx((low, high))


@pytest.mark.parametrize(("wins", "n"), [(0, 10), (9, 10), (10, 10), (3, 50), (500, 1000)])
def test_shares_have_wilson_intervals(wins: int, n: int) -> None:
    from scipy import stats

    found = mean_of([1.0] * wins + [0.0] * (n - wins))
    expected = stats.binomtest(wins, n).proportion_ci(method="wilson")
    assert found.method == "wilson"
    assert found.ci == pytest.approx((expected.low, expected.high))


def test_what_cannot_be_known_is_none() -> None:
    assert (mean_of([]).mean, mean_of([]).ci) == (None, None)
    one = mean_of([0.5])
    assert (one.mean, one.se, one.ci, one.n) == (0.5, None, None, 1)
    alone = mean_of([0.1, 0.2, 0.3], clusters=["a", "a", "a"])
    assert (alone.se, alone.ci) == (None, None)
    none = difference_of([], [])
    assert (none.diff, none.p, none.n_pairs) == (None, None, 0)
    assert within_sd([[0.5], [0.2]]) is None


@pytest.mark.parametrize("large", [-6.3e102, 1e103, 1e200])
def test_what_leaves_the_floats_is_none(large: float) -> None:
    found = difference_of([0.0] * 10, [0.0] * 9 + [large], may_flip=False)
    assert found.diff == pytest.approx(large / 10)
    assert found.skew is None


@given(SAMPLES)
def test_clusters_of_one_change_nothing(values: list[float]) -> None:
    plain, clustered = mean_of([*values, 0.5]), mean_of([*values, 0.5], clusters=range(len(values) + 1))
    assert clustered.se == pytest.approx(plain.se)
    assert clustered.method in {None, "cluster_t"}


def test_copies_within_clusters_add_no_information() -> None:
    values = [0.1, 0.5, 0.4, 0.9, 0.3]
    copied = mean_of([v for v in values for _ in range(4)], clusters=[g for g in range(5) for _ in range(4)])
    single = mean_of(values)
    assert copied.se == pytest.approx(single.se)
    assert copied.ci == pytest.approx(single.ci)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=15, max_size=60))
def test_the_t_test_is_scipys(pairs: list[tuple[float, float]]) -> None:
    from scipy import stats

    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    found = difference_of(first, second, may_flip=False)
    if found.test == "t" and found.se and found.se > 1e-9:
        expected = stats.ttest_rel(second, first)
        assert found.p == pytest.approx(expected.pvalue, rel=1e-6, abs=1e-12)
        assert found.ci == pytest.approx(tuple(expected.confidence_interval()), abs=1e-9)


@given(st.lists(st.tuples(st.sampled_from([0, 1]), st.sampled_from([0, 1])), min_size=2, max_size=60))
def test_shares_are_compared_by_mcnemar(pairs: list[tuple[int, int]]) -> None:
    from scipy import stats

    found = difference_of([float(a) for a, _ in pairs], [float(b) for _, b in pairs])
    wins, losses = sum(b > a for a, b in pairs), sum(b < a for a, b in pairs)
    expected = stats.binomtest(min(wins, losses), wins + losses).pvalue if wins + losses else 1.0
    assert found.test == "mcnemar"
    assert found.p == pytest.approx(expected)
    assert (found.wins, found.losses, found.ties) == (wins, losses, len(pairs) - wins - losses)


@given(st.lists(st.integers(-64, 64).map(lambda steps: steps / 64), min_size=2, max_size=9))
def test_few_pairs_are_flipped_exactly(pairs: list[float]) -> None:
    from scipy import stats

    found = difference_of([0.5] * len(pairs), [0.5 + d for d in pairs])
    expected = stats.permutation_test(
        ([0.5 + d for d in pairs], [0.5] * len(pairs)),
        lambda x, y, axis: (x - y).mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
    )
    if found.test == "flip_exact":
        assert found.p == pytest.approx(expected.pvalue, abs=1e-9)


def test_many_pairs_are_flipped_by_a_seed() -> None:
    from scipy import stats

    draw = random.Random(1)
    first = [draw.random() for _ in range(200)]
    second = [value + draw.gauss(0.05, 0.3) for value in first]
    found, again, other = (difference_of(first, second, seed=seed) for seed in (3, 3, 4))
    assert found == again
    assert found.test == "flip"
    assert found.p == pytest.approx(other.p, abs=0.02)
    assert found.p == pytest.approx(stats.ttest_rel(second, first).pvalue, abs=0.02)


def test_whole_clusters_flip_together() -> None:
    first, second = [0.0] * 40, [0.1, 0.2] * 20
    clusters = [pair // 8 for pair in range(40)]
    found = difference_of(first, second, clusters)
    assert (found.test, found.p) == ("flip_exact", 2 / 2**5)
    assert found.n_pairs == 40


def test_a_gap_is_welchs() -> None:
    from scipy import stats

    train, val = [0.9, 0.8, 0.7, 0.95, 0.6], [0.5, 0.65, 0.4, 0.7, 0.45, 0.6, 0.3]
    a, b = mean_of(train), mean_of(val)
    found = gap_of(_estimate(a), _estimate(b))
    expected = stats.ttest_ind(train, val, equal_var=False)
    assert found.df == pytest.approx(expected.df)
    assert found.ci == pytest.approx(tuple(expected.confidence_interval()))
    assert found.excludes_zero


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holms_correction(p_values: list[float]) -> None:
    found = holm(p_values)
    assert all(corrected >= p for corrected, p in zip(found, p_values, strict=True))
    order = sorted(range(len(found)), key=p_values.__getitem__)
    assert [found[place] for place in order] == sorted(found)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_noise_between_repeats() -> None:
    assert within_sd([[0.4, 0.6], [0.1, 0.1], [0.9]]) == pytest.approx(0.1)
    assert pooled_sd([(0.1, 10), (0.0, 30)]) == pytest.approx(0.05)


Simulate = Callable[[random.Random], tuple[Interval | None, float]]


def _mean(draw: random.Random) -> tuple[Interval | None, float]:
    return mean_of([min(1.0, max(0.0, draw.gauss(0.5, 0.15))) for _ in range(30)]).ci, 0.5


def _clustered(draw: random.Random) -> tuple[Interval | None, float]:
    values, clusters = [], []
    for cluster in range(30):
        shared = draw.gauss(0, 0.2)
        values += [0.5 + shared + draw.gauss(0, 0.1) for _ in range(4)]
        clusters += [cluster] * 4
    return mean_of(values, clusters).ci, 0.5


def _paired(draw: random.Random) -> tuple[Interval | None, float]:
    first = [draw.random() for _ in range(40)]
    return difference_of(first, [a + draw.gauss(0.05, 0.2) for a in first], may_flip=False).ci, 0.05


def _gap(draw: random.Random) -> tuple[Interval | None, float]:
    a = mean_of([draw.gauss(0.7, 0.2) for _ in range(60)])
    b = mean_of([draw.gauss(0.6, 0.1) for _ in range(25)])
    return gap_of(_estimate(a), _estimate(b)).ci, 0.1


def _estimate(found: Estimate) -> tuple[float, float, float]:
    assert found.mean is not None
    assert found.se is not None
    return found.mean, found.se, found.n - 1


@pytest.mark.parametrize("simulate", [_mean, _clustered, _paired, _gap])
def test_intervals_cover_the_truth_in_95_of_100_trials(simulate: Simulate) -> None:
    draw = random.Random(20_261_118)
    trials: Sequence[tuple[Interval | None, float]] = [simulate(draw) for _ in range(2000)]
    covered = sum(ci is not None and ci[0] <= truth <= ci[1] for ci, truth in trials)
    assert 0.93 <= covered / len(trials) <= 0.97
