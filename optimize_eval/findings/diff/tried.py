"""What a comparison of two runs is corrected for: what either knows that was tried on the same examples.

A run's own summary says nothing is better where what was seen made what is compared, or where leaks are in
it; no more does a comparison with it. Gates count nothing of this.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.additions import left_out_of, without
from optimize_eval.findings.claims.families import CellFamily
from optimize_eval.findings.claims.leaks import leakage_of
from optimize_eval.findings.claims.tried import Corrections, corrections_in, is_steered
from optimize_eval.findings.shapes.leakage import sentence_of
from optimize_eval.findings.shapes.summary import TriedCandidates
from optimize_eval.findings.summary.compare import AlsoTried
from optimize_eval.findings.summary.stored import search_of
from optimize_eval.findings.wording import count
from optimize_eval.store.beside import PairedCells
from optimize_eval.store.layout import SINGLE, Layout
from optimize_eval.store.manifest import CHOSEN_AFTER
from optimize_eval.store.stored import StoredRun


@frozen
class SideTried:
    """What one of two runs knows."""

    side: str
    run: StoredRun
    layout: Layout
    corrections: Corrections

    def on(self, split: str) -> TriedCandidates | None:
        """Give the steps and looks of a split that decides, or that has the word after another one."""
        every = self.corrections.deciding, self.corrections.on_test
        return next((one for one in every if one and one.split == split), None)

    def others(self, rows: Mapping[CellFamily, int]) -> int:
        """Count what is corrected for besides these rows, each family of candidates by itself."""
        return sum(max(0, self._comparisons(where) - many) for where, many in rows.items())

    def _comparisons(self, where: CellFamily) -> int:
        """Count all candidates: here the baseline is compared as well, with the other run's."""
        told, layout = self.on(where.split), self.layout
        is_primary = (where.evaluator, where.task_model) == (layout.evaluators[0], layout.task_models[0])
        least = told.comparisons + 1 if told and is_primary else 0
        return max(least, len(layout.candidates) + self.corrections.others.get(where, 0))

    def doubts(self, split: str) -> Iterator[str]:
        """Say why nothing is confirmed by a split."""
        told = self.on(split)
        where = "the examples" if split == SINGLE else split
        if told and is_steered(told):
            yield (
                f"{where} steered {self.side}: {count(told.steps, 'version')} were made after its results "
                "were seen, so nothing there is called better or worse"
            )
        if (search_of(self.run) or {}).get("steered_by") == split:
            yield f"{where} steered the search of {self.side}, so nothing there is called better or worse"
        if leaked := sentence_of(leakage_of(self.run.layout), split):
            yield f"{leaked} (in {self.side})"
        if after := self.run.manifest.get("settings", {}).get(CHOSEN_AFTER):
            yield f"the examples of {self.side} failed or got worse in {after}, and were taken for that"

    def corrected(self, split: str, rows: Mapping[CellFamily, int]) -> Iterator[str]:
        """Say what is corrected for."""
        told = self.on(split)
        if told and self.others(rows):
            where = "these examples" if split == SINGLE else split
            many = count(1 + told.named + told.versions, "candidate")
            steps = f", {told.steps:,} of them made after results were seen" if told.steps else ""
            look = f", and this is look {told.look} at growing data" if told.look > 1 else ""
            yield f"{many} were tried on {where} in {self.side}{steps}{look}: corrected for that"


@frozen
class BothTried:
    """What both know, and the comparisons that are made of each split."""

    sides: tuple[SideTried, ...]
    rows: Mapping[str, Counter[CellFamily]]

    def also(self, split: str) -> AlsoTried:
        """Take the larger of what the two tried on a split besides what is compared."""
        return AlsoTried(
            others=max(one.others(self.rows[split]) for one in self.sides),
            can_confirm=not any(True for one in self.sides for _ in one.doubts(split)),
        )

    def comparisons(self, split: str) -> int:
        """Count what is corrected together."""
        return self.rows[split].total() + self.also(split).others

    def caveats(self) -> Iterator[str]:
        """Say what is corrected for, and what confirms nothing."""
        told = (
            text
            for split, rows in self.rows.items()
            for one in self.sides
            for text in (*one.doubts(split), *one.corrected(split, rows))
        )
        yield from dict.fromkeys(told)


def both_tried(a: StoredRun, b: StoredRun, pairs: Sequence[PairedCells]) -> BothTried:
    rows = {pair.examples.name: Counter[CellFamily]() for pair in pairs}
    for pair in pairs:
        rows[pair.examples.name][CellFamily(pair.b.evaluator, pair.b.task_model, pair.b.split)] += 1
    return BothTried(sides=(_tried("A", a), _tried("B", b)), rows=rows)


def _tried(side: str, run: StoredRun) -> SideTried:
    layout = without(run.layout, left_out_of(run))
    return SideTried(side=side, run=run, layout=layout, corrections=corrections_in(run, layout))
