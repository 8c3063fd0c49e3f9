"""What verdicts and points say of a difference."""

import math
from collections.abc import Iterator, Sequence

from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings import comparison
from optimize_eval.findings.comparison import IF_ALIKE, NOT, SURELY, UNBOUNDED
from optimize_eval.findings.summary_parts import Row
from optimize_eval.findings.wording import count, evaluator_label, interval, possible_interval, signed
from optimize_eval.statistics.differences import DifferenceInShort, ScoreDifference
from optimize_eval.statistics.power import fewest_units
from optimize_eval.store.layout import Layout

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
    decides = _numbers_of(d.at_worst if despite_failures == IF_ALIKE else d.at_zero)
    if many := d.skipped_for_one:
        known = "; ".join([f"{many:,} skipped for one", *decides])
        return f"{AMONG_BOTH}, {_WITH_SKIPS[despite_failures]} ({known})"
    why = {
        UNBOUNDED: "but calls failed that could have had any score",
        IF_ALIKE: "but not clearly if its failed calls count as 0 and the other's as 1",
    }.get(despite_failures, "but not clearly if failures count as 0")
    return " ".join([f"where both were scored, {why}", *(f"({numbers})" for numbers in decides)])


def _numbers_of(d: DifferenceInShort | None) -> Iterator[str]:
    """Write the difference with failures as scores, which decides; only scores from 0 to 1 have such ends."""
    if d is not None and d.diff is not None and d.ci is not None:
        yield f"{signed(d.diff)}, 95 % CI {interval(possible_interval(d.ci, ScoreRange.UNIT))}"


def about_rules(who: str, other: str, d: ScoreDifference) -> str:
    """Say that rules may favour one of two: they leave out other rows, or look at scores or replies."""
    rows = d.over_all_rows
    whole = f"over all rows the difference is {signed(rows.diff if rows else None)}, not {signed(d.diff)}"
    return (
        f"Rules may favour {who} or {other}: {whole}. To be better, {who} must be better over all rows, too"
    )


def where_scored(d: ScoreDifference) -> str:
    """Say what a difference is about where calls failed, or were skipped for one side."""
    if d.skipped_for_one:
        return f" {AMONG_BOTH}"
    return " where both were scored" if d.despite_failures else ""


_WITH_SKIPS = {
    UNBOUNDED: "but calls that were skipped for only one of them could have had any score",
    IF_ALIKE: "but not clearly if its skips and failures count as 0 and the other's as 1",
    NOT: "but not clearly if skips of one side and failures count as 0",
}


def too_few(d: ScoreDifference, kind: str = "", candidates: int = 0) -> str:
    """Say why a difference is not called anything, and what it would take.

    `kind` is of examples; `candidates` are how many are compared, where that is all that is.
    """
    examples = count(d.n_pairs, f"{kind} example".strip())
    units, comparisons = d.units, d.comparisons
    if d.n_pairs and d.se is None and units > 1:
        return f"{examples}, with scores that are too large to compute with"
    fewest = f"{fewest_units(comparisons)}{' clusters' * (units < d.n_pairs)}"
    clusters = f" in {count(units, 'cluster')}" if units < d.n_pairs else ""
    if comparisons == 1:
        return f"{examples}{clusters}; a verdict takes at least {fewest}, usually many more"
    if comparisons == candidates:
        return f"{examples}{clusters}; comparing {candidates:,} candidates takes at least {fewest}"
    return f"{examples}{clusters}; {comparisons:,} comparisons take at least {fewest}, usually many more"


def change(d: ScoreDifference) -> str:
    """Write a difference with its interval; where all pairs differ alike, say that instead."""
    if d.ci is not None:
        return f"{signed(d.diff)} ({interval(d.ci)})"
    if not d.diff:
        return no_difference_in(d)
    return f"exactly {signed(d.diff)} on all {count(d.n_pairs, 'example')}"


def in_short(d: ScoreDifference) -> str:
    """Write a difference alone: its interval stands in tables."""
    return no_difference_in(d) if d.ci is None and not d.diff else signed(d.diff)


def no_difference_in(d: ScoreDifference) -> str:
    """Say what no difference in any pair does and does not rule out."""
    told = f"no difference in any of {count(d.n_pairs, 'pair')}"
    if d.at_most is None:
        return told
    share = math.ceil(100 * d.at_most)
    return f"{told} (at most about {share} in 100 such examples can differ)"
