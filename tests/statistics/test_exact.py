"""Signs drawn in columns are those that one call of randbytes for each flip draws."""

import random

import pytest

from optimize_eval.statistics.differences import FLIPS, difference_of, drawn_flips


@pytest.mark.parametrize("size", [1, 8, 9, 31, 32, 33, 40, 41, 300])
def test_flips_are_drawn_eight_at_a_time_from_the_seed(size: int) -> None:
    draw = random.Random(size).gauss
    units = [float(round(draw(1, 9))) or 1.0 for _ in range(size)]  # whole numbers add up exactly
    randbytes = random.Random(7).randbytes
    signs = (int.from_bytes(randbytes(-(-size // 8)), "little") for _ in range(FLIPS))
    sums = [sum(one if flip >> place & 1 else -one for place, one in enumerate(units)) for flip in signs]
    extreme = sum(abs(total) >= abs(sum(units)) for total in sums)
    assert drawn_flips([0.0, *units, 0.0], 7) == (1 + extreme) / (1 + FLIPS)


def test_ties_alone_show_nothing() -> None:
    assert drawn_flips([0.0, 0.0], 7) == 1


def test_a_clear_difference_of_few_units_is_confirmed_among_however_many_comparisons() -> None:
    base, better = [0.0] * 40, [0.1 + n / 100 for n in range(40)]
    told = difference_of(base, better, comparisons=1500)
    assert told.test == "flip"
    assert told.p == 1 / (1 + 100 * 1500)
    assert difference_of(base, better).p == 1 / (1 + FLIPS)
    assert difference_of([0.0] * 51, [*better, *better[:11]], comparisons=101).test == "t"


def test_flips_stop_early_where_no_further_ones_could_confirm_anything() -> None:
    units = [(-1.0) ** n * n for n in range(1, 30)]
    assert drawn_flips(units, 7, 5000) == drawn_flips(units, 7)
