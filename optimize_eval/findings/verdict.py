"""What the numbers of a summary are called in words: one sentence, and points that belong to it.

Whether it beats the baseline is decided by the corrected test and the interval together. Where it was picked
among several, the interval's lower end holds for all of them; where there is a test split, it has the word.

Computed once, stored in summary.json, and used word for word by every report. Nothing is called better
without a corrected p value, nothing said to carry over for want of evidence, nothing at all while a run is
not complete. Who won is decided in winner.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from optimize_eval.findings import comparison
from optimize_eval.findings.against import points_about_models
from optimize_eval.findings.difference_words import (
    AMONG_BOTH,
    MARKS,
    in_short,
    is_primary,
    marked,
    no_difference_in,
    primary_name,
    survives_failures,
    too_few,
    where_scored,
    why_no_winner,
)
from optimize_eval.findings.doubts import all_skipped, caveats, every_score_is_zero, why_skipped
from optimize_eval.findings.leakage import LEAKED, sentence_of
from optimize_eval.findings.summary_parts import Overfit, Row
from optimize_eval.findings.summary_shape import Point, Summary, Verdict, WinnersCarryOver, WonBy
from optimize_eval.findings.tried import NOTHING, Corrections, is_steered, steered
from optimize_eval.findings.wording import (
    ROUNDING,
    count,
    evaluator_label,
    in_units,
    interval,
    interval90,
    number,
    percent,
    possible_interval,
    signed,
)
from optimize_eval.statistics.differences import ScoreDifference
from optimize_eval.statistics.estimates import Interval, around_the_best
from optimize_eval.statistics.power import ALPHA, can_decide
from optimize_eval.store.layout import SINGLE, Layout
from optimize_eval.store.run_document import SearchedRun

BETTER, NOT_SHOWN = "better", "not_shown"


_WHERE = {"val": " on held-out data", "test": " on test data", "train": " on the train data", SINGLE: ""}


def on_split(split: str) -> str:
    """Say on which examples; the splits of a bench are called after their files."""
    return _WHERE.get(split, f" on {split}")


def won(winner: Row, summary: Summary, layout: Layout) -> Verdict:
    """Name the winner and its gain."""
    if "test" in winner.splits and layout.deciding != "test":
        return _on_test(winner, summary, layout)
    d = winner.difference(layout.deciding)
    if summary.selection:
        d = replace(d, ci=summary.selection.ci)
    among = f" {AMONG_BOTH}" if d.skipped_for_one else ""
    beats = f"{winner.candidate} beats {layout.baseline}{on_split(layout.deciding)}{among}"
    by = WonBy(diff=d.diff, ci=d.ci, p=_p(d), from_=layout.deciding)
    if d.ci is None:
        exactly = f"exactly {signed(d.diff)} {primary_name(layout)}"
        text = f"{beats}: {exactly} on all {count(d.n_pairs, 'example')}"
    else:
        text = f"{beats}: {signed(d.diff)} {primary_name(layout)} ({_one_interval(d, layout)})"
    return Verdict(text=text, state=BETTER, winner=winner.candidate, by=by)


def _on_test(winner: Row, summary: Summary, layout: Layout) -> Verdict:
    """Let the test split speak: only winners are held against it, so its p is corrected for these alone."""
    name, baseline = winner.candidate, layout.baseline
    d = winner.difference("test")
    k = summary.selection.k if summary.selection else 1
    among = f" as the best of {k:,}" if k > 1 else ""
    chosen = f"{name}, picked on {layout.deciding}{among},"
    if d.diff is None or d.p is None:
        pairs = f"{count(d.n_pairs, 'test example')} {'has' if d.n_pairs == 1 else 'have'}"
        text = f"No verdict: only {pairs} scores for both {chosen} and {baseline}"
        return Verdict(text=text, state=NOT_SHOWN)
    comparisons = summary.tried.comparisons if summary.tried else 1
    ci = around_the_best(d.diff, d.se, d.units - 1, comparisons) if d.ci and d.se else d.ci
    low = ci[0] if ci else d.diff
    p = min(1.0, comparisons * d.p)
    is_shown = (
        survives_failures(winner, "test") and low > 0 and p < ALPHA and can_decide(d.units, comparisons)
    )
    verb = "beats" if is_shown else "is not clearly better than"
    told = _one_interval(replace(d, ci=ci), layout)
    text = f"{chosen} {verb} {baseline} on test data: {signed(d.diff)} {primary_name(layout)} ({told})"
    text = text if is_shown else f"No winner: {text}"
    by = WonBy(diff=d.diff, ci=ci, p=p, from_="test")
    if not is_shown:
        return Verdict(text=text, state=NOT_SHOWN, by=by)
    return Verdict(text=text, state=BETTER, winner=name, by=by)


def _one_interval(d: ScoreDifference, layout: Layout) -> str:
    """Write the interval of a verdict, and what it is of; p stands in tables."""
    if d.ci is None:
        return f"the same on all {count(d.n_pairs, 'example')}"
    ci = possible_interval(d.ci, layout.score_ranges[0])
    return f"95 % CI {interval(ci)}, {count(d.n_pairs, 'pair')}"


def _p(d: ScoreDifference) -> float | None:
    p: float | None = d.p_holm if d.p_holm is not None else d.p
    return p


MOST_NAMED = 5


def about_winner(winner: Row | None, summary: Summary) -> Iterator[Point]:
    if winner is None:
        return
    if overfit := winner.overfit:
        yield from _lost(overfit, summary.carry_over)
    if (picked := summary.selection) and picked.diff is not None:
        least = f"expect a little less than {signed(picked.diff)}; the interval allows for that"
        yield _point("·", f"Picked as the best of {picked.k:,}: {least}")
    if alike := summary.not_told_apart:
        shown = ", ".join(alike[:MOST_NAMED]) + f", … ({len(alike):,})" * (len(alike) > MOST_NAMED)
        are = "is" if len(alike) == 1 else "are"
        yield _point("·", f"{shown} {are} too close to {winner.candidate} to call")
    if winner.candidate == summary.verdict.winner:
        yield from _rare_losses(winner.difference("test" if "test" in winner.splits else summary.decided_on))


def _rare_losses(d: ScoreDifference) -> Iterator[Point]:
    """Say what graded scores cannot know: whether a few examples, of which none was seen, lose much."""
    if d.test != "mcnemar" and d.units:
        share = percent(1 - 0.05 ** (1 / d.units))
        what = "example" if d.units == d.n_pairs else "cluster"
        yield _point(
            "·", f"{count(d.units, what)} cannot rule out big losses on up to {share} of all {what}s"
        )


def _lost(overfit: Overfit, carried: WinnersCarryOver | None) -> Iterator[Point]:
    """Say what is shown of the winner's gain on train, and never more than is shown."""
    state = overfit.state
    if state == comparison.KEPT and carried:
        yield _point("✓", _kept(carried))
    elif state == comparison.UNDECIDED:
        yield _point("?", f"Overfitting: can't tell yet{_share(carried)}")
    elif state == comparison.PART_LOST:
        yield _point("?", f"Overfitting: some. {_smaller(overfit)}")
    elif state == comparison.OVERFITS:
        yield _point("✕", f"Overfitting: yes. {_smaller(overfit)}")
    elif state == comparison.NO_GAIN:
        yield _point("\N{EN DASH}", "Overfitting: not checked, because train shows no clear gain")


def _smaller(overfit: Overfit) -> str:
    return f"The gain on val is {number(overfit.value)} smaller than on train"


def _kept(carried: WinnersCarryOver) -> str:
    share = f"Overfitting: none seen. Val keeps {_whole(carried.share or 0.0)} of the gain seen on train"
    return f"{share} ({_shares(carried.ci)})" if carried.ci else f"{share}, on every example"


def _share(carried: WinnersCarryOver | None) -> str:
    if not carried or not carried.ci:
        return ""
    return f". Val keeps {_shares(carried.ci)} of the gain seen on train"


def _shares(ci: Interval) -> str:
    """Write the interval of a share."""
    low, high = (f"{100 * end:.0f}".replace("-", "\N{MINUS SIGN}") for end in ci)
    return f"between {low} % and {high} %"


def _whole(share: float) -> str:
    """Write a share, rounded down.

    >>> _whole(0.999), _whole((0.7 + 0.1) / 0.8)
    ('99 %', '100 %')
    """
    return f"{int(100 * (share + ROUNDING))} %"


def elsewhere(
    summary: Summary, winner: Row | None, layout: Layout, measures: Mapping[str, str]
) -> Iterator[Point]:
    """Name every other evaluator and task model, also where things get worse there."""
    for evaluator in layout.evaluators:
        for task_model in layout.task_models:
            rows = [r for r in summary.rows if (r.evaluator, r.task_model) == (evaluator, task_model)]
            if is_primary(rows[0], layout) or layout.deciding not in rows[0].splits:
                continue
            where = evaluator_label(evaluator, task_model)
            if len(rows) == 1:
                yield _point("·", _alone_elsewhere(rows[0], where, layout))
                continue
            there = _Elsewhere(where, layout.deciding, layout.baseline, rows, measures.get(evaluator, ""))
            first = _one_elsewhere(winner, there)
            yield first
            if winner is None:
                worse = marked(rows, layout.deciding, comparison.WORSE, comparison.HINT_WORSE)[-MOST_NAMED:]
                told = [_change_elsewhere(row, row.candidate, there) for row in worse]
                yield from (point for point in told if point != first)


def _alone_elsewhere(row: Row, where: str, layout: Layout) -> str:
    s = row.splits[layout.deciding]
    if all_skipped([row], layout.deciding):
        return f"{where} skipped every call ({count(s.skipped, 'call')})"
    return f"{row.candidate} scores {number(s.mean)} on {where}"


class _Elsewhere(NamedTuple):
    """Another evaluator or task model, and what it has of the candidates."""

    where: str
    split: str
    baseline: str
    rows: Sequence[Row]
    measure: str  # of what replies took; empty for scores

    def amount(self, row: Row) -> str:
        """Write how a candidate differs from the baseline."""
        means = {each.candidate: each.splits[self.split].mean for each in self.rows}
        before, after = means[self.baseline], means[row.candidate]
        if not self.measure or before is None or after is None or before == after:
            return in_short(row.difference(self.split))
        return in_units(self.measure, before, after)


def _one_elsewhere(winner: Row | None, there: _Elsewhere) -> Point:
    compared = [row for row in there.rows if row.candidate != there.baseline]
    if winner is None:
        row = max(compared, key=lambda row: row.difference(there.split).diff or 0.0)
        who = row.candidate
    else:
        row = next(row for row in compared if row.candidate == winner.candidate)
        who = str(winner.candidate)
    return _change_elsewhere(row, who, there, too=", too" if winner else "")


def _change_elsewhere(row: Row, who: str, there: _Elsewhere, *, too: str = "") -> Point:
    where, baseline, amount = there.where, there.baseline, there.amount(row)
    d = row.difference(there.split)
    if d.mark == comparison.TOO_FEW:
        return _point("·", f"{where} has too few examples for a verdict: {too_few(d)}")
    if d.mark == comparison.NO_DIFFERENCE:
        close = f"{row.candidate} and {baseline} are too close to call on {where}"
        return _point("·", f"{close}: {amount}")
    if d.mark == comparison.BETTER and not survives_failures(row, there.split):
        why = why_no_winner(row, there.split)
        return _point("!", f"{who} is ahead on {where} {why}: {amount}")
    words = {
        comparison.BETTER: f"is better on {where}{too}",
        comparison.WORSE: f"is worse on {where}",
        comparison.HINT_BETTER: f"may be better on {where} (only a hint)",
        comparison.HINT_WORSE: f"may be worse on {where} (only a hint)",
    }
    return _point(MARKS[d.mark], f"{who} {words[d.mark]}{where_scored(d)}: {amount}")


def others(primary: Sequence[Row], winner: Row | None, layout: Layout) -> Iterator[Point]:
    """Name the candidates that overfit, are worse, may be better, and the others that are better."""
    split = layout.deciding
    rest = [row for row in primary if row is not winner]
    overfitting = [row for row in rest if row.overfit and row.overfit.state == comparison.OVERFITS]
    for row in overfitting[:MOST_NAMED]:
        gains = ", ".join(f"{signed(row.difference(name).diff)} on {name}" for name in ("train", "val"))
        yield _point("✕", f"{row.candidate} overfits: {gains}")
    if winner is not None:
        also = [row for row in marked(rest, split, comparison.BETTER) if survives_failures(row, split)]
        for row in also[:MOST_NAMED]:
            told = in_short(row.difference(split))
            yield _point("▲", f"{row.candidate} is better than {layout.baseline}, too: {told}")
    for row in marked(rest, split, comparison.HINT_BETTER)[:MOST_NAMED]:
        d = row.difference(split)
        hint = f"{row.candidate} may be better{where_scored(d)} (only a hint"
        yield _point("△", f"{hint}, {_unconfirmed(d)}): {in_short(d)}")
    yield from _no_worse(rest, split, layout)
    worse = marked(rest, split, comparison.WORSE)
    if len(primary) == 2 and winner is None:  # noqa: PLR2004  the headline has said so
        return
    for row in worse[-MOST_NAMED:]:
        d = row.difference(split)
        told = f"{row.candidate} is worse than {layout.baseline}{where_scored(d)}: {in_short(d)}"
        yield _point("▼", told)


def _no_worse(rest: Sequence[Row], split: str, layout: Layout) -> Iterator[Point]:
    """Name the candidates whose loss is shown to be smaller than the margin, and that are not better."""
    for row in rest:
        d = row.against_baseline(split)
        if d and (margin := d.margin) and margin.no_worse and d.mark != comparison.BETTER:
            told = f"{signed(d.diff)}, {interval90(margin)}"
            what = f"at most {number(margin.margin)} worse than {layout.baseline}{where_scored(d)}"
            yield _point("·", f"{row.candidate} is {what}: {told}")


def _unconfirmed(d: ScoreDifference) -> str:
    if d.p_holm is not None and d.p_holm < ALPHA:
        return "not confirmed by fresh examples"
    if d.comparisons == 1:
        return "not confirmed by its test"
    return f"not confirmed after correcting for {d.comparisons:,} comparisons"


def _point(mark: str, text: str) -> Point:
    return Point(mark=mark, text=text)


_LONGEST_SAID = 300

STEERED = "steered"

_INSTEAD = {
    "val": "Give --testset, or omit --val-chooses",
    "train": "Give --valset, or --val-share",
}
_PRAISE = {"✓", "▲"}
_ASIDE = {"·", "\N{EN DASH}", "✓"}  # of points that change no decision

WORSE, NO_DIFFERENCE, TOO_FEW, ALONE, FAILED = "worse", "no_difference", "too_few", "single", "failed"


def judge(summary: Summary, won_by: str | None, layout: Layout, tried: Corrections = NOTHING) -> Verdict:
    """Say what came out; `won_by` is the winner's name, `tried` is what a folder knows."""
    if summary.changed:
        names = ", ".join(summary.changed)
        text = f"No verdict: {names} changed while being called, so the scores come from different programs"
        return Verdict(text=f"{text}. Start over with --fresh", state=None)
    if summary.units.owed:
        return Verdict(text=_so_far(summary, layout), state=None)
    if text := sentence_of(summary.leakage, layout.deciding, "test"):
        return Verdict(text=text, points=tuple(caveats(summary, layout, tried.digests)), state=LEAKED)
    primary = [row for row in summary.rows if is_primary(row, layout)]
    if all(row.splits[layout.deciding].mean is None for row in primary):
        points = tuple(elsewhere(summary, None, layout, tried.measures))
        if all_skipped(primary, layout.deciding):
            return Verdict(text=_all_skipped(primary, summary, layout), points=points, state=TOO_FEW)
        return Verdict(text=_nothing_scored(summary, layout), points=points, state=FAILED)
    winner = next((row for row in primary if row.candidate == won_by), None)
    verdict = won(winner, summary, layout) if winner else _no_winner(primary, summary, layout)
    doubted = verdict if winner else _in_doubt(verdict, primary, layout)
    is_doubted = doubted != verdict
    verdict = _steered_by_steps(doubted, summary) or doubted
    points = (
        *about_winner(winner, replace(summary, verdict=verdict)),
        *elsewhere(summary, winner, layout, tried.measures),
        *(point for point in caveats(summary, layout, tried.digests) if point.mark != "?" or not is_doubted),
        *points_about_models(summary, won_by, layout),
        *others(primary, winner, layout),
    )
    points = tuple(sorted(points, key=lambda point: point.mark in _ASIDE))
    points = tuple(point for point in points if point.text != verdict.text)
    return replace(verdict, text=f"{verdict.text}{_left_out(verdict, summary)}", points=points)


def _in_doubt(verdict: Verdict, primary: Sequence[Row], layout: Layout) -> Verdict:
    """Say instead what makes a comparison worth little: that all scores are 0, or that most calls failed."""
    splits = [split for row in primary for split in row.splits.values()]
    name = layout.evaluators[0]
    scored, failed = (sum(counts) for counts in zip(*((s.scored, s.failed) for s in splits), strict=True))
    if failed > scored:
        kinds = sum((Counter(split.failures) for split in splits), Counter[str]())
        ((kind, _),) = kinds.most_common(1)
        most = f"No verdict: {failed:,} of {scored + failed:,} {name} calls failed ({kind})"
        return replace(verdict, text=most)
    if len(layout.task_models) == 1 and (zero := every_score_is_zero(name, splits)):
        return replace(verdict, text=zero)
    return verdict


def _left_out(verdict: Verdict, summary: Summary) -> str:
    """Say in the sentence itself what it is not about."""
    split = verdict.by.from_ if verdict.by else summary.decided_on
    leakage = summary.leakage.get(split) or summary.leakage.get(summary.decided_on)
    return f". {leakage.in_short(split)}" if leakage and leakage.left_out else ""


def after_search(summary: Summary, searched: SearchedRun, layout: Layout) -> Verdict:
    """Say what came out of a search: what steered it proves nothing, and a test set has the word alone."""
    verdict = summary.verdict
    if verdict.state in {None, FAILED}:
        return verdict
    if searched.decides == "test" and "test" in summary.rows[0].splits:
        others = (row for row in summary.rows if is_primary(row, layout) and row.vs_baseline)
        verdict = replace(won(next(others), summary, layout), points=verdict.points)
    if verdict.winner is None and (alone := searched.alone):
        return replace(verdict, text=alone.text, state=alone.state, by=None)
    return _steered(verdict, searched.steered_by) if searched.steered_by else verdict


def _steered(verdict: Verdict, split: str) -> Verdict:
    """Take back what cannot be claimed of examples that chose."""
    points = [replace(one, text=_not_held_out(one.text)) for one in verdict.points if one.mark not in _PRAISE]
    instead = _INSTEAD.get(split, "Give fresh examples")
    if verdict.state != BETTER:
        steered = f"{split} steered this search, so it confirms nothing. {instead}"
        points = [Point(mark="!", text=steered), *points] if split != SINGLE else points
        return replace(verdict, text=_not_held_out(verdict.text), points=tuple(points))
    winner = str(verdict.winner)
    said = verdict.text.removeprefix(winner).replace(" beats ", " is ahead of ", 1)
    ahead = _not_held_out(f"{winner}{said}")
    text = f"No verdict: {split} steered this search. {ahead}. {instead}"
    return replace(verdict, text=text, points=tuple(points), state=STEERED, winner=None)


def _not_held_out(text: str) -> str:
    return text.replace(on_split("val"), " on val").replace(f"{_KINDS['val']} example", "val example")


def _steered_by_steps(verdict: Verdict, summary: Summary) -> Verdict | None:
    """Give no verdict where what was seen made what is compared; a split that only chose may have done so."""
    tried = summary.tried
    decides = tried is not None and ("test" not in summary.rows[0].splits or tried.split == "test")
    if tried is None or not decides or not is_steered(tried) or verdict.state in {ALONE, TOO_FEW}:
        return None
    return Verdict(text=steered(tried), state=STEERED)


_AT_THE_END = "The verdict comes at the end"


def _so_far(summary: Summary, layout: Layout) -> str:
    units = summary.units
    done = units.total - units.owed
    told = f"Unfinished: {done:,} of {units.total:,} calls done"
    means = {
        row.candidate: mean
        for row in summary.rows
        if is_primary(row, layout) and (mean := row.splits[layout.deciding].mean) is not None
    }
    if len(means) <= 1:
        return f"{told}. {_AT_THE_END}"
    leader = max(means, key=lambda name: means[name])
    return f"{told}; so far {leader} leads on {primary_name(layout)}. {_AT_THE_END}"


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
    every = f"the only {primary} call" if total == 1 else f"all {total:,} {primary} calls"
    return f"No scores: {every}{where} failed ({most.kind}: {said})"


def _shortened(said: str) -> str:
    return said if len(said) <= _LONGEST_SAID else f"{said[:_LONGEST_SAID]}…"


def _all_skipped(rows: Sequence[Row], summary: Summary, layout: Layout) -> str:
    split = layout.deciding
    where = "" if split == SINGLE else f" on {split}"
    calls = count(sum(row.splits[split].skipped for row in rows), "call")
    said = _shortened(why_skipped(summary, rows[0], split))
    return f"No scores: {primary_name(layout)} skipped every call{where} ({calls}): {said}"


def _no_winner(rows: Sequence[Row], summary: Summary, layout: Layout) -> Verdict:
    split = layout.deciding
    if len(rows) == 1:
        return Verdict(text=_alone(rows[0], layout), state=ALONE)
    if better := marked(rows, split, comparison.BETTER):
        ahead = f"No winner: {better[0].candidate} is ahead of {layout.baseline}{on_split(split)}"
        picked = summary.selection
        if picked and picked.ci and survives_failures(better[0], split):
            why = f"but its interval as the best of {picked.k:,} includes 0 ({interval(picked.ci)})"
            return Verdict(text=f"{ahead} by {signed(picked.diff)}, {why}", state=NOT_SHOWN)
        text = f"{ahead} {why_no_winner(better[0], split)}"
        return Verdict(text=text, state=NOT_SHOWN)
    compared = {row.candidate: d for row in rows if (d := row.against_baseline(split))}
    told = {name: d for name, d in compared.items() if d.mark != comparison.TOO_FEW}
    if not told:
        return Verdict(text=_too_few(rows, next(iter(compared.values())), layout), state=TOO_FEW)
    if len(told) == len(compared) and all(_is_the_same(d) for d in told.values()):
        return Verdict(text=_the_same(told, layout), state=NO_DIFFERENCE)
    return _not_better(told, summary.largest_gain, layout)


def _not_better(told: Mapping[str, ScoreDifference], most: float | None, layout: Layout) -> Verdict:
    """Name the candidate that comes nearest, and what none of them exceeds."""
    name = max(told, key=lambda one: told[one].diff or 0.0)
    d, where = told[name], on_split(layout.deciding)
    is_same = _has_no_difference(d)
    if all(one.mark == comparison.WORSE for one in told.values()):
        among = next(filter(None, map(where_scored, told.values())), "")
        if len(told) == 1:
            amount = f"{_amount(d, layout)} ({_one_interval(d, layout)})"
            text = f"{name} is worse than {layout.baseline}{where}{among}: {amount}"
        else:
            every = f"All {len(told):,} candidates are worse than {layout.baseline}{where}{among}"
            text = f"{every}. Closest: {name}, {_short_amount(d, layout)}"
        return Verdict(text=text, state=WORSE)
    if len(told) == 1:
        what = no_difference_in(d) if is_same else f"{_amount(d, layout)} ({_one_interval(d, layout)})"
        unclear = "" if is_same else _why_unclear(d)
        text = f"No winner: {name} is not clearly better than {layout.baseline}{where}: {what}{unclear}"
    else:
        what = no_difference_in(d) if is_same else _short_amount(d, layout)
        text = f"No winner: nothing is clearly better than {layout.baseline}{where}. Closest: {name}, {what}"
        d = replace(d, ci=None)  # which is not in the sentence
    return Verdict(text=f"{text}{_bound(most, d)}", state=NOT_SHOWN)


def _amount(d: ScoreDifference, layout: Layout) -> str:
    return f"{signed(d.diff)} {primary_name(layout)}"


def _short_amount(d: ScoreDifference, layout: Layout) -> str:
    """Write a difference without what it is of, where a run has scores of one kind alone."""
    is_one = len(layout.evaluators) == len(layout.task_models) == 1
    return signed(d.diff) if is_one else _amount(d, layout)


def _why_unclear(d: ScoreDifference) -> str:
    """Say why a gain whose interval leaves out 0 is not clear: its test decides."""
    if d.ci is None or d.ci[0] <= 0 or d.mark == comparison.BETTER:
        return ""
    among = f" among {d.comparisons:,} comparisons" if d.comparisons > 1 else ""
    return f". Too few pairs differ to be sure{among}: {d.wins:,} better, {d.losses:,} worse"


def _bound(most: float | None, d: ScoreDifference) -> str:
    """Say which gain none of them exceeds, where a score could; not beside an interval that reaches further.

    A bound on one side lies within the interval unless rare gains are possible: two limits would contradict
    each other.
    """
    if most is None or not 0 < most < 1 or (d.ci is not None and d.ci[1] > most):
        return ""
    return f". A gain above {number(most)} is ruled out"


def _has_no_difference(d: ScoreDifference) -> bool:
    return bool(d.n_pairs and d.ties == d.n_pairs)


def _is_the_same(d: ScoreDifference) -> bool:
    """Return True if no pair differs, or the difference is shown to be within the margin that was given."""
    return _has_no_difference(d) or (d.margin is not None and d.margin.equivalent)


def _the_same(told: Mapping[str, ScoreDifference], layout: Layout) -> str:
    where = on_split(layout.deciding)
    name, d = max(told.items(), key=lambda item: abs(item[1].diff or 0.0))
    margin = d.margin
    if _has_no_difference(d) or margin is None:
        who = name if len(told) == 1 else f"all {len(told):,} candidates"
        return f"No winner: {who} and {layout.baseline} score the same{where}: {no_difference_in(d)}"
    who = name if len(told) == 1 else "no candidate"
    verb = "does not differ" if len(told) == 1 else "differs"
    which = "" if len(told) == 1 else f"{name} most, "
    told_by = f"{signed(d.diff)}, {interval90(margin)}"
    text = f"No winner: {who} {verb} from {layout.baseline} by more than {number(margin.margin)}"
    return f"{text}{where}{where_scored(d)}: {which}{told_by}, {count(d.n_pairs, 'pair')}"


_KINDS = {"val": "held-out"}


def _too_few(rows: Sequence[Row], d: ScoreDifference, layout: Layout) -> str:
    if layout.deciding == SINGLE:
        return f"Too few examples for a verdict: {_without_examples(rows, layout)}"
    kind = _KINDS.get(layout.deciding, layout.deciding)
    return f"Too few examples for a verdict: {too_few(d, kind, len(layout.candidates) - 1)}"


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
