"""What splits have in common, found once when a run is planned, and told before any call is paid."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from optimize_eval.data.example import Example
from optimize_eval.data.leaks import Overlaps
from optimize_eval.run.plan import Plan
from optimize_eval.session.host import Say
from optimize_eval.session.inputs import AllRows, Examples, note_copies
from optimize_eval.store.layout import Layout, Split
from optimize_eval.store.manifest import OVERLAPS, with_overlaps


def overlaps_in(plan: Plan, examples: Examples, before: Mapping[str, Any]) -> Overlaps:
    """Find what they have in common, or take it from the settings that the run had before.

    Splits that are tasks confirm nothing, so nothing is looked for.
    """
    if plan.layout.splits_of or examples.rows is None:
        return {}
    return _overlaps(examples.rows, before, [one.field for one in plan.candidates if one.field])


def _overlaps(rows: AllRows, before: Mapping[str, Any], candidates: Iterable[str] = ()) -> Overlaps:
    known = before.get(OVERLAPS)
    return rows.overlaps(known if isinstance(known, dict) else {}, candidates)


def note_leaks(layout: Layout, say: Say) -> None:
    """Say which examples leaked, and what becomes of them."""
    if not layout.splits_of:
        _note(layout.splits, say, keeps_leaks=layout.keeps_leaks)


def note_copies_in(layout: Layout, examples: Examples, say: Say) -> None:
    """Say which examples of a split say the same as an earlier one, by their values."""
    if examples.rows:
        _note_copies(layout.splits, examples, say)


def note_leaks_among(
    examples: Examples, say: Say, *, keeps_leaks: bool, before: Mapping[str, Any] | None = None
) -> Sequence[Split]:
    """Say of examples that no run is planned of yet what leaked and what is there twice, and give it."""
    if not examples.rows:
        return ()
    splits = [split_of(source.name, source.examples) for source in examples.sources]
    known = with_overlaps(splits, _overlaps(examples.rows, before or {}))
    _note_copies(known, examples, say)
    _note(known, say, keeps_leaks=keeps_leaks)
    return known


def _note_copies(splits: Sequence[Split], examples: Examples, say: Say) -> None:
    copies = {split.name: _copied(split) for split in splits if split.copies}
    for source in examples.sources:
        note_copies(source, copies.get(source.name, {}), say)


def _copied(split: Split) -> dict[int, int]:
    """Give the lines of copies, each with the first one of those that take part."""
    first: dict[int | None, int] = {}
    lines = [line for line in split.lines if line is not None]
    firsts = {line: first.setdefault(split.copies.get(line, line), line) for line in lines}
    return {line: earlier for line, earlier in firsts.items() if line != earlier}


def split_of(name: str, rows: Sequence[Example]) -> Split:
    """Make a split of which lines alone are known."""
    return Split(name=name, lines=tuple(row.line for row in rows), sha256=("",) * len(rows))


def _note(splits: Sequence[Split], say: Say, *, keeps_leaks: bool) -> None:
    if any(split.leaks for split in splits):
        from optimize_eval.findings.cells import leakages_of  # noqa: PLC0415  most runs have none

        for name, leakage in leakages_of(splits, keeps_leaks=keeps_leaks).items():
            say(f"note: {leakage.point(name)}")
