"""Stated confidences against scores, by hand and by their laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.statistics.rates import calibration_of

shares = st.floats(0, 1)
answers = st.lists(st.tuples(shares, shares), min_size=1, max_size=30)


def test_a_reliability_table_by_hand() -> None:
    found = calibration_of([(0.95, 1), (0.91, 1), (1.0, 0), (0.35, 0)])
    assert found is not None
    assert (found.n, found.score) == (4, 0.5)
    assert found.confidence == pytest.approx(0.8025)
    assert found.brier == pytest.approx((0.05**2 + 0.09**2 + 1 + 0.35**2) / 4)
    assert [(one.low, one.n, one.score) for one in found.bins] == [
        (0.3, 1, 0),
        (0.9, 3, pytest.approx(2 / 3)),
    ]
    assert found.ece == pytest.approx((1 * 0.35 + 3 * abs(2.86 / 3 - 2 / 3)) / 4)
    assert calibration_of([]) is None


@given(answers)
def test_every_answer_is_in_one_bin_and_the_ece_is_between_bias_and_distance(
    given_answers: list[tuple[float, float]],
) -> None:
    found = calibration_of(given_answers)
    assert found is not None
    assert sum(one.n for one in found.bins) == found.n
    assert all(one.low - 1e-9 <= one.confidence <= one.high + 1e-9 for one in found.bins)
    assert abs(found.confidence - found.score) - 1e-9 <= found.ece
    assert found.ece**2 <= found.brier + 1e-9  # Jensen: a mean distance is at most the root mean square


@given(st.lists(shares, min_size=1))
def test_who_is_exactly_as_sure_as_right_is_calibrated(confidences: list[float]) -> None:
    found = calibration_of([(one, one) for one in confidences])
    assert found is not None
    assert found.brier == 0
    assert found.ece == pytest.approx(0, abs=1e-12)
