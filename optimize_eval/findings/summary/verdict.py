"""What the numbers of a summary are called in words: one sentence, and points that belong to it.

Computed once, stored in summary.json, and used word for word by every report. Nothing is called better
without a corrected p value, nothing said to carry over for want of evidence, nothing at all while a run is
not complete. Who won is claims', what a winner's sentence is won's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from optimize_eval.findings.claims.tried import is_steered
from optimize_eval.findings.rows import (
    is_primary,
    marked,
    no_difference_in,
    on_split,
    primary_name,
    survives_failures,
    too_few,
    where_scored,
    why_no_winner,
)
from optimize_eval.findings.shapes.difference import ScoreDifference
from optimize_eval.findings.shapes.leakage import LEAKED, sentence_of
from optimize_eval.findings.shapes.row import Row
from optimize_eval.findings.shapes.summary import Point, Summary, Verdict
from optimize_eval.findings.summary import compare
from optimize_eval.findings.summary.caveats import caveats
from optimize_eval.findings.summary.models import points_about_models
from optimize_eval.findings.summary.points import MOST_NAMED, about_winner, elsewhere, others
from optimize_eval.findings.summary.skips import all_skipped, why_skipped
from optimize_eval.findings.summary.tried import steered
from optimize_eval.findings.summary.won import BETTER, won
from optimize_eval.findings.wording import count, evidence, interval, interval90, number, signed
from optimize_eval.store.layout import SINGLE, Layout

_LONGEST_SAID = 300

STEERED = "steered"

_INSTEAD = {
    "val": "give --testset, or leave --val-chooses away",
    "train": "give --valset, or --val-share",
}
_PRAISE = {"✓", "▲"}

WORSE, NO_DIFFERENCE, NOT_SHOWN, TOO_FEW, ALONE, FAILED = (
    "worse",
    "no_difference",
    "not_shown",
    "too_few",
    "single",
    "failed",
)


def judge(summary: Summary, won_by: str | None, layout: Layout) -> Verdict:
    """Say what came out; `won_by` is the winner's name."""
    if summary.changed:
        names = ", ".join(summary.changed)
        text = f"no verdict: {names} changed while being called, so the scores come from different programs"
        return Verdict(text=f"{text}; start over with --fresh", state=None)
    if summary.units.owed:
        return Verdict(text=_so_far(summary, layout), state=None)
    if text := sentence_of(summary.leakage, layout.deciding, "test"):
        return Verdict(text=text, points=tuple(caveats(summary, layout)), state=LEAKED)
    primary = [row for row in summary.rows if is_primary(row, layout)]
    if all(row.splits[layout.deciding].mean is None for row in primary):
        points = tuple(elsewhere(summary, None, layout))
        if all_skipped(primary, layout.deciding):
            return Verdict(text=_all_skipped(primary, summary, layout), points=points, state=TOO_FEW)
        return Verdict(text=_nothing_scored(summary, layout), points=points, state=FAILED)
    winner = next((row for row in primary if row.candidate == won_by), None)
    verdict = won(winner, summary, layout) if winner else _no_winner(primary, summary, layout)
    verdict = _steered_by_steps(verdict, summary) or verdict
    points = (
        *about_winner(winner, replace(summary, verdict=verdict)),
        *elsewhere(summary, winner, layout),
        *others(primary, winner, layout),
        *points_about_models(summary, won_by, layout),
        *caveats(summary, layout),
    )
    return replace(verdict, text=f"{verdict.text}{_left_out(verdict, summary)}", points=points)


def _left_out(verdict: Verdict, summary: Summary) -> str:
    """Say in the sentence itself what it is not about."""
    split = verdict.by.from_ if verdict.by else summary.decided_on
    leakage = summary.leakage.get(split) or summary.leakage.get(summary.decided_on)
    return f" {leakage.in_short()}" if leakage and leakage.left_out else ""


def after_search(summary: Summary, searched: Mapping[str, Any], layout: Layout) -> Verdict:
    """Say what came out of a search: what steered it proves nothing, and a test set has the word alone."""
    verdict = summary.verdict
    if verdict.state in {None, FAILED}:
        return verdict
    if searched.get("decides") == "test" and "test" in summary.rows[0].splits:
        others = (row for row in summary.rows if is_primary(row, layout) and row.vs_baseline)
        verdict = replace(won(next(others), summary, layout), points=verdict.points)
    if verdict.winner is None and (alone := searched.get("alone")):
        return replace(verdict, text=str(alone.get("text")), state=alone.get("state"), by=None)
    split = searched.get("steered_by")
    return _steered(verdict, split, layout) if split else verdict


def _steered(verdict: Verdict, split: str, layout: Layout) -> Verdict:
    """Take back what cannot be claimed of examples that chose."""
    points = [replace(one, text=_not_held_out(one.text)) for one in verdict.points if one.mark not in _PRAISE]
    steered = f"{split} steered this search: {_INSTEAD.get(split, 'give fresh examples')}"
    if verdict.state != BETTER:
        points = [Point(mark="!", text=steered), *points] if split != SINGLE else points
        return replace(verdict, text=_not_held_out(verdict.text), points=tuple(points))
    beats = f"{verdict.winner} beats {layout.baseline}"
    ahead = _not_held_out(f"{verdict.winner} is ahead of {layout.baseline}{verdict.text.removeprefix(beats)}")
    return replace(verdict, text=f"{ahead}; {steered}", points=tuple(points), state=STEERED, winner=None)


def _not_held_out(text: str) -> str:
    return text.replace(on_split("val"), " on val")


def _steered_by_steps(verdict: Verdict, summary: Summary) -> Verdict | None:
    """Give no verdict where what was seen made what is compared; a split that only chose may have done so."""
    tried = summary.tried
    decides = tried is not None and ("test" not in summary.rows[0].splits or tried.split == "test")
    if tried is None or not decides or not is_steered(tried) or verdict.state in {ALONE, TOO_FEW}:
        return None
    return Verdict(text=steered(tried), state=STEERED)


def _so_far(summary: Summary, layout: Layout) -> str:
    units = summary.units
    done = units.total - units.owed
    told = f"{done:,} of {units.total:,} calls done; no verdict before the end"
    means = {
        row.candidate: mean
        for row in summary.rows
        if is_primary(row, layout) and (mean := row.splits[layout.deciding].mean) is not None
    }
    if len(means) <= 1:
        return f"not complete: {told}"
    return f"so far {max(means, key=lambda name: means[name])} leads on {primary_name(layout)}: {told}"


def _nothing_scored(summary: Summary, layout: Layout) -> str:
    primary = layout.evaluators[0]
    failed = [e for e in summary.failures if (e.evaluator, e.split) == (primary, layout.deciding)]
    if not failed:
        cells = [row.splits[layout.deciding] for row in summary.rows if is_primary(row, layout)]
        if not any(cell.scored for cell in cells):
            return f"{primary} was not called"
        if not any(cell.n for cell in cells):
            return f"{primary} has no mean: none of its answers is a number"
        return f"{primary} has no mean: its scores are too large to be added up"
    most = max(failed, key=lambda entry: entry.count)
    total = sum(entry.count for entry in failed)
    where = "" if layout.deciding == SINGLE else f" on {layout.deciding}"
    said = _shortened(most.first_message)
    return f"{primary} scored nothing{where}: {count(total, 'call')} failed ({most.kind}: {said})"


def _shortened(said: str) -> str:
    return said if len(said) <= _LONGEST_SAID else f"{said[:_LONGEST_SAID]}…"


def _all_skipped(rows: Sequence[Row], summary: Summary, layout: Layout) -> str:
    split = layout.deciding
    where = "" if split == SINGLE else f" on {split}"
    calls = count(sum(row.splits[split].skipped for row in rows), "call")
    said = _shortened(why_skipped(summary, rows[0], split))
    return f"{primary_name(layout)} skipped every call{where} ({calls}), so there is no mean: {said}"


def _no_winner(rows: Sequence[Row], summary: Summary, layout: Layout) -> Verdict:
    split = layout.deciding
    if len(rows) == 1:
        return Verdict(text=_alone(rows[0], layout), state=ALONE)
    if better := marked(rows, split, compare.BETTER):
        ahead = f"no winner: {better[0].candidate} is ahead of {layout.baseline}{on_split(split)}"
        picked = summary.selection
        if picked and picked.ci and survives_failures(better[0], split):
            why = f"but an interval of the best of {picked.k:,} holds 0 ({interval(picked.ci)})"
            return Verdict(text=f"{ahead} by {signed(picked.diff)}, {why}", state=NOT_SHOWN)
        text = f"{ahead} {why_no_winner(better[0], split)}"
        return Verdict(text=text, state=NOT_SHOWN)
    compared = {row.candidate: d for row in rows if (d := row.against_baseline(split))}
    told = {name: d for name, d in compared.items() if d.mark != compare.TOO_FEW}
    if not told:
        return Verdict(text=_too_few(rows, next(iter(compared.values())), layout), state=TOO_FEW)
    if len(told) == len(compared) and all(_is_the_same(d) for d in told.values()):
        return Verdict(text=_the_same(told, layout), state=NO_DIFFERENCE)
    return _not_better(told, summary.largest_gain, layout)


def _not_better(told: Mapping[str, ScoreDifference], most: float | None, layout: Layout) -> Verdict:
    """Name the candidate that comes nearest, and what none of them exceeds."""
    name = max(told, key=lambda one: told[one].diff or 0.0)
    d, where = told[name], on_split(layout.deciding)
    what = no_difference_in(d) if _has_no_difference(d) else f"{_amount(d, layout)} ({evidence(d)})"
    if all(one.mark == compare.WORSE for one in told.values()):
        who = f"{name} is" if len(told) == 1 else f"all {len(told):,} candidates are"
        nearest = "" if len(told) == 1 else f"{name} comes nearest, "
        among = next(filter(None, map(where_scored, told.values())), "")
        return Verdict(text=f"{who} worse than {layout.baseline}{where}{among}: {nearest}{what}", state=WORSE)
    if len(told) == 1:
        text = f"{name} is not shown to be better than {layout.baseline}{where}: {what}{_bound(most)}"
    else:
        text = (
            f"no candidate is shown to be better than {layout.baseline}{where}: {name} comes nearest, "
            f"{what}{_bound(most)}"
        )
    return Verdict(text=text, state=NOT_SHOWN)


def _amount(d: ScoreDifference, layout: Layout) -> str:
    return f"{signed(d.diff)} {primary_name(layout)}"


def _bound(most: float | None) -> str:
    """Say which gain none of them exceeds, where a score could."""
    return f"; no gain larger than {number(most)} (95 %)" if most is not None and 0 < most < 1 else ""


def _has_no_difference(d: ScoreDifference) -> bool:
    return bool(d.n_pairs and d.ties == d.n_pairs)


def _is_the_same(d: ScoreDifference) -> bool:
    """Return True if no pair differs, or the difference is shown to be within the margin that was given."""
    return _has_no_difference(d) or (d.margin is not None and d.margin.equivalent)


def _the_same(told: Mapping[str, ScoreDifference], layout: Layout) -> str:
    where = on_split(layout.deciding)
    name, d = max(told.items(), key=lambda item: abs(item[1].diff or 0.0))
    who = name if len(told) == 1 else "no candidate"
    margin = d.margin
    if _has_no_difference(d) or margin is None:
        verb = "is not seen to differ" if len(told) == 1 else "is seen to differ"
        return f"{who} {verb} from {layout.baseline}{where}: {no_difference_in(d)}"
    verb = "does not differ" if len(told) == 1 else "differs"
    which = "" if len(told) == 1 else f"{name} most, "
    told_by = f"{signed(d.diff)}, {interval90(margin)}"
    return (
        f"{who} {verb} from {layout.baseline} by more than {number(margin.margin)}{where}{where_scored(d)}: "
        f"{which}{told_by}, {count(d.n_pairs, 'pair')}"
    )


def _too_few(rows: Sequence[Row], d: ScoreDifference, layout: Layout) -> str:
    if layout.deciding == SINGLE:
        return f"too few to say which is better: {_without_examples(rows, layout)}"
    return f"too few to say which is better{on_split(layout.deciding)}: {too_few(d)}"


def _without_examples(rows: Sequence[Row], layout: Layout) -> str:
    scored = [(row.candidate, row.splits[layout.deciding].mean) for row in rows]
    ranked = sorted(((mean, name) for name, mean in scored if mean is not None), reverse=True)
    said = ", ".join(f"{name} {number(mean)}" for mean, name in ranked[:MOST_NAMED])
    basis = "repeats of one call" if rows[0].splits[layout.deciding].repeats > 1 else "one measurement"
    return f"{basis} each on {primary_name(layout)} ({said}{', …' * (len(ranked) > MOST_NAMED)})"


def _alone(row: Row, layout: Layout) -> str:
    s = row.splits[layout.deciding]
    told = f"{row.candidate} scores {number(s.mean)} on {primary_name(layout)}{on_split(layout.deciding)}"
    if s.ci is None and s.se == 0:
        return f"{told}, the same on all {count(s.n, 'example')}"
    if s.ci is None:
        why = "one example" if s.n == 1 else f"{count(s.n, 'example')} without independent ones"
        return f"{told}, {why}: no interval" if layout.deciding != SINGLE else told
    return f"{told} (95 % CI {interval(s.ci, number)}, {count(s.n, 'example')})"
