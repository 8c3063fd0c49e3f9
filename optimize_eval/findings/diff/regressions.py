"""What a row of a comparison of two runs amounts to, the worst first; and whether it is a regression."""

from collections.abc import Mapping
from typing import Any

from optimize_eval.findings.summary import compare
from optimize_eval.statistics.families import ALPHA

Row = Mapping[str, Any]

(
    WORSE,
    WORSE_AS_ZEROS,
    FAILS_UNBOUNDED,
    BETTER,
    NOT_BETTER_AS_ZEROS,
    MAY_BE_WORSE,
    MAY_BE_BETTER,
    OPEN,
    SAME,
) = (
    "worse",
    "worse_as_zeros",
    "fails_unbounded",
    "better",
    "not_better_as_zeros",
    "may_be_worse",
    "may_be_better",
    "open",
    "same",
)
GRAVEST_FIRST = (
    WORSE,
    WORSE_AS_ZEROS,
    FAILS_UNBOUNDED,
    NOT_BETTER_AS_ZEROS,
    BETTER,
    MAY_BE_WORSE,
    MAY_BE_BETTER,
    OPEN,
    SAME,
)
REGRESSIONS = frozenset({WORSE, WORSE_AS_ZEROS, FAILS_UNBOUNDED})


def is_regression(row: Row) -> bool:
    """Return True if the second run is worse, or fails where the first did not and that is worse.

    Where more fails, what fails counts as the lowest score; where there is no lowest, it could be any.
    """
    return standing(row) in REGRESSIONS


def is_shown_lower(row: Row) -> bool:
    """Return True if a one-sided test at 5 % shows a loss: what a gate on regressions asks."""
    low = row["at_lower_bound"]
    is_failing = low is not None and _fails_more(row) and _is_lower(low)
    return standing(row) in REGRESSIONS or _is_lower(row) or is_failing


def standing(row: Row) -> str:
    """Say what a row amounts to."""
    if row["mark"] == compare.WORSE:
        return WORSE
    low = row["at_lower_bound"]
    newly_failing = row["newly_failing"] + row["newly_failing_in_part"]
    if low is None and newly_failing:
        return FAILS_UNBOUNDED
    if low is not None and _fails_more(row) and low["mark"] == compare.WORSE:
        return WORSE_AS_ZEROS
    if row["mark"] == compare.BETTER:
        is_sure = low is None or not _fails_more(row) or low["mark"] == compare.BETTER
        return BETTER if is_sure else NOT_BETTER_AS_ZEROS
    is_same = row["n_pairs"] and row["ties"] == row["n_pairs"] and not newly_failing + row["fixed"]
    if is_same:
        return SAME
    return {compare.HINT_WORSE: MAY_BE_WORSE, compare.HINT_BETTER: MAY_BE_BETTER}.get(row["mark"], OPEN)


def _is_lower(d: Row) -> bool:
    """Halve the two-sided p, as the tests are symmetric."""
    p = d["p_holm"] if d["p_holm"] is not None else d["p"]
    return d["diff"] is not None and d["diff"] < 0 and p is not None and p / 2 < ALPHA


def _fails_more(row: Row) -> bool:
    return bool(row["newly_failing"] or row["failed_calls"]["b"] > row["failed_calls"]["a"])
