"""What stands behind a verdict in numbers: the selection, who is not told apart, what carries over."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from optimize_eval.findings.claims.against import Against
from optimize_eval.findings.claims.choice import Half, cross_fit, kept_of, selection_of, winner_of
from optimize_eval.findings.claims.families import Where
from optimize_eval.findings.rows import Row, is_lead, known_difference
from optimize_eval.findings.summary import compare, gap
from optimize_eval.store.layout import Layout

Halves = Mapping[str, Half]  # by split, of the first evaluator and task model


def claims_of(
    rows: Sequence[dict[str, Any]], halves: Halves, against: Against, layout: Layout
) -> dict[str, Any]:
    """Compute them; a winner's own row learns what is shown of its lost gain."""
    lead = [row for row in rows if is_lead(row, layout)]
    winner = winner_of(lead, layout.deciding)
    kept = None
    if winner and {"train", "val"} <= halves.keys():
        margin = layout.margins.get(layout.evaluators[0])
        name = winner["candidate"]
        kept = kept_of(halves["train"], halves["val"], name, margin=margin, seed=layout.seed)
        _settle(winner, is_kept=kept is not None and kept.is_kept)
    return {
        "winner": winner and winner["candidate"],
        "selection": _selection(lead, winner, halves[layout.deciding], layout),
        "not_told_apart": list(_not_told_apart(lead, winner, against, layout)) if winner else [],
        "carry_over": kept and kept.to_dict(),
    }


def _settle(winner: Row, *, is_kept: bool) -> None:
    """Call a winner's gain kept only by the numbers that its choice did not flatter."""
    overfit = winner["overfit"]
    if overfit and overfit["state"] in {gap.KEPT, gap.UNDECIDED}:
        overfit["state"] = gap.KEPT if is_kept else gap.UNDECIDED


def _selection(lead: Sequence[Row], winner: Row | None, half: Half, layout: Layout) -> dict[str, Any] | None:
    """Tell the best one's gain with and without the choice; where nothing was chosen, nothing."""
    split = layout.deciding
    others = [row for row in lead if row["vs_baseline"] and known_difference(row, split)["diff"] is not None]
    if len(half.others) <= 1 or not others:
        return None
    best = winner or max(others, key=lambda row: known_difference(row, split)["diff"])
    return selection_of(len(half.others), best, split, cross_fit(half, best["candidate"], layout.seed))


def _not_told_apart(lead: Sequence[Row], winner: Row, against: Against, layout: Layout) -> Iterator[str]:
    """Name the candidates that no corrected test tells from the winner, the best first."""
    name, split = winner["candidate"], layout.deciding
    where = Where(layout.evaluators[0], layout.task_models[0], split)
    pairs = against.pairs[where]
    if pairs:
        marks = {frozenset((a, b)): one.mark for a, b, one in pairs}
        apart = {other: marks[frozenset((name, other))] for other in layout.candidates if other != name}
    else:
        apart = {other: one.mark for other, one in against.apart_from(where, name).items()}
    rows = sorted(lead, key=lambda row: -(row["splits"][split]["mean"] or 0.0))
    for row in rows:
        other = row["candidate"]
        if other not in {name, layout.baseline} and apart[other] not in {compare.BETTER, compare.WORSE}:
            yield other
