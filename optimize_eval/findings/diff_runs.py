"""Two runs against each other, cell by cell, from their journals, and what only one of them has.

Only the scores of one pair of cells are held at a time. Which cells and examples belong together is said in
store.beside; failures, side information and means are those of what both runs have.

A run's own summary says nothing is better where what was seen made what is compared, or where leaks are in
it; no more does a comparison with it. Gates count nothing of this. The words are diff_verdict's.
"""

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TypeVar

from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.cells import CellFamily, CellReading, Scores, Values
from optimize_eval.findings.comparison import (
    MOST_FLIPPED_PAIRS,
    NO_OTHERS,
    AlsoTried,
    Between,
    Compared,
    Held,
    compare,
    corrected_held,
    corrected_together,
    held_difference,
    lower_bounds,
    tolerance_of,
    with_mark,
)
from optimize_eval.findings.diff_boards import Names, metrics_between
from optimize_eval.findings.diff_shapes import (
    REGRESSIONS,
    RUNS_SCHEMA,
    ExampleOfRun,
    ForGates,
    LowerDifference,
    NotCompared,
    RowDiff,
    RunDiff,
    RunOfDiff,
    Sides,
    WorseExample,
)
from optimize_eval.findings.diff_verdict import judge_runs
from optimize_eval.findings.leakage import joined, leakage_of, left_out_of, sentence_of
from optimize_eval.findings.metric_rows import counts_as
from optimize_eval.findings.side_info import reason_of_lowest
from optimize_eval.findings.some_examples import at_places
from optimize_eval.findings.summary import additions_left_out, without
from optimize_eval.findings.summary_shape import TriedCandidates
from optimize_eval.findings.tried import Corrections, corrections_in, is_steered
from optimize_eval.findings.wording import count
from optimize_eval.statistics.differences import ScoreDifference
from optimize_eval.store.beside import Paired, PairedCells, PairedSplit, pair_runs
from optimize_eval.store.command_units import Reader
from optimize_eval.store.layout import SINGLE, Cell, Layout
from optimize_eval.store.opened_run import StoredRun

_WORST_SHOWN = 5
_Number = TypeVar("_Number", int, float)


@frozen
class OpenRun:
    """One of the two runs, open for reading."""

    layout: Layout
    reader: Reader

    def scores(self, cell: Cell) -> Scores:
        layout = self.layout
        lines = layout.split(cell.split).lines
        reading = CellReading(cell, lines, layout.repeats, layout.score_range(cell.evaluator))
        for unit, record in self.reader.records(cell):
            reading.take(unit, record)
        return reading.done()

    def example(self, cell: Cell, place: int, score: float) -> ExampleOfRun:
        """Give what is known of one example: its score, or why it has none; and the reason given."""
        start = cell.start + place * self.layout.repeats
        units = range(start, start + self.layout.repeats)
        records = [record for unit in units if (record := self.reader.record(unit))]
        failed = next((record for record in records if record["outcome"] == "failed"), None)
        is_scored = not math.isnan(score)
        return ExampleOfRun(
            line=self.layout.split(cell.split).lines[place],
            score=score if is_scored else None,
            kind=failed["kind"] if failed and not is_scored else None,
            message=failed["message"] if failed and not is_scored else None,
            reason=reason_of_lowest(records),
        )


@frozen
class ComparedCells:
    """What became of one pair of cells; `low` is the comparison with failures as 0, where there are ends."""

    cells: PairedCells
    held: Held
    low: ScoreDifference | None
    means: Sides[float | None]
    counts: NotCompared
    failed_calls: Sides[int]
    worst: tuple[WorseExample, ...]


def compare_cells(
    a: OpenRun, b: OpenRun, cells: PairedCells, *, may_flip: bool, comparisons: int = 1
) -> ComparedCells:
    """Compare them; `comparisons` is the number that will be corrected together."""
    scores, examples = (a.scores(cells.a), b.scores(cells.b)), cells.examples
    means = _at(scores[0].means, examples.a), _at(scores[1].means, examples.b)
    ranges = a.layout.score_range(cells.a.evaluator), b.layout.score_range(cells.b.evaluator)
    between = partial(
        compare, clusters=examples.clusters, seed=b.layout.seed, may_flip=may_flip, comparisons=comparisons
    )
    tolerance = tolerance_of(b.layout.margins.get(cells.b.evaluator), *ranges)
    against = partial(_compare_settled, partial(between, tolerance=tolerance))
    comparison, lows = against(*means), _lows(scores, *ranges)
    low = comparison if lows else None
    if lows and any(score.failed for score in scores):
        low = against(_at(lows[0], examples.a), _at(lows[1], examples.b))
    is_unit = all(score_range is ScoreRange.UNIT for score_range in ranges)
    both = Compared(a=scores[0].at(examples.a), b=scores[1].at(examples.b), between=between, is_unit=is_unit)
    failed = (sum(_at(scores[0].failed_calls, examples.a)), sum(_at(scores[1].failed_calls, examples.b)))
    return ComparedCells(
        cells=cells,
        held=Held.of(comparison, both),
        low=low,
        means=Sides(a=_mean(means[0], means), b=_mean(means[1], means)),
        counts=_counts(scores, examples),
        failed_calls=Sides(a=failed[0], b=failed[1]),
        worst=tuple(
            WorseExample(
                split=examples.name,
                a=a.example(cells.a, examples.a[example], means[0][example]),
                b=b.example(cells.b, examples.b[example], means[1][example]),
            )
            for example in _worst(means, scores[1].failed_calls, examples)
        ),
    )


def _at(values: MutableSequence[_Number], places: Sequence[int]) -> MutableSequence[_Number]:
    """Take the values of the examples that are compared; where these are all, without a copy."""
    return values if len(values) == len(places) and isinstance(places, range) else [values[p] for p in places]


def _compare_settled(between: Between, before: Values, after: Values) -> ScoreDifference:
    """Give pairs that all tie the p that every test has for them, which is 1.

    Fewer than two examples, or clusters, have no spread, so the statistics leave p open for them; but
    flipping the signs of nothing but zeros changes nothing, however few they are.
    """
    d = between(before, after)
    if d.p is not None or not d.n_pairs or d.ties < d.n_pairs:
        return d
    return with_mark(replace(d, p=1.0, test="flip_exact"), d.dropped)


def _lows(scores: tuple[Scores, Scores], *ranges: ScoreRange) -> tuple[Values, Values] | None:
    before, after = map(lower_bounds, scores)
    has_lowest = all(score_range is ScoreRange.UNIT for score_range in ranges)
    return (before, after) if has_lowest and before is not None and after is not None else None


def _mean(values: Values, means: tuple[Values, Values]) -> float | None:
    """Average what one run has over the examples that both have a score for."""
    both = [
        value
        for value, pair in zip(values, zip(*means, strict=True), strict=True)
        if not any(map(math.isnan, pair))
    ]
    try:
        return math.fsum(both) / len(both)
    except (ZeroDivisionError, OverflowError):
        return None


def _counts(scores: tuple[Scores, Scores], examples: PairedSplit) -> NotCompared:
    fates = Counter(
        (_fate(scores[0], before), _fate(scores[1], after))
        for before, after in zip(examples.a, examples.b, strict=True)
    )
    fixed, newly_failing = fates["failing", "scored"], fates["scored", "failing"]
    failing, compared = fates["failing", "failing"], fates["scored", "scored"]
    newly_skipped = fates["scored", "skipped"]
    skipped = sum(many for pair, many in fates.items() if "skipped" in pair) - newly_skipped
    return NotCompared(
        fixed=fixed,
        newly_failing=newly_failing,
        failing_in_both=failing,
        not_asked=fates.total() - fixed - newly_failing - failing - compared,
        newly_skipped=newly_skipped,
        skipped=skipped,
        newly_failing_in_part=_newly_failing_in_part(scores, examples),
    )


def _newly_failing_in_part(scores: tuple[Scores, Scores], examples: PairedSplit) -> int:
    """Count the examples with scores in both runs of which some repeats fail now, and none did."""
    return sum(
        scores[1].failed_calls[after] > 0 == scores[0].failed_calls[before]
        for before, after in zip(examples.a, examples.b, strict=True)
        if _fate(scores[0], before) == _fate(scores[1], after) == "scored"
    )


def _fate(scores: Scores, example: int) -> str:
    if not math.isnan(scores.means[example]):
        return "scored"
    if scores.failed_calls[example]:
        return "failing"
    return "skipped" if scores.skipped_calls[example] else "owed"


def _worst(means: tuple[Values, Values], failed: Sequence[int], examples: PairedSplit) -> list[int]:
    """Find the worst regressions: first what fails now, the best first; then what lost most."""
    lost = (
        ((0, -before, example) if math.isnan(after) else (1, after - before, example))
        for example, (before, after) in enumerate(zip(*means, strict=True))
        if after < before or (before == before and math.isnan(after) and failed[examples.b[example]])  # noqa: PLR0124
    )
    return [example for *_, example in heapq.nsmallest(_WORST_SHOWN, lost)]


_Digests = dict[str, set[str]]


def without_leaks(a: StoredRun, b: StoredRun) -> tuple[StoredRun, StoredRun, tuple[str, ...]]:
    """Give both without what either leaves out, known by its bytes, and what is to be said of that."""
    left_out: _Digests = {}
    for run in (a, b):
        for split, digests in _left_out(run).items():
            left_out.setdefault(split, set()).update(digests)
    if not left_out:
        return a, b, ()
    caveats = tuple(
        f"{count(len(digests), f'{split} example')} left out, because an earlier split has the same"
        for split, digests in left_out.items()
    )
    return _without(a, left_out), _without(b, left_out), caveats


def _left_out(run: StoredRun) -> _Digests:
    lines = left_out_of(run.layout)
    return {
        split.name: {
            digest
            for line, digest in zip(split.lines, split.sha256, strict=True)
            if line in lines[split.name]
        }
        for split in run.layout.splits
        if split.name in lines
    }


def _without(run: StoredRun, left_out: _Digests) -> StoredRun:
    places = {
        split.name: [n for n, digest in enumerate(split.sha256) if digest not in left_out.get(split.name, ())]
        for split in run.layout.splits
    }
    if not any(places.values()):
        raise UsageError(
            f"every example of {run.folder} is also in train", hint="compare it on fresh examples"
        )
    return at_places(run, places)


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
        return next((tried for tried in every if tried and tried.split == split), None)

    def others(self, rows: Mapping[CellFamily, int]) -> int:
        """Count what is corrected for besides these rows, each family of candidates by itself."""
        return sum(max(0, self._comparisons(where) - many) for where, many in rows.items())

    def _comparisons(self, where: CellFamily) -> int:
        """Count all candidates: here the baseline is compared as well, with the other run's."""
        tried, layout = self.on(where.split), self.layout
        is_primary = (where.evaluator, where.task_model) == (layout.evaluators[0], layout.task_models[0])
        least = tried.comparisons + 1 if tried and is_primary else 0
        return max(least, len(layout.candidates) + self.corrections.others.get(where, 0))

    def doubts(self, split: str) -> Iterator[str]:
        """Say why nothing is confirmed by a split."""
        tried = self.on(split)
        where = "the examples" if split == SINGLE else split
        if tried and is_steered(tried):
            yield (
                f"{where} confirms nothing in {self.side}: {count(tried.steps, 'version')} were made after "
                "its results were seen"
            )
        searched = self.run.document.searched
        if searched and searched.steered_by == split:
            yield f"{where} confirms nothing in {self.side}: it steered the search"
        if leaked := sentence_of(leakage_of(self.run.layout), split):
            yield f"{leaked} (in {self.side})"
        if after := self.run.document.chosen_after:
            yield f"The examples of {self.side} were chosen because they failed or got worse in {after}"

    def corrected(self, split: str, rows: Mapping[CellFamily, int]) -> Iterator[str]:
        """Say what is corrected for."""
        told = self.on(split)
        if told and self.others(rows):
            where = "these examples" if split == SINGLE else split
            many = count(1 + told.named + told.versions, "candidate")
            steps = f", {told.steps:,} of them made after results were seen" if told.steps else ""
            look = f", read {told.look} times while the data grew" if told.look > 1 else ""
            yield f"The p values correct for {many} tried on {where} in {self.side}{steps}{look}"


@frozen
class BothTried:
    """What both know, and the comparisons that are made of each split."""

    sides: tuple[SideTried, ...]
    rows: Mapping[str, Counter[CellFamily]]

    def also(self, split: str) -> AlsoTried:
        """Take the larger of what the two tried on a split besides what is compared."""
        return AlsoTried(
            others=max(side.others(self.rows[split]) for side in self.sides),
            can_confirm=not any(True for side in self.sides for _ in side.doubts(split)),
        )

    def comparisons(self, split: str) -> int:
        """Count what is corrected together."""
        return self.rows[split].total() + self.also(split).others

    def caveats(self) -> Iterator[str]:
        """Say what is corrected for, and what confirms nothing."""
        told = (
            text
            for split, rows in self.rows.items()
            for side in self.sides
            for text in (*side.doubts(split), *side.corrected(split, rows))
        )
        yield from dict.fromkeys(told)


def both_tried(a: StoredRun, b: StoredRun, pairs: Sequence[PairedCells]) -> BothTried:
    rows = {pair.examples.name: Counter[CellFamily]() for pair in pairs}
    for pair in pairs:
        rows[pair.examples.name][CellFamily(pair.b.evaluator, pair.b.task_model, pair.b.split)] += 1
    return BothTried(sides=(_read_tried("A", a), _read_tried("B", b)), rows=rows)


def _read_tried(side: str, run: StoredRun) -> SideTried:
    layout = without(run.layout, additions_left_out(run))
    return SideTried(side=side, run=run, layout=layout, corrections=corrections_in(run, layout))


def compare_runs(a: StoredRun, b: StoredRun, *, force: bool) -> RunDiff:
    """Compare two runs on disk, a before and b after; raises UsageError where they cannot be compared."""
    whole = a, b
    a, b, leaks = without_leaks(a, b)
    paired = _with_copies_joined(pair_runs(a, b, force=force), b)
    pairs = list(paired.cells(a, b))
    tried = both_tried(*whole, pairs)
    with ExitStack() as stack:
        sides = [
            OpenRun(layout=run.layout, reader=stack.enter_context(run.reader(counts_as(run))))
            for run in (a, b)
        ]
        may_flip = len(pairs) <= MOST_FLIPPED_PAIRS
        many = {split: tried.comparisons(split) for split in tried.rows}
        cells = [
            compare_cells(sides[0], sides[1], pair, may_flip=may_flip, comparisons=many[pair.examples.name])
            for pair in pairs
        ]
    rows = _rows(cells, tried)
    names = [split.name for split in paired.splits]
    deciding = b.layout.deciding if b.layout.deciding in names else names[0]
    return RunDiff(
        schema=RUNS_SCHEMA,
        a=_about(a),
        b=_about(b),
        decided_on=deciding,
        verdict=judge_runs(rows, deciding),
        rows=tuple(rows),
        only_in_a=paired.only_in_a,
        only_in_b=paired.only_in_b,
        caveats=(*leaks, *tried.caveats(), *paired.caveats, *_same_texts(a, b, paired, rows)),
        metrics=metrics_between(a, b, _names(paired)),
    )


def _names(paired: Paired) -> Names:
    candidates = {after: before for before, after in paired.candidates}
    return Names(candidates=candidates, models={model: model for model in paired.task_models})


def _with_copies_joined(paired: Paired, b: StoredRun) -> Paired:
    """Let equal lines count together, as in a run's own summary."""
    splits = []
    for split in paired.splits:
        digests = b.layout.split(split.name).contents
        splits.append(
            replace(split, clusters=joined([digests[example] for example in split.b], split.clusters))
        )
    return replace(paired, splits=tuple(splits))


def _about(run: StoredRun) -> RunOfDiff:
    return RunOfDiff(
        run=run.document.origin.get("shown_as") or str(run.folder),
        plan=run.document.id,
        created_at=run.document.created_at,
        owed=run.owed,
        changed=tuple(sorted(run.ledger.changed)),
    )


def _same_texts(a: StoredRun, b: StoredRun, paired: Paired, rows: Sequence[RowDiff]) -> Iterator[str]:
    """Name candidates that are the same bytes in both runs and were scored differently."""
    if a.document.origin or b.document.origin:
        return  # other tools' results have no texts of candidates
    texts = [{entry.name: entry.sha256 for entry in run.document.selected_candidates} for run in (a, b)]
    moved = {row.candidate for row in rows if row.difference.ties < row.difference.n_pairs}
    for before, after in paired.candidates:
        if after in moved and texts[0][before] and texts[0][before] == texts[1][after]:
            yield f"{after} is the same text in both runs, so its scores differ for another reason"


def _rows(cells: Sequence[ComparedCells], tried: BothTried) -> list[RowDiff]:
    """Correct the p values of each split's comparisons together, and put everything into rows."""
    rows: dict[int, RowDiff] = {}
    for split in tried.rows:
        places = [index for index, cell in enumerate(cells) if cell.cells.examples.name == split]
        together = [cells[index] for index in places]
        rows.update(zip(places, _rows_of(together, tried.also(split)), strict=True))
    return [rows[index] for index in sorted(rows)]


def _rows_of(cells: Sequence[ComparedCells], also: AlsoTried) -> Iterator[RowDiff]:
    plain, claimed = (_correct(cells, tried) for tried in (NO_OTHERS, also))
    for numbers, corrected_too in zip(plain, claimed, strict=True):
        row = _row(corrected_too)
        row = row if also == NO_OTHERS else replace(row, for_gates=_for_gates(numbers))
        yield replace(row, is_regression=row.as_gates_see_it.standing in REGRESSIONS)


def _correct(cells: Sequence[ComparedCells], also: AlsoTried) -> list[ComparedCells]:
    """Correct each kind of comparison by itself."""
    correct = partial(corrected_together, also=also)
    held = corrected_held(dict(enumerate(cell.held for cell in cells)), correct)
    lows = correct({n: cell.low for n, cell in enumerate(cells) if cell.low})
    return [replace(cell, held=held[n], low=lows.get(n)) for n, cell in enumerate(cells)]


def _for_gates(plain: ComparedCells) -> ForGates:
    difference, low = plain.held.comparison, plain.low
    return ForGates(
        comparisons=difference.comparisons,
        p_holm=difference.p_holm,
        mark=difference.mark,
        p_holm_at_lower_bound=low.p_holm if low else None,
        mark_at_lower_bound=low.mark if low else None,
    )


def _row(both: ComparedCells) -> RowDiff:
    cell, low, comparison = both.cells.b, both.low, both.held.comparison
    return RowDiff(
        evaluator=cell.evaluator,
        candidate=cell.candidate,
        candidate_in_a=both.cells.a.candidate,
        task_model=cell.task_model,
        split=cell.split,
        difference=held_difference(both.held),
        margin=comparison.margin,
        means=both.means,
        improved=comparison.wins,
        regressed=comparison.losses,
        unchanged=comparison.ties,
        not_compared=both.counts,
        failed_calls=both.failed_calls,
        worst=both.worst,
        at_lower_bound=None if low is None else LowerDifference(difference=low, margin=low.margin),
        is_regression=False,
    )
