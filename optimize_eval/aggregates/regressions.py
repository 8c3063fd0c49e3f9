"""What a row of a comparison of two runs amounts to, the gravest first; and whether it is a regression."""

from collections.abc import Mapping
from typing import Any

from optimize_eval.aggregates import compare

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
    """Tell whether the second run is worse, or fails where the first did not and that is worse.

    Where more fails, what fails counts as the lowest score; where there is no lowest, it could be any.
    """
    return standing(row) in REGRESSIONS


def standing(row: Row) -> str:
    """Say what a row amounts to."""
    if is_worse(row):
        return WORSE
    low = row["at_lower_bound"]
    newly_failing = row["newly_failing"] + row["newly_failing_in_part"]
    if low is None and newly_failing:
        return FAILS_UNBOUNDED
    if low is not None and _fails_more(row) and is_worse(low):
        return WORSE_AS_ZEROS
    if _is_better(row):
        is_sure = low is None or not _fails_more(row) or _is_better(low)
        return BETTER if is_sure else NOT_BETTER_AS_ZEROS
    is_same = row["n_pairs"] and row["ties"] == row["n_pairs"] and not newly_failing + row["fixed"]
    if is_same:
        return SAME
    return {compare.HINT_WORSE: MAY_BE_WORSE, compare.HINT_BETTER: MAY_BE_BETTER}.get(row["mark"], OPEN)


def is_worse(d: Row) -> bool:
    return bool(d["mark"] == compare.WORSE or (differs_alike(d) and d["diff"] < 0))


def _is_better(d: Row) -> bool:
    return bool(d["mark"] == compare.BETTER or (differs_alike(d) and d["diff"] > 0))


def differs_alike(d: Row) -> bool:
    """Tell whether enough pairs all differ by the same, which no interval can be made of, nor need be."""
    p = d["p_holm"] if d["p_holm"] is not None else d["p"]
    return bool(d["n_pairs"] >= compare.FEWEST_PAIRS and d["se"] == 0 and d["diff"] and p < compare.ALPHA)


def _fails_more(row: Row) -> bool:
    return bool(row["newly_failing"] or row["failed_calls"]["b"] > row["failed_calls"]["a"])
