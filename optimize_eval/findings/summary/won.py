"""The sentence of a winner: by how much it beats the baseline, and of how many it was picked as the best.

Whether it beats the baseline is decided by the corrected test and the interval together. Where it was picked
among several, the interval's lower end holds for all of them; where there is a test split, it has the word.
"""

from dataclasses import replace

from optimize_eval.findings.rows import AMONG_BOTH, on_split, primary_name, survives_failures
from optimize_eval.findings.shapes.difference import ScoreDifference
from optimize_eval.findings.shapes.row import Row
from optimize_eval.findings.shapes.summary import Summary, Verdict, WonBy
from optimize_eval.findings.wording import count, evidence, number, p_value, signed
from optimize_eval.statistics.estimates import around_the_best
from optimize_eval.statistics.power import ALPHA, can_decide
from optimize_eval.store.layout import Layout

BETTER, NOT_SHOWN = "better", "not_shown"


def won(winner: Row, summary: Summary, layout: Layout) -> Verdict:
    """Name the winner and its gain."""
    if "test" in winner.splits and layout.deciding != "test":
        return _on_test(winner, summary, layout)
    d = winner.difference(layout.deciding)
    picked = ""
    if selection := summary.selection:
        d = replace(d, ci=selection.ci)
        picked = f", picked as the best of {selection.k:,}"
    among = f" {AMONG_BOTH}" if d.skipped_for_one else ""
    beats = f"{winner.candidate} beats {layout.baseline}{on_split(layout.deciding)}{among}"
    by = WonBy(diff=d.diff, ci=d.ci, p=_p(d), from_=layout.deciding)
    if d.ci is None:
        exactly = f"better by exactly {number(d.diff)} {primary_name(layout)}"
        text = f"{beats}: {exactly} on all {count(d.n_pairs, 'example')} ({p_value(_p(d))})"
    else:
        text = f"{beats}: {signed(d.diff)} {primary_name(layout)}{picked} ({evidence(d)})"
    return Verdict(text=text, state=BETTER, winner=winner.candidate, by=by)


def _on_test(winner: Row, summary: Summary, layout: Layout) -> Verdict:
    """Let the test split speak: only winners are held against it, so its p is corrected for these alone."""
    name, baseline = winner.candidate, layout.baseline
    d = winner.difference("test")
    k = summary.selection.k if summary.selection else 1
    among = f" among {k:,}" if k > 1 else ""
    chosen = f"{name}, selected on {layout.deciding}{among},"
    if d.diff is None or d.p is None:
        text = f"{chosen} cannot be compared with {baseline} on test data: {count(d.n_pairs, 'pair')}"
        return Verdict(text=text, state=NOT_SHOWN)
    comparisons = summary.tried.comparisons if summary.tried else 1
    ci = around_the_best(d.diff, d.se, d.units - 1, comparisons) if d.ci and d.se else d.ci
    low = ci[0] if ci else d.diff
    p = min(1.0, comparisons * d.p)
    is_shown = (
        survives_failures(winner, "test") and low > 0 and p < ALPHA and can_decide(d.units, comparisons)
    )
    verb = "beats" if is_shown else "is not shown to beat"
    told = evidence(replace(d, ci=ci, p_holm=p))
    text = f"{chosen} {verb} {baseline} on test data: {signed(d.diff)} {primary_name(layout)} ({told})"
    by = WonBy(diff=d.diff, ci=ci, p=p, from_="test")
    if not is_shown:
        return Verdict(text=text, state=NOT_SHOWN, by=by)
    return Verdict(text=text, state=BETTER, winner=name, by=by)


def _p(d: ScoreDifference) -> float | None:
    p: float | None = d.p_holm if d.p_holm is not None else d.p
    return p
