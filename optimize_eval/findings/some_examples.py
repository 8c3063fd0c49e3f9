"""Some examples of a run, chosen afterwards: its summary as if it were of these only, which claims less."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.metric_rows import counts_as, metrics_of, records_of
from optimize_eval.findings.stored_summary import numbers_only, without_rules
from optimize_eval.findings.summary import additions_left_out, summarise, without
from optimize_eval.findings.summary_shape import Selected, Summary, Verdict
from optimize_eval.findings.tried import Corrections
from optimize_eval.store.folder import JOURNAL
from optimize_eval.store.layout import Layout
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.records import Records, RunRecord

_CHOSEN = "this part was chosen afterwards", "--group-by corrects for that"
_PART = Corrections(can_confirm=False)


@dataclass(frozen=True, slots=True)
class RecordsOfSome:
    """The records of some examples, in the run's order; may be gone over again and again."""

    all: Records
    lines: Mapping[str, frozenset[int | None]]

    def __iter__(self) -> Iterator[RunRecord]:
        return (record for record in self.all if record.line in self.lines.get(record.split, ()))


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
        left_out = additions_left_out(run)
        whole = without(run.layout, left_out)
        layout = self.cut(whole)
        with run.ledger.of(layout).reader(run.folder / JOURNAL, counts_as(run)) as reader:
            changed = run.ledger.changed.intersection(layout.evaluators)
            summary, _ = summarise(layout, reader.records, changed, left_out, tried=_PART)
        waiting = (metrics.task for metrics in metrics_of(run, whole) if metrics.problem)
        summary = replace(summary, rules_waiting=tuple(dict.fromkeys(waiting)))
        verdict = without_rules(summary) or _without_claims(summary) or summary.verdict
        text = f"over {self._counts(whole)} ({self.why}): {verdict.text}"
        sizes = {split.name: len(split.lines) for split in whole.splits}
        chosen = {name: len(self.places.get(name, ())) for name in sizes}
        selected = Selected(why=self.why, examples=chosen, of=sizes)
        return replace(summary, verdict=replace(verdict, text=text), selected=selected)

    def records(self, run: StoredRun) -> RecordsOfSome:
        """Give the records of these examples."""
        lines = {split.name: split.lines for split in run.layout.splits}
        wanted = {
            name: frozenset(lines[name][place] for place in places) for name, places in self.places.items()
        }
        return RecordsOfSome(records_of(run), wanted)

    def part(self, run: StoredRun) -> StoredRun:
        """Give the run as if it had been about these examples only."""
        part = at_places(run, self.places)
        paths = part.document.settings.get("paths") or {}
        splits = {**(paths.get("splits") or {}), **self.moved}
        settings = {**part.document.settings, "paths": {**paths, "splits": splits}}
        return replace(part, document=replace(part.document, settings=settings))

    def cut(self, layout: Layout) -> Layout:
        """Give the layout of these examples; a split that has none is none."""
        return _cut(layout, self.places)

    def _counts(self, layout: Layout) -> str:
        counts = [
            f"{len(self.places.get(split.name, ())):,} of {len(split.lines):,} {split.name}"
            for split in layout.splits
        ]
        return f"{' and '.join(counts)} examples"


def _without_claims(summary: Summary) -> Verdict | None:
    """Say nothing of who is better; that nothing was scored, or one mean, is no such claim."""
    rows = [row.splits.get(summary.decided_on) for row in summary.rows]
    if summary.verdict.state in {None, "single"} or not any(row and row.mean is not None for row in rows):
        return None
    return numbers_only(summary, *_CHOSEN)


def at_places(run: StoredRun, places: Mapping[str, Sequence[int]]) -> StoredRun:
    """Give a run as if it had been about the examples at these places of its splits, in this order."""
    return run.select(_cut(run.layout, places))


def _cut(layout: Layout, places: Mapping[str, Sequence[int]]) -> Layout:
    splits = [split.at(places[split.name]) for split in layout.splits if places.get(split.name)]
    return replace(layout, splits=tuple(splits))
