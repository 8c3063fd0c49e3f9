"""Numbers put into the shapes of a summary: S of a split, D of a difference, G of a gap."""

import math
from dataclasses import asdict

from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.claims.failures import WithFailures
from optimize_eval.findings.claims.held import Held
from optimize_eval.findings.scores import Scores, Values, known
from optimize_eval.findings.shapes.difference import (
    DespiteFailures,
    DifferenceInShort,
    Margin,
    OverAllRows,
    ScoreDifference,
)
from optimize_eval.findings.shapes.measured import Estimate, MeasuredCell
from optimize_eval.findings.shapes.row import CarriedShare, Overfit, ScoreGap, SplitScores
from optimize_eval.findings.shapes.summary import FailureGroup, SkipGroup
from optimize_eval.findings.summary.compare import FEWEST_PAIRS, Comparison
from optimize_eval.findings.summary.gap import Lost
from optimize_eval.statistics.estimates import Mean, spread_of
from optimize_eval.statistics.paired import CarryOver, GapEstimate
from optimize_eval.statistics.power import ALPHA
from optimize_eval.store.layout import Cell, Layout


def measured_in(cell: Cell) -> MeasuredCell:
    return MeasuredCell(
        candidate=cell.candidate, evaluator=cell.evaluator, task_model=cell.task_model, split=cell.split
    )


def estimate(mean: Mean) -> Estimate:
    return Estimate(mean=mean.mean, se=mean.se, ci=mean.ci, method=mean.method, n=mean.n)


def split_scores(scores: Scores, mean: Mean, layout: Layout) -> SplitScores:
    return SplitScores(
        mean=mean.mean,
        se=mean.se,
        ci=mean.ci,
        method=mean.method,
        n=mean.n,
        repeats=layout.repeats,
        scored=scores.scored,
        failed=scores.failed,
        skipped=scores.skipped,
        coverage=scores.coverage,
        bounds=_bounds(scores, mean, layout.score_range(scores.cell.evaluator)),
        within_sd=scores.within_sd,
        between_sd=spread_of([scores.means[place] for place in known(scores.means)]),
        failures=_by_kind(scores),
    )


def score_difference(
    one: Comparison,
    *,
    with_power: bool = False,
    failing: WithFailures | None = None,
    over_all: Comparison | None = None,
    margin: Margin | None = None,
) -> ScoreDifference:
    """Shape a difference; its power takes time, so only where it is read."""
    difference = one.difference
    return ScoreDifference(
        diff=difference.diff,
        se=difference.se,
        ci=difference.ci,
        p=difference.p,
        p_holm=one.p_holm,
        test=difference.test,
        n_pairs=difference.n_pairs,
        units=difference.units,
        comparisons=one.comparisons,
        dropped=one.dropped,
        wins=difference.wins,
        ties=difference.ties,
        losses=difference.losses,
        at_most=difference.at_most,
        skew=difference.skew,
        mde=one.mde if with_power else None,
        mark=one.mark,
        over_all_rows=OverAllRows(**asdict(_in_short(over_all)), mark=over_all.mark) if over_all else None,
        skipped_for_one=failing.skipped_for_one if failing else 0,
        with_failures=_despite_failures(failing) if failing else None,
        margin=margin,
    )


def held_difference(held: Held) -> ScoreDifference:
    """Shape a difference, and what skips of one side and rules make of it."""
    return score_difference(held.comparison, failing=held.failing, over_all=held.over_all)


def margin_of(one: Comparison) -> Margin | None:
    """Shape what a margin says of a difference."""
    found = one.held
    if found is None:
        return None
    return Margin(
        margin=found.margin,
        ci90=(found.low, found.high),
        method=found.method,
        no_worse=found.is_no_worse,
        equivalent=found.is_equivalent,
    )


def score_gap(found: GapEstimate, fewest: int) -> ScoreGap:
    """Shape a gap of means; `fewest` is the smaller of the two numbers of examples."""
    return ScoreGap(
        value=found.value,
        se=found.se,
        ci=found.ci,
        df=_finite(found.df),
        flag=fewest >= FEWEST_PAIRS and found.excludes_zero,
    )


def overfit(lost: Lost, p_holm: float | None, state: str | None) -> Overfit | None:
    """Shape a lost gain."""
    if lost.gap is None:
        return None
    return Overfit(
        value=lost.gap.value,
        se=lost.gap.se,
        ci=lost.gap.ci,
        df=_finite(lost.gap.df),
        flag=p_holm is not None and p_holm < ALPHA and lost.can_be_told and lost.gap.value > 0,
        p=lost.p,
        p_holm=p_holm,
        state=state,
        carry_over=carried_share(lost.carried),
    )


def carried_share(carried: CarryOver | None) -> CarriedShare | None:
    return CarriedShare(share=carried.share, ci=carried.ci) if carried else None


def failure_groups(candidate: str, scores: Scores) -> list[FailureGroup]:
    cell = scores.cell
    return [
        FailureGroup(
            candidate=candidate,
            evaluator=cell.evaluator,
            task_model=cell.task_model,
            split=cell.split,
            kind=failures.kind,
            count=failures.count,
            first_message=failures.first_message,
            lines=tuple(failures.lines),
            first_side_info=failures.first_side_info,
            stage=failures.stage,
        )
        for failures in scores.failures
    ]


def skip_groups(candidate: str, scores: Scores) -> list[SkipGroup]:
    cell = scores.cell
    return [
        SkipGroup(
            candidate=candidate,
            evaluator=cell.evaluator,
            task_model=cell.task_model,
            split=cell.split,
            count=skips.count,
            first_message=skips.first_message,
            lines=tuple(skips.lines),
            excluded_by=dict(skips.excluded_by),
        )
        for skips in scores.skips
    ]


def _by_kind(scores: Scores) -> dict[str, int]:
    counts: dict[str, int] = {}
    for failures in scores.failures:
        counts[failures.kind] = counts.get(failures.kind, 0) + failures.count
    return counts


def _despite_failures(found: WithFailures) -> DespiteFailures:
    """Shape what becomes of a difference when failures count as scores."""
    return DespiteFailures(
        despite_failures=found.ahead,
        at_worst=_in_short(found.at_worst) if found.at_worst else None,
        at_zero=_in_short(found.at_zero) if found.at_zero else None,
    )


def _in_short(one: Comparison) -> DifferenceInShort:
    difference = one.difference
    return DifferenceInShort(diff=difference.diff, ci=difference.ci, p=difference.p, p_holm=one.p_holm)


def _bounds(scores: Scores, mean: Mean, score_range: ScoreRange) -> tuple[float | None, float | None] | None:
    """Give the means that the failures could have made of it, at worst and at best."""
    if score_range is not ScoreRange.UNIT:
        return None
    if scores.lows is None or scores.highs is None:
        return None if mean.mean is None else (mean.mean, mean.mean)
    return _plain_mean(scores.lows), _plain_mean(scores.highs)


def _plain_mean(values: Values) -> float | None:
    at = known(values)
    return math.fsum(values[place] for place in at) / len(at) if at else None


def _finite(df: float) -> float | None:
    return df if math.isfinite(df) else None
