"""The summary of a run over some of its examples, from the records that it has; it says so in its verdict.

Which examples these are is decided elsewhere; nothing of this is ever written to the run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.additions import left_out_of, without
from optimize_eval.findings.claims.tried import Corrections
from optimize_eval.findings.metrics import counts_as, metrics_of, records_of
from optimize_eval.findings.shapes.summary import Selected, Summary, Verdict
from optimize_eval.findings.summary.document import summarise
from optimize_eval.findings.summary.stored import numbers_only, without_rules
from optimize_eval.store.folder import JOURNAL
from optimize_eval.store.layout import Layout
from optimize_eval.store.manifest import Manifest
from optimize_eval.store.records import Records, RunRecord
from optimize_eval.store.stored import StoredRun

_CHOSEN = "a part chosen afterwards", "--group-by corrects"
_PART = Corrections(can_confirm=False)
_OF_EXAMPLES = ("lines", "sha256", "clusters", "names", "inputs")  # of a split in run.json: lists


@frozen
class SomeExamples:
    """Examples of a run by their places in its splits, and in words why these.

    `options` chose them, as a shell has them; `moved` are the splits' files that are not where they were.
    """

    places: Mapping[str, Sequence[int]]
    why: str
    options: str = ""
    moved: Mapping[str, str] = field(default_factory=dict)

    def summarise(self, run: StoredRun) -> Summary:
        """Compute the summary as if the run had been about these examples only."""
        left_out = left_out_of(run)
        whole = without(run.layout, left_out)
        layout = self.cut(whole)
        with run.ledger.of(layout).reader(run.folder / JOURNAL, counts_as(run)) as reader:
            changed = run.ledger.changed.intersection(layout.evaluators)
            summary = summarise(layout, reader.records, changed, left_out, tried=_PART)
        waiting = (one.task for one in metrics_of(run, whole) if one.problem)
        summary = replace(summary, rules_waiting=tuple(dict.fromkeys(waiting)))
        verdict = without_rules(summary) or _without_claims(summary) or summary.verdict
        text = f"over {self._counts(whole)} ({self.why}): {verdict.text}"
        sizes = {split.name: len(split.lines) for split in whole.splits}
        chosen = {name: len(self.places.get(name, ())) for name in sizes}
        selected = Selected(why=self.why, examples=chosen, of=sizes)
        return replace(summary, verdict=replace(verdict, text=text), selected=selected)

    def records(self, run: StoredRun) -> "RecordsOfSome":
        """Give the records of these examples."""
        lines = {split.name: split.lines for split in run.layout.splits}
        wanted = {
            name: frozenset(lines[name][place] for place in places) for name, places in self.places.items()
        }
        return RecordsOfSome(records_of(run), wanted)

    def part(self, run: StoredRun) -> StoredRun:
        """Give the run as if it had been about these examples only."""
        part = at_places(run, self.places)
        settings = part.manifest.get("settings") or {}
        paths = settings.get("paths") or {}
        splits = {**(paths.get("splits") or {}), **self.moved}
        manifest = {**part.manifest, "settings": {**settings, "paths": {**paths, "splits": splits}}}
        return replace(part, manifest=manifest)

    def cut(self, layout: Layout) -> Layout:
        """Give the layout of these examples; a split that has none is none."""
        return _cut(layout, self.places)

    def _counts(self, layout: Layout) -> str:
        told = [
            f"{len(self.places.get(split.name, ())):,} of {len(split.lines):,} {split.name}"
            for split in layout.splits
        ]
        return f"{' and '.join(told)} examples"


def _without_claims(summary: Summary) -> Verdict | None:
    """Say nothing of who is better; that nothing was scored, or one mean, is no such claim."""
    rows = [row.splits.get(summary.decided_on) for row in summary.rows]
    if summary.verdict.state in {None, "single"} or not any(one and one.mean is not None for one in rows):
        return None
    return numbers_only(summary, *_CHOSEN)


@dataclass(frozen=True, slots=True)
class RecordsOfSome:
    """The records of some examples, in the run's order; may be gone over again and again."""

    all: Records
    lines: Mapping[str, frozenset[int | None]]

    def __iter__(self) -> Iterator[RunRecord]:
        return (one for one in self.all if one.line in self.lines.get(one.split, ()))


def at_places(run: StoredRun, places: Mapping[str, Sequence[int]]) -> StoredRun:
    """Give a run as if it had been about the examples at these places of its splits, in this order."""
    view = run.ledger.of(_cut(run.layout, places))
    return replace(run, manifest=_cut_manifest(run.manifest, places), ledger=view)


def _cut(layout: Layout, places: Mapping[str, Sequence[int]]) -> Layout:
    splits = [split.at(places[split.name]) for split in layout.splits if places.get(split.name)]
    return replace(layout, splits=tuple(splits))


def _cut_manifest(run: Manifest, places: Mapping[str, Sequence[int]]) -> Manifest:
    def cut(split: Mapping[str, Any]) -> dict[str, Any]:
        at = places[split["name"]]
        lists = {key: [split[key][place] for place in at] for key in _OF_EXAMPLES if split.get(key)}
        groups = {path: [labels[place] for place in at] for path, labels in split["groups"].items()}
        return {**split, **lists, "groups": groups}

    return {**run, "splits": [cut(split) for split in run["splits"] if places.get(split["name"])]}
