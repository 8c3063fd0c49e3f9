"""What splits have in common, found once when a run is planned, and told before any call is paid."""

from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.rows.example import Example
from optimize_eval.rows.overlap import Overlaps
from optimize_eval.run.plan import Plan
from optimize_eval.session.host import Say
from optimize_eval.session.inputs import Examples
from optimize_eval.store.layout import Layout, Split
from optimize_eval.store.manifest import OVERLAPS, with_overlaps


def overlaps_in(plan: Plan, examples: Examples, before: Mapping[str, Any]) -> Overlaps:
    """Find what they have in common, or take it from the settings that the run had before.

    Splits that are tasks confirm nothing, so nothing is looked for.
    """
    if plan.layout.splits_of or examples.rows is None:
        return {}
    known = before.get(OVERLAPS)
    return examples.rows.overlaps(known if isinstance(known, dict) else {})


def note_leaks(layout: Layout, say: Say) -> None:
    """Say which examples leaked, and what becomes of them."""
    if not layout.splits_of:
        _note(layout.splits, say, keeps_leaks=layout.keeps_leaks)


def note_leaks_among(examples: Examples, say: Say) -> None:
    """Say of examples that no run is planned of what leaked."""
    if examples.rows and len(examples.sources) > 1:
        splits = [split_of(source.name, source.examples) for source in examples.sources]
        _note(with_overlaps(splits, examples.rows.overlaps({})), say, keeps_leaks=False)


def split_of(name: str, rows: Sequence[Example]) -> Split:
    """Make a split of which lines alone are known."""
    return Split(name=name, lines=tuple(row.line for row in rows), sha256=("",) * len(rows))


def _note(splits: Sequence[Split], say: Say, *, keeps_leaks: bool) -> None:
    if any(split.leaks for split in splits):
        from optimize_eval.findings.claims.leaks import leakages_of  # noqa: PLC0415  most runs have none

        for name, leakage in leakages_of(splits, keeps_leaks=keeps_leaks).items():
            say(f"note: {leakage.point(name)}")
