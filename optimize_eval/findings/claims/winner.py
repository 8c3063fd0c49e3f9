"""What stands behind a verdict in numbers: the selection, who is not told apart, what carries over."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.claims.against import Against
from optimize_eval.findings.claims.choice import Half, Kept, kept_of, selection_of, winner_of
from optimize_eval.findings.claims.families import CellFamily
from optimize_eval.findings.rows import is_primary
from optimize_eval.findings.shapes.difference import ScoreDifference
from optimize_eval.findings.shapes.row import Row
from optimize_eval.findings.shapes.summary import WinnersCarryOver, WinnersSelection
from optimize_eval.findings.summary import compare, gap
from optimize_eval.store.layout import SINGLE, Layout

MOST_BOUNDED = 20_000  # pairs of scores in all, about a second; above it no bound is told


@frozen
class Claims:
    """What a verdict says, before it has words; among `rows` the winner's knows what is shown."""

    rows: tuple[Row, ...]
    winner: str | None
    selection: WinnersSelection | None
    not_told_apart: tuple[str, ...]
    carry_over: WinnersCarryOver | None
    largest_gain: float | None


def claims_of(rows: Sequence[Row], against: Against, layout: Layout) -> Claims:
    """Compute them; a winner's own row learns what is shown of its lost gain."""
    primary = [row for row in rows if is_primary(row, layout)]
    tried = against.tried_among
    winner = winner_of(primary, layout.deciding, tried)
    kept = None
    if winner and {"train", "val"} <= winner.splits.keys():
        kept = _kept(winner.candidate, tried, against, layout)
        is_kept = kept is not None and kept.is_kept
        rows = [_settled(row, is_kept=is_kept) if row is winner else row for row in rows]
    return Claims(
        rows=tuple(rows),
        winner=winner.candidate if winner else None,
        selection=_selection(primary, winner, against, layout),
        not_told_apart=tuple(_not_told_apart(primary, winner, against, layout)) if winner else (),
        carry_over=kept.carry_over() if kept else None,
        largest_gain=_largest_gain(primary, against, layout),
    )


def _primary(layout: Layout) -> CellFamily:
    return CellFamily(layout.evaluators[0], layout.task_models[0], layout.deciding)


def _largest_gain(primary: Sequence[Row], against: Against, layout: Layout) -> float | None:
    """Give what no candidate's true gain exceeds, where none is better and nothing hides or chose scores.

    Whose gain is the largest is no matter of chance, so its own bound is enough: nothing to correct.
    """
    differences = [d for row in primary if (d := row.against_baseline(layout.deciding))]
    is_bounded = layout.score_range(layout.evaluators[0]) is ScoreRange.UNIT
    is_open = against.is_held_out and against.tried.can_confirm and against.tried.is_first_verdict
    if not (differences and is_bounded and is_open) or layout.deciding == SINGLE:
        return None
    if sum(d.n_pairs for d in differences) > MOST_BOUNDED or not all(map(_may_be_bounded, differences)):
        return None
    ends = {
        row.candidate: d.ci or (0.0, 0.0) for row in primary if (d := row.against_baseline(layout.deciding))
    }
    highest = against.highest(_primary(layout), sorted(ends, key=lambda name: -ends[name][1]))
    return highest if highest <= 1 else None


def _may_be_bounded(d: ScoreDifference) -> bool:
    is_whole = d.despite_failures is None and d.over_all_rows is None
    return is_whole and d.se is not None and d.mark != compare.BETTER


def _kept(candidate: str, tried: int, against: Against, layout: Layout) -> Kept | None:
    """Say how much of the winner's train gain is there on val."""
    train, val = (
        _half(_primary(layout)._replace(split=split), candidate, against) for split in ("train", "val")
    )
    return kept_of(train, val, tried=tried)


def _half(where: CellFamily, candidate: str, against: Against) -> Half:
    return Half(
        baseline=against.scores[where, against.layout.baseline],
        winner=against.scores[where, candidate],
        clusters=against.splits[where.split].clusters,
        is_unit=against.layout.score_range(where.evaluator) is ScoreRange.UNIT,
    )


def _settled(winner: Row, *, is_kept: bool) -> Row:
    """Call a winner's gain kept only by the numbers that its choice did not flatter."""
    overfit = winner.overfit
    if overfit is None or overfit.state not in {gap.KEPT, gap.UNDECIDED}:
        return winner
    return replace(winner, overfit=replace(overfit, state=gap.KEPT if is_kept else gap.UNDECIDED))


def _selection(
    primary: Sequence[Row], winner: Row | None, against: Against, layout: Layout
) -> WinnersSelection | None:
    """Name the best one's gain; where nothing was chosen, nothing."""
    split = layout.deciding
    gains = [(d.diff, row) for row in primary if (d := row.against_baseline(split)) and d.diff is not None]
    if against.compared <= 1 or not gains:
        return None
    best = winner or max(gains, key=lambda gain: gain[0])[1]
    return selection_of(best, split, against.compared, against.tried_among)


def _not_told_apart(primary: Sequence[Row], winner: Row, against: Against, layout: Layout) -> Iterator[str]:
    """Name the candidates that no corrected test tells from the winner, the best first."""
    name, split = winner.candidate, layout.deciding
    where = _primary(layout)
    pairs = against.pairs[where]
    if pairs:
        marks = {frozenset((a, b)): one.mark for a, b, one in pairs}
        apart = {other: marks[frozenset((name, other))] for other in layout.candidates if other != name}
    else:
        apart = against.apart_from(where, name)
    rows = sorted(primary, key=lambda row: -(row.splits[split].mean or 0.0))
    for row in rows:
        other = row.candidate
        if other not in {name, layout.baseline} and apart[other] not in {compare.BETTER, compare.WORSE}:
            yield other
