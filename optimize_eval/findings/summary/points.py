"""The points of a verdict: the winner's lost gain, every other evaluator, every other candidate."""

from collections.abc import Iterator, Sequence

from optimize_eval.findings.rows import (
    MARKS,
    change,
    evaluator_label,
    is_primary,
    marked,
    survives_failures,
    too_few,
    where_scored,
    why_no_winner,
)
from optimize_eval.findings.shapes.difference import ScoreDifference
from optimize_eval.findings.shapes.row import Overfit, Row
from optimize_eval.findings.shapes.summary import Point, Summary, WinnersCarryOver
from optimize_eval.findings.summary import compare, gap
from optimize_eval.findings.summary.skips import all_skipped
from optimize_eval.findings.wording import (
    ROUNDING,
    count,
    evidence,
    interval,
    interval90,
    number,
    percent,
    signed,
)
from optimize_eval.statistics.estimates import Interval
from optimize_eval.statistics.power import ALPHA
from optimize_eval.store.layout import Layout

MOST_NAMED = 5
LOSE_MUCH = "of all lose much"


def about_winner(winner: Row | None, summary: Summary) -> Iterator[Point]:
    if winner is None:
        return
    if overfit := winner.overfit:
        yield from _lost(overfit, summary.carry_over)
    if alike := summary.not_told_apart:
        shown = ", ".join(alike[:MOST_NAMED]) + f", … ({len(alike):,})" * (len(alike) > MOST_NAMED)
        yield _point("·", f"not told apart from {winner.candidate}: {shown}")
    if winner.candidate == summary.verdict.winner:
        yield from _rare_losses(winner.difference("test" if "test" in winner.splits else summary.decided_on))


def _rare_losses(d: ScoreDifference) -> Iterator[Point]:
    """Say what graded scores cannot know: whether a few examples, of which none was seen, lose much."""
    if d.test != "mcnemar" and d.units:
        share = percent(1 - 0.05 ** (1 / d.units))
        seen = count(d.units, "example" if d.units == d.n_pairs else "cluster")
        yield _point("·", f"{seen} cannot rule out that up to {share} {LOSE_MUCH}")


def _lost(overfit: Overfit, carried: WinnersCarryOver | None) -> Iterator[Point]:
    """Say what is shown of the winner's gain on train, and never more than is shown."""
    lost = f"lost gain {signed(overfit.value)}"
    lost += f" ({interval(overfit.ci)})" if overfit.ci else ""
    state = overfit.state
    if state == gap.KEPT and carried:
        yield _point("✓", _kept(carried))
    elif state == gap.UNDECIDED:
        yield _point(
            "?", f"how much of its train gain carries over to val is undecided: {_share(carried)}{lost}"
        )
    elif state == gap.PART_LOST:
        yield _point("?", f"part of its train gain is lost on val: {lost}")
    elif state == gap.OVERFITS:
        yield _point("✕", f"it overfits: {lost}")
    elif state == gap.NO_GAIN:
        yield _point(
            "\N{EN DASH}", "it is not shown to be better on train, so what carries over is not known"
        )


def _kept(carried: WinnersCarryOver) -> str:
    share = f"its train gain carries over to val: {_whole(carried.share or 0.0)} of it"
    return f"{share} ({_shares(carried.ci)})" if carried.ci else f"{share}, on every example that was seen"


def _share(carried: WinnersCarryOver | None) -> str:
    if not carried or not carried.ci:
        return ""
    return f"{_shares(carried.ci)}, "


def _shares(ci: Interval) -> str:
    """Write the interval of a share, which is by Student's t: rare losses escape it."""
    low, high = (f"{100 * end:.0f}".replace("-", "\N{MINUS SIGN}") for end in ci)
    return f"95 % CI {low} % to {high} %, by t"


def _whole(share: float) -> str:
    """Write a share, rounded down.

    >>> _whole(0.999), _whole((0.7 + 0.1) / 0.8)
    ('99 %', '100 %')
    """
    return f"{int(100 * (share + ROUNDING))} %"


def elsewhere(summary: Summary, winner: Row | None, layout: Layout) -> Iterator[Point]:
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
            first = _one_elsewhere(rows, winner, where, layout.deciding, layout.baseline)
            yield first
            if winner is None:
                worse = marked(rows, layout.deciding, compare.WORSE, compare.HINT_WORSE)[-MOST_NAMED:]
                told = [_change_elsewhere(row, row.candidate, where, layout.deciding) for row in worse]
                yield from (point for point in told if point != first)


def _alone_elsewhere(row: Row, where: str, layout: Layout) -> str:
    s = row.splits[layout.deciding]
    if all_skipped([row], layout.deciding):
        return f"on {where} every call was skipped ({count(s.skipped, 'call')})"
    ci = f" (95 % CI {interval(s.ci, number)})" if s.ci else ""
    return f"on {where} it scores {number(s.mean)}{ci}"


def _one_elsewhere(rows: Sequence[Row], winner: Row | None, where: str, split: str, baseline: str) -> Point:
    compared = [row for row in rows if row.candidate != baseline]
    if winner is None:
        row = max(compared, key=lambda row: row.difference(split).diff or 0.0)
        who = row.candidate
    else:
        row = next(row for row in compared if row.candidate == winner.candidate)
        who = "it" if len(compared) == 1 else str(winner.candidate)
    return _change_elsewhere(row, who, where, split, too=", too" if winner else "")


def _change_elsewhere(row: Row, who: str, where: str, split: str, *, too: str = "") -> Point:
    d = row.difference(split)
    if d.mark == compare.TOO_FEW:
        return _point("·", f"on {where} too few to say: {too_few(d)}")
    if d.mark == compare.NO_DIFFERENCE:
        return _point("·", f"on {where} no difference is shown for {who}: {change(d)}")
    if d.mark == compare.BETTER and not survives_failures(row, split):
        why = why_no_winner(row, split)
        return _point("!", f"on {where} {who} is ahead {why}: {change(d)}")
    words = {
        compare.BETTER: f"is better{too}",
        compare.WORSE: "is worse",
        compare.HINT_BETTER: "may be better, a hint only",
        compare.HINT_WORSE: "may be worse, a hint only",
    }
    return _point(MARKS[d.mark], f"on {where} {who} {words[d.mark]}{where_scored(d)}: {change(d)}")


def others(primary: Sequence[Row], winner: Row | None, layout: Layout) -> Iterator[Point]:
    """Name the candidates that overfit, are worse, may be better, and the others that are better."""
    split = layout.deciding
    rest = [row for row in primary if row is not winner]
    overfitting = [row for row in rest if row.overfit and row.overfit.state == gap.OVERFITS]
    for row in overfitting[:MOST_NAMED]:
        gains = "; ".join(f"on {name} {change(row.difference(name))}" for name in ("train", "val"))
        yield _point("✕", f"{row.candidate} overfits: {gains}")
    if winner is not None:
        also = [row for row in marked(rest, split, compare.BETTER) if survives_failures(row, split)]
        for row in also[:MOST_NAMED]:
            d = row.difference(split)
            told = f"{signed(d.diff)} ({evidence(d)})"
            yield _point("▲", f"{row.candidate} is better than {layout.baseline}, too: {told}")
    for row in marked(rest, split, compare.HINT_BETTER)[:MOST_NAMED]:
        d = row.difference(split)
        told = f"{signed(d.diff)} ({evidence(d)})"
        hint = f"{row.candidate} may be better{where_scored(d)}, a hint only"
        yield _point("△", f"{hint}, {_unconfirmed(d)}: {told}")
    yield from _no_worse(rest, split, layout)
    worse = marked(rest, split, compare.WORSE)
    if len(primary) == 2 and winner is None:  # noqa: PLR2004  the headline has said so
        return
    for row in worse[-MOST_NAMED:]:
        d = row.difference(split)
        told = f"{signed(d.diff)} ({evidence(d)})"
        yield _point("▼", f"{row.candidate} is worse than {layout.baseline}{where_scored(d)}: {told}")


def _no_worse(rest: Sequence[Row], split: str, layout: Layout) -> Iterator[Point]:
    """Name the candidates whose loss is shown to be smaller than the margin, and that are not better."""
    for row in rest:
        d = row.against_baseline(split)
        if d and (margin := d.margin) and margin.no_worse and d.mark != compare.BETTER:
            told = f"{signed(d.diff)}, {interval90(margin)}"
            what = f"no worse than {layout.baseline} by more than {number(margin.margin)}{where_scored(d)}"
            yield _point("·", f"{row.candidate} is {what}: {told}")


def _unconfirmed(d: ScoreDifference) -> str:
    if d.p_holm is not None and d.p_holm < ALPHA:
        return "not confirmed by fresh examples"
    if d.comparisons == 1:
        return "not confirmed by its test"
    return f"not confirmed after correcting for {d.comparisons:,} comparisons"


def _point(mark: str, text: str) -> Point:
    return Point(mark=mark, text=text)
