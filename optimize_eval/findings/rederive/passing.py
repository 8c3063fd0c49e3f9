"""How often any of k repeats passes, and how often all do: of a cell, and over the tasks of a leaderboard."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from optimize_eval.findings.rederive.compared import Told, mean_of
from optimize_eval.findings.rederive.journal import CellRecords, Values
from optimize_eval.findings.rederive.numerics import Labels

Mean = Callable[[Sequence[Values]], Told]

_ALL_UP_TO = 10
_OF_MEAN = ("mean", "se", "ci", "method", "n")


def passes_of(
    cell: CellRecords, labels: Labels, *, is_clustered: bool, places: Any = slice(None)
) -> list[Told]:
    """Estimate both for each k; nothing unless there are repeats, and all scores are 0 or 1."""
    repeats = repeats_of(cell, places)

    def estimate(values: Sequence[Values]) -> Told:
        told = mean_of(values[0], labels, is_clustered=is_clustered, is_unit=True)
        return {key: told[key] for key in _OF_MEAN}

    return passes_over([repeats], estimate)


def repeats_of(cell: CellRecords, places: Any) -> list[list[float]]:
    scores = cell.scores[places]
    is_graded = any(not {*one} <= {0, 1} for one in scores) or any(cell.unranked_at[places])
    return scores if cell.repeats > 1 and cell.is_unit and not is_graded else []


def passes_over(tasks: Sequence[list[list[float]]], mean: Mean) -> list[Told]:
    there = [examples for examples in tasks if any(examples)]
    most = min((max(map(len, examples)) for examples in there), default=0)
    ks = range(1, most + 1)
    if most > _ALL_UP_TO:
        ks_above = [k for k in ks if k & (k - 1) == 0 or k == most]  # powers of two
        return [_told(k, there, mean) for k in ks_above]
    return [_told(k, there, mean) for k in ks]


def _told(k: int, tasks: Sequence[list[list[float]]], mean: Mean) -> Told:
    any_of, all_of = ([[way(k, one) for one in examples] for examples in tasks] for way in (_any_of, _all_of))
    return {"k": k, "any": mean(any_of), "all": mean(all_of)}


def _any_of(k: int, scores: Sequence[float]) -> float | None:
    failed = scores.count(0)
    return 1 - math.comb(failed, k) / math.comb(len(scores), k) if len(scores) >= k else None


def _all_of(k: int, scores: Sequence[float]) -> float | None:
    return math.comb(scores.count(1), k) / math.comb(len(scores), k) if len(scores) >= k else None
