"""One cell in both runs: the paired comparison, what became of the other examples, the worst regressions.

Reads cell by cell, so that only the scores of one pair of cells are held at a time. Which cells and examples
belong together is store.paired's.
"""

import heapq
import math
from collections import Counter
from collections.abc import MutableSequence, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.claims.failures import lower_bounds
from optimize_eval.findings.claims.held import Held
from optimize_eval.findings.claims.held import Sides as ComparedSides
from optimize_eval.findings.diff.shapes import ExampleOfRun, Sides, WorseExample
from optimize_eval.findings.reasons import reason_of_lowest
from optimize_eval.findings.scores import CellReading, Scores, Values
from optimize_eval.findings.summary.compare import Comparison, compare, tolerance_of
from optimize_eval.store.beside import PairedCells, PairedSplit
from optimize_eval.store.layout import Cell, Layout
from optimize_eval.store.view import Reader

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
        for place, record in self.reader.records(cell):
            reading.take(place, record)
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
class NotCompared:
    """How many examples are not compared, by what became of them."""

    fixed: int
    newly_failing: int
    failing_in_both: int
    not_asked: int
    newly_skipped: int  # of those that are not asked, as are the others that one of the two skipped
    skipped: int
    newly_failing_in_part: int  # of those that are: some repeats fail now, and none did


@frozen
class ComparedCells:
    """What became of one pair of cells; `low` is the comparison with failures as 0, where there are ends."""

    cells: PairedCells
    held: Held
    low: Comparison | None
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
    tolerance = tolerance_of(b.layout.margins.get(cells.b.evaluator), *ranges)

    between = partial(
        compare,
        clusters=examples.clusters,
        seed=b.layout.seed,
        may_flip=may_flip,
        comparisons=comparisons,
    )

    def against(before: Values, after: Values) -> Comparison:
        return _settled(between(before, after, tolerance=tolerance))

    comparison, lows = against(*means), _lows(scores, *ranges)
    low = comparison if lows else None
    if lows and any(one.failed for one in scores):
        low = against(_at(lows[0], examples.a), _at(lows[1], examples.b))
    is_unit = all(one is ScoreRange.UNIT for one in ranges)
    both = ComparedSides(
        a=scores[0].at(examples.a), b=scores[1].at(examples.b), between=between, is_unit=is_unit
    )
    return ComparedCells(
        cells=cells,
        held=Held.of(comparison, both),
        low=low,
        means=Sides(a=_mean(means[0], means), b=_mean(means[1], means)),
        counts=_counts(scores, examples),
        failed_calls=Sides(
            a=sum(_at(scores[0].failed_calls, examples.a)), b=sum(_at(scores[1].failed_calls, examples.b))
        ),
        worst=tuple(
            WorseExample(
                split=examples.name,
                a=a.example(cells.a, examples.a[place], means[0][place]),
                b=b.example(cells.b, examples.b[place], means[1][place]),
            )
            for place in _worst(means, scores[1].failed_calls, examples)
        ),
    )


def _at(values: MutableSequence[_Number], places: Sequence[int]) -> MutableSequence[_Number]:
    """Take the values of the examples that are compared; where these are all, without a copy."""
    return values if len(values) == len(places) and isinstance(places, range) else [values[p] for p in places]


def _settled(comparison: Comparison) -> Comparison:
    """Give pairs that all tie the p that every test has for them, which is 1.

    Fewer than two examples, or clusters, have no spread, so the statistics leave p open for them; but
    flipping the signs of nothing but zeros changes nothing, however few they are.
    """
    difference = comparison.difference
    if difference.p is not None or not difference.n_pairs or difference.ties < difference.n_pairs:
        return comparison
    return replace(comparison, difference=replace(difference, p=1.0, test="flip_exact"))


def _lows(scores: tuple[Scores, Scores], *ranges: ScoreRange) -> tuple[Values, Values] | None:
    before, after = map(lower_bounds, scores)
    has_lowest = all(one is ScoreRange.UNIT for one in ranges)
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
        (_fate(scores[0], one), _fate(scores[1], other))
        for one, other in zip(examples.a, examples.b, strict=True)
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
        scores[1].failed_calls[other] > 0 == scores[0].failed_calls[one]
        for one, other in zip(examples.a, examples.b, strict=True)
        if _fate(scores[0], one) == _fate(scores[1], other) == "scored"
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
        ((0, -before, place) if math.isnan(after) else (1, after - before, place))
        for place, (before, after) in enumerate(zip(*means, strict=True))
        if after < before or (before == before and math.isnan(after) and failed[examples.b[place]])  # noqa: PLR0124
    )
    return [place for *_, place in heapq.nsmallest(_WORST_SHOWN, lost)]
