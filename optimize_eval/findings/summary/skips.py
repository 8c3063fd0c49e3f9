"""What skips mean for a comparison: where they differ, candidates are compared on fewer examples."""

from collections.abc import Iterator, Mapping, Sequence

from optimize_eval.findings.claims.families import CellFamily
from optimize_eval.findings.rows import evaluator_label
from optimize_eval.findings.scores import Scores
from optimize_eval.findings.shapes.row import Row
from optimize_eval.findings.shapes.summary import Point, Summary
from optimize_eval.findings.wording import count
from optimize_eval.store.layout import Layout


def points_about_skips(
    summary: Summary, scores: Mapping[tuple[CellFamily, str], Scores], layout: Layout
) -> Iterator[Point]:
    """Point out where an evaluator skips examples for some candidates, and not for others."""
    if summary.units.owed or summary.changed or not summary.units.skipped:
        return
    for family in dict.fromkeys(family for family, _ in scores):
        told = {name: scores[family, name] for name in layout.candidates}
        if differing := _differing(list(told.values())):
            yield Point(mark="!", text=_unlike(family, told, differing))


def _differing(cells: list[Scores]) -> int:
    """Count the examples of which not every candidate has as many skipped calls."""
    return sum(len(set(skipped)) > 1 for skipped in zip(*(one.skipped_calls for one in cells), strict=True))


def _unlike(family: CellFamily, told: Mapping[str, Scores], differing: int) -> str:
    least, most = (pick(told, key=lambda name: told[name].skipped) for pick in (min, max))
    calls = f"from {told[least].skipped:,} ({least}) to {told[most].skipped:,} ({most})"
    if told[least].skipped == told[most].skipped:
        calls = f"{told[most].skipped:,} for each candidate, but not the same"
    examples = count(len(told[most].skipped_calls), "example")
    label = evaluator_label(family.evaluator, family.task_model)
    return (
        f"skipped calls differ on {label}, {family.split}: {calls}; {differing:,} of {examples} are "
        "concerned, and pairs of which one side was skipped are dropped"
    )


def all_skipped(rows: Sequence[Row], split: str) -> bool:
    """Return True if every call of these rows was skipped."""
    parts = [row.splits[split] for row in rows]
    return all(s.skipped and not s.scored and not s.failed for s in parts)


def why_skipped(summary: Summary, row: Row, split: str) -> str:
    """Say why the calls of a row were skipped."""
    where = row.evaluator, row.task_model, row.candidate, split
    told = ((s.evaluator, s.task_model, s.candidate, s.split, s.why) for s in summary.skips)
    return "; ".join(why for *here, why in told if tuple(here) == where)
