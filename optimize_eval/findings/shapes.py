"""Numbers in the shapes that summary.json has: S of a split, D of a difference, G of a gap."""

import math
from collections.abc import Mapping
from typing import Any

from optimize_eval.findings.claims.failures import WithFailures
from optimize_eval.findings.scores import Scores, Values, known
from optimize_eval.findings.summary.compare import FEWEST_PAIRS, Comparison
from optimize_eval.findings.summary.gap import Lost
from optimize_eval.protocol import ScoreRange
from optimize_eval.statistics.carry_over import CarryOver
from optimize_eval.statistics.equivalence import within_margin
from optimize_eval.statistics.families import ALPHA
from optimize_eval.statistics.gaps import Gap
from optimize_eval.statistics.means import Mean, spread_of
from optimize_eval.statistics.paired import Difference
from optimize_eval.store.layout import Cell, Layout


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


def d_of(one: Comparison, *, with_power: bool = False) -> dict[str, Any]:
    """Shape a difference; its power takes time, so only where it is read."""
    difference = one.difference
    return {
        "diff": difference.diff,
        "se": difference.se,
        "ci": difference.ci,
        "p": difference.p,
        "p_holm": one.p_holm,
        "test": difference.test,
        "n_pairs": difference.n_pairs,
        "units": difference.units,
        "comparisons": one.comparisons,
        "dropped": one.dropped,
        "wins": difference.wins,
        "ties": difference.ties,
        "losses": difference.losses,
        "at_most": difference.at_most,
        "skew": difference.skew,
        "mde": one.mde if with_power else None,
        "mark": one.mark,
    }


def despite_failures(found: WithFailures) -> dict[str, Any]:
    """Shape what becomes of a difference when failures count as scores."""
    ahead = found.ahead
    return {
        "despite_failures": ahead,
        "at_worst": found.at_worst and _in_short(found.at_worst),
        "at_zero": found.at_zero and _in_short(found.at_zero),
    }


def m_of(difference: Difference, margin: float | None, score_range: ScoreRange) -> dict[str, Any] | None:
    """Shape what a margin says of a difference."""
    if margin is None:
        return None
    found = within_margin(difference, margin, is_unit=score_range is ScoreRange.UNIT)
    if found is None:
        return None
    return {
        "margin": margin,
        "ci90": [found.low, found.high],
        "no_worse": found.is_no_worse,
        "equivalent": found.is_equivalent,
    }


def g_of(found: Gap, fewest: int) -> dict[str, Any]:
    """Shape a gap of means; `fewest` is the smaller of the two numbers of examples."""
    return {
        "value": found.value,
        "se": found.se,
        "ci": found.ci,
        "df": found.df if math.isfinite(found.df) else None,
        "flag": fewest >= FEWEST_PAIRS and found.excludes_zero,
    }


def lost_of(lost: Lost, p_holm: float | None, state: str | None) -> dict[str, Any] | None:
    """Shape a lost gain."""
    if lost.gap is None:
        return None
    is_flagged = p_holm is not None and p_holm < ALPHA and lost.can_be_told and lost.gap.value > 0
    return g_of(lost.gap, 0) | {
        "p": lost.p,
        "p_holm": p_holm,
        "flag": is_flagged,
        "state": state,
        "carry_over": carried_of(lost.carried),
    }


def carried_of(carried: CarryOver | None) -> dict[str, Any] | None:
    return {"share": carried.share, "ci": carried.ci} if carried else None


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


def _in_short(one: Comparison) -> Mapping[str, Any]:
    difference = one.difference
    return {"diff": difference.diff, "ci": difference.ci, "p": difference.p, "p_holm": one.p_holm}


def _bounds(scores: Scores, mean: Mean, score_range: ScoreRange) -> list[float | None] | None:
    """Give the means that the failures could have made of it, at worst and at best."""
    if score_range is not ScoreRange.UNIT:
        return None
    if scores.lows is None or scores.highs is None:
        return None if mean.mean is None else [mean.mean, mean.mean]
    return [_plain_mean(scores.lows), _plain_mean(scores.highs)]


def _plain_mean(values: Values) -> float | None:
    at = known(values)
    return math.fsum(values[place] for place in at) / len(at) if at else None
