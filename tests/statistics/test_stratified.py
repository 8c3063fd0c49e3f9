"""A mean over fixed tasks: its error is that of each task's own mean."""

import math
import random

import pytest

from optimize_eval.statistics.estimates import estimate_stratified


def test_error_and_degrees_of_freedom_by_hand() -> None:
    found = estimate_stratified([[0.0, 1.0], [0.2, 0.4, 0.6]])
    assert found is not None
    a, b = 0.5 / 2, 0.04 / 3
    freedom = (a + b) ** 2 / (a**2 / 1 + b**2 / 2)
    assert found[0] == pytest.approx(((0.5 + 0.4) / 2, math.sqrt(a + b) / 2, freedom))
    assert found[1] == pytest.approx(4 / (1 / 2 + 1 / 3))


def test_that_tasks_differ_is_no_error() -> None:
    found = estimate_stratified([[1.0] * 5, [0.0] * 5])
    assert found is not None
    assert found[0] == pytest.approx((0.5, 0.0, 8))
    assert found[1] == 10


def test_a_task_with_one_score_leaves_no_error_to_tell() -> None:
    assert estimate_stratified([[1.0, 0.0], [1.0]]) is None
    assert estimate_stratified([]) is None


def test_intervals_over_fixed_tasks_cover() -> None:
    """W8: residuals from the grand mean covered 1.000 here, and were up to 3.6 times too wide."""
    from optimize_eval.statistics import estimates

    draw = random.Random(8)
    truth = [0.1, 0.3, 0.5, 0.7, 0.9]
    covered = 0
    for _ in range(400):
        found = estimate_stratified([[draw.gauss(mean, 0.1) for _ in range(8)] for mean in truth])
        assert found is not None
        mean, se, df = found[0]
        covered += abs(mean - 0.5) <= estimates.quantile(0.975, df) * se
    assert 0.92 <= covered / 400 <= 0.98


def test_numbers_beyond_what_a_float_can_square_have_no_estimate() -> None:
    assert estimate_stratified([[1e308, 0.0, 1e308], [0.5, 0.5]]) is None
