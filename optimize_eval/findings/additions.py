"""Evaluators that were added to a run and cannot take part in its summary: not complete, or not one program.

They are left out as a whole, so that what was known before stays what it was.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from optimize_eval.findings.shapes.summary import LeftOut, Point
from optimize_eval.store.layout import Layout
from optimize_eval.store.ledger import OWED, SCORED
from optimize_eval.store.manifest import additions_of
from optimize_eval.store.stored import StoredRun


def left_out_of(run: StoredRun) -> list[LeftOut]:
    """List additions that are not complete, or whose files changed while they were called."""
    counted = (_counted(run, entry["name"]) for entry in additions_of(run.manifest))
    return [entry for entry in counted if entry.done < entry.calls or entry.changed]


def without(layout: Layout, left_out: Sequence[LeftOut]) -> Layout:
    names = {entry.evaluator for entry in left_out}
    kept = [pair for pair in zip(layout.evaluators, layout.score_ranges, strict=True) if pair[0] not in names]
    return replace(
        layout, evaluators=tuple(name for name, _ in kept), score_ranges=tuple(one for _, one in kept)
    )


def points_about(left_out: Sequence[LeftOut]) -> Iterator[Point]:
    """Name those that have scored something; one that never did is nobody's concern."""
    for entry in left_out:
        name = entry.evaluator
        if entry.changed:
            text = f"{name}, added later, is left out: it changed while being called"
        elif entry.scored:
            text = f"{name}, added later, is left out: {entry.done:,} of {entry.calls:,} calls done"
        else:
            continue
        yield Point(mark="!", text=text)


def _counted(run: StoredRun, name: str) -> LeftOut:
    units = run.layout.units_of(name)
    return LeftOut(
        evaluator=name,
        calls=len(units),
        done=len(units) - run.ledger.count(OWED, units),
        scored=run.ledger.count(SCORED, units),
        changed=name in run.ledger.changed,
    )
