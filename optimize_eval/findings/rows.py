"""Rows of a summary: numbers put into their shapes, and what verdicts and points read of them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from optimize_eval.base.frozen import extend
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings import comparison
from optimize_eval.findings.comparison import (
    IF_ALIKE,
    NOT,
    SURELY,
    UNBOUNDED,
    Held,
    Lost,
    WithFailures,
)
from optimize_eval.findings.scores import Scores, Values, known
from optimize_eval.findings.shapes import MeasuredCell, Overfit, Row, SplitScores
from optimize_eval.findings.summary_shape import FailureGroup, SkipGroup
from optimize_eval.findings.wording import count, evaluator_label, interval, signed
from optimize_eval.statistics.differences import (
    DespiteFailures,
    DifferenceInShort,
    OverAllRows,
    ScoreDifference,
)
from optimize_eval.statistics.estimates import Estimate, spread_of
from optimize_eval.statistics.power import ALPHA, fewest_units
from optimize_eval.store.layout import SINGLE, Cell, Layout

AMONG_BOTH = "among the examples that apply to both"

MARKS = {
    comparison.BETTER: "▲",
    comparison.WORSE: "▼",
    comparison.HINT_BETTER: "△",
    comparison.HINT_WORSE: "▽",
    comparison.NO_DIFFERENCE: "·",
    comparison.TOO_FEW: "·",
}


def primary_name(layout: Layout) -> str:
    """Name the evaluator that leads and, where there are several task models, the first of them."""
    return evaluator_label(layout.evaluators[0], layout.task_models[0])


def is_primary(row: Row, layout: Layout) -> bool:
    return (row.evaluator, row.task_model) == (layout.evaluators[0], layout.task_models[0])


def marked(rows: Sequence[Row], split: str, *marks: str) -> list[Row]:
    """List the rows that a split marks so, the largest difference first."""
    found = [(d.diff or 0.0, row) for row in rows if (d := row.against_baseline(split)) and d.mark in marks]
    return [row for _, row in sorted(found, key=lambda pair: -pair[0])]


def survives_failures(row: Row, split: str) -> bool:
    """Return True if a lead holds over all rows, with its failures as 0 and the baseline's as 1."""
    d = row.against_baseline(split)
    return d is not None and holds_over_all(d)


def holds_over_all(d: ScoreDifference) -> bool:
    """Return True if neither failures nor rules could have made a lead."""
    if d.over_all_rows and d.over_all_rows.mark != comparison.BETTER:
        return False
    return d.despite_failures in {None, SURELY}


def lead_holds(d: ScoreDifference) -> bool:
    """Return True if failures, skips of one side and rules leave what a difference is called as it is."""
    rows = d.over_all_rows
    return d.despite_failures in {None, SURELY} and (rows is None or rows.mark == d.mark)


def why_no_winner(row: Row, split: str) -> str:
    """Say where a candidate is ahead, and what keeps it from being the winner."""
    d = row.difference(split)
    return why_no_lead(d, d.despite_failures or "")


def why_no_lead(d: ScoreDifference, despite_failures: str) -> str:
    """Say the same of any difference, by what failures and skips of one side leave of it."""
    if (rows := d.over_all_rows) and rows.mark != d.mark:
        whole = f"{signed(rows.diff)}, {interval(rows.ci)}" if rows.ci else signed(rows.diff)
        return f"among the rows that rules keep, but not over all rows ({whole})"
    if many := d.skipped_for_one:
        return f"{AMONG_BOTH}, {_WITH_SKIPS[despite_failures]} ({many:,} skipped for one)"
    why = {
        UNBOUNDED: "but calls failed, and what they would have scored has no bound",
        IF_ALIKE: "unless failures hide good scores",
    }.get(despite_failures, "but not when failures count as 0")
    return f"where both were scored, {why}"


def about_rules(who: str, other: str, d: ScoreDifference) -> str:
    """Say that rules may favour one of two: they leave out other rows, or look at scores or replies."""
    rows = d.over_all_rows
    return (
        f"rules leave rows out by what came of them, or others for {who} than for {other}: over all rows it "
        f"differs by {signed(rows.diff if rows else None)}, not {signed(d.diff)}; better is what is better "
        "over all rows, too"
    )


def where_scored(d: ScoreDifference) -> str:
    """Say what a difference is about where calls failed, or were skipped for one side."""
    if d.skipped_for_one:
        return f" {AMONG_BOTH}"
    return " where both were scored" if d.despite_failures else ""


_WITH_SKIPS = {
    UNBOUNDED: "but what was skipped for one of them alone could have any score",
    IF_ALIKE: "unless skips or failures hide good scores",
    NOT: "but not when skips of one side and failures count as 0",
}


def too_few(d: ScoreDifference) -> str:
    """Say why a difference is not called anything, and what it would take."""
    pairs = count(d.n_pairs, "pair")
    units, comparisons = d.units, d.comparisons
    if d.n_pairs and d.se is None and units > 1:
        return f"{pairs}, with scores that are too large to compute with"
    fewest = fewest_units(comparisons)
    among = f" among {comparisons:,} comparisons" if comparisons > 1 else ""
    if units < d.n_pairs:
        return f"{pairs} in {count(units, 'cluster')}, and it takes {fewest} clusters to show anything{among}"
    return f"{pairs}, and it takes {fewest} to show anything{among}"


def change(d: ScoreDifference) -> str:
    """Write a difference with its interval; where all pairs differ alike, say that instead."""
    if d.ci is not None:
        return f"{signed(d.diff)} ({interval(d.ci)})"
    if not d.diff:
        return no_difference_in(d)
    return f"exactly {signed(d.diff)} on all {count(d.n_pairs, 'example')}"


def no_difference_in(d: ScoreDifference) -> str:
    """Say what no difference in any pair does and does not rule out."""
    told = f"no difference in any of {count(d.n_pairs, 'pair')}"
    if d.at_most is None:
        return told
    share = math.ceil(100 * d.at_most)
    return f"{told} (at most about {share} in 100 such examples can differ)"


_WHERE = {"val": " on held-out data", "test": " on test data", "train": " on the train data", SINGLE: ""}


def on_split(split: str) -> str:
    """Say on which examples; the splits of a bench are called after their files."""
    return _WHERE.get(split, f" on {split}")


def measured_in(cell: Cell) -> MeasuredCell:
    return MeasuredCell(
        candidate=cell.candidate, evaluator=cell.evaluator, task_model=cell.task_model, split=cell.split
    )


def split_scores(scores: Scores, mean: Estimate, layout: Layout) -> SplitScores:
    return extend(
        SplitScores,
        mean,
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


def held_difference(held: Held) -> ScoreDifference:
    """Shape a difference, and what skips of one side and rules make of it."""
    return beside(held.comparison, held.failing, held.over_all)


def beside(
    d: ScoreDifference, failing: WithFailures | None, over_all: ScoreDifference | None
) -> ScoreDifference:
    """Put what failures, skips of one side and rules make of a difference beside it."""
    return replace(
        d,
        over_all_rows=OverAllRows(**_in_short(over_all), mark=over_all.mark) if over_all else None,
        skipped_for_one=failing.skipped_for_one if failing else 0,
        with_failures=_despite_failures(failing) if failing else None,
    )


def overfit(lost: Lost, p_holm: float | None, state: str | None) -> Overfit | None:
    """Shape a lost gain."""
    if lost.gap is None:
        return None
    return extend(
        Overfit,
        lost.gap,
        flag=p_holm is not None and p_holm < ALPHA and lost.can_be_told and lost.gap.value > 0,
        p=lost.p,
        p_holm=p_holm,
        state=state,
        carry_over=lost.carried,
    )


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
        at_worst=DifferenceInShort(**_in_short(found.at_worst)) if found.at_worst else None,
        at_zero=DifferenceInShort(**_in_short(found.at_zero)) if found.at_zero else None,
    )


def _in_short(d: ScoreDifference) -> dict[str, Any]:
    return {"diff": d.diff, "ci": d.ci, "p": d.p, "p_holm": d.p_holm}


def _bounds(
    scores: Scores, mean: Estimate, score_range: ScoreRange
) -> tuple[float | None, float | None] | None:
    """Give the means that the failures could have made of it, at worst and at best."""
    if score_range is not ScoreRange.UNIT:
        return None
    if scores.lows is None or scores.highs is None:
        return None if mean.mean is None else (mean.mean, mean.mean)
    return _plain_mean(scores.lows), _plain_mean(scores.highs)


def _plain_mean(values: Values) -> float | None:
    at = known(values)
    return math.fsum(values[place] for place in at) / len(at) if at else None
