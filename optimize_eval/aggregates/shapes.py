"""Numbers in the shapes that summary.json has: S of a split, D of a difference, G of a gap."""

import math
from typing import Any

from optimize_eval.aggregates import gap
from optimize_eval.aggregates.compare import Comparison
from optimize_eval.aggregates.scores import Scores, Values, known
from optimize_eval.aggregates.statistics import Gap, Mean, spread_of
from optimize_eval.protocol import ScoreRange
from optimize_eval.run.layout import Cell, Layout


def where(cell: Cell) -> dict[str, Any]:
    return {
        "candidate": cell.candidate,
        "evaluator": cell.evaluator,
        "task_model": cell.task_model,
        "split": cell.split,
    }


def s_of(scores: Scores, mean: Mean, layout: Layout) -> dict[str, Any]:
    return {
        "mean": mean.mean,
        "se": mean.se,
        "ci": mean.ci,
        "method": mean.method,
        "n": mean.n,
        "repeats": layout.repeats,
        "scored": scores.scored,
        "failed": scores.failed,
        "skipped": scores.skipped,
        "coverage": scores.coverage,
        "bounds": _bounds(scores, mean, layout.score_range(scores.cell.evaluator)),
        "within_sd": scores.within_sd,
        "between_sd": spread_of([scores.means[place] for place in known(scores.means)]),
        "failures": {kind: failures.count for kind, failures in scores.failures.items()},
    }


def d_of(one: Comparison) -> dict[str, Any]:
    difference = one.difference
    return {
        "diff": difference.diff,
        "se": difference.se,
        "ci": difference.ci,
        "p": difference.p,
        "p_holm": one.p_holm,
        "test": difference.test,
        "n_pairs": difference.n_pairs,
        "dropped": one.dropped,
        "wins": difference.wins,
        "ties": difference.ties,
        "losses": difference.losses,
        "mde": difference.mde,
        "mark": one.mark,
    }


def g_of(found: Gap, fewest: int) -> dict[str, Any]:
    return {
        "value": found.value,
        "se": found.se,
        "ci": found.ci,
        "df": found.df if math.isfinite(found.df) else None,
        "flag": gap.may_flag(found, fewest) and found.excludes_zero,
    }


def overfit_of(train: Comparison, val: Comparison) -> dict[str, Any] | None:
    found = gap.overfit_of(train.difference, val.difference)
    if found is None:
        return None
    fewest = min(train.difference.n_pairs, val.difference.n_pairs)
    return g_of(found, fewest) | {"state": gap.state_of(found, train.difference, val.difference)}


def failures_of(candidate: str, scores: Scores) -> list[dict[str, Any]]:
    return [
        {
            **where(scores.cell),
            "candidate": candidate,
            "kind": kind,
            "count": failures.count,
            "first_message": failures.first_message,
            "lines": failures.lines,
            "first_side_info": failures.first_side_info,
        }
        for kind, failures in scores.failures.items()
    ]


def _bounds(scores: Scores, mean: Mean, score_range: ScoreRange) -> list[float | None] | None:
    """Tell the means that the failures could have made of it, at worst and at best."""
    if score_range is not ScoreRange.UNIT:
        return None
    if scores.lows is None or scores.highs is None:
        return None if mean.mean is None else [mean.mean, mean.mean]
    return [_plain_mean(scores.lows), _plain_mean(scores.highs)]


def _plain_mean(values: Values) -> float | None:
    at = known(values)
    return math.fsum(values[place] for place in at) / len(at) if at else None
