"""Two runs against each other, from their journals: per cell a paired comparison, and the worst examples.

Reads cell by cell, so that only the scores of one pair of cells are held at a time. Which cells and examples
belong together is store.paired's, what the numbers are called in words diff_verdict's.
"""

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from optimize_eval.findings.claims.duplicates import joined
from optimize_eval.findings.claims.failures import lower_bounds
from optimize_eval.findings.diff.regressions import is_regression
from optimize_eval.findings.diff.verdict import judge
from optimize_eval.findings.documents import to_dict
from optimize_eval.findings.reasons import reason_of_lowest
from optimize_eval.findings.scores import CellReading, Scores, Values
from optimize_eval.findings.shaping import margin_of, score_difference
from optimize_eval.findings.summary.compare import MOST_FLIPPED_PAIRS, Comparison, compare, corrected
from optimize_eval.protocol import ScoreRange
from optimize_eval.store.layout import Cell, Layout
from optimize_eval.store.paired import Paired, PairedCells, PairedSplit, pair
from optimize_eval.store.stored import StoredRun
from optimize_eval.store.view import Reader

SCHEMA = "optimize-eval.diff.v1"

_WORST_SHOWN = 5
_FATES = {
    ("failing", "scored"): "fixed",
    ("scored", "failing"): "newly_failing",
    ("failing", "failing"): "failing_in_both",
}
_Number = TypeVar("_Number", int, float)
_COUNTS = (*_FATES.values(), "not_asked")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
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

    def told(self, cell: Cell, example: int, score: float) -> dict[str, Any]:
        """Say what is known of one example: its score, or why it has none; and the reason given."""
        start = cell.start + example * self.layout.repeats
        units = range(start, start + self.layout.repeats)
        records = [record for unit in units if (record := self.reader.record(unit))]
        failed = next((record for record in records if record["outcome"] == "failed"), None)
        is_scored = not math.isnan(score)
        return {
            "line": self.layout.split(cell.split).lines[example],
            "score": score if is_scored else None,
            "kind": failed["kind"] if failed and not is_scored else None,
            "message": failed["message"] if failed and not is_scored else None,
            "reason": reason_of_lowest(records),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """What became of one pair of cells."""

    cells: PairedCells
    comparison: Comparison
    low: Comparison | None
    told: Mapping[str, Any]


def compared(a: StoredRun, b: StoredRun, *, force: bool) -> dict[str, Any]:
    """Compare two runs on disk, a before and b after; raises UsageError where they cannot be compared."""
    paired = _with_copies_joined(pair(a, b, force=force), b)
    with ExitStack() as stack:
        sides = [_Side(layout=run.layout, reader=stack.enter_context(run.reader())) for run in (a, b)]
        pairs = list(paired.cells(a, b))
        may_flip = len(pairs) <= MOST_FLIPPED_PAIRS
        found = [_compare(sides[0], sides[1], cells, may_flip=may_flip) for cells in pairs]
    rows = _rows(paired, found, b.layout)
    names = [split.name for split in paired.splits]
    deciding = b.layout.deciding if b.layout.deciding in names else names[0]
    caveats = [*paired.caveats, *_same_texts(a, b, paired, rows)]
    return {
        "schema": SCHEMA,
        "a": _about(a),
        "b": _about(b),
        "decided_on": deciding,
        "verdict": judge(rows, deciding),
        "rows": rows,
        "only_in_a": paired.only_in_a,
        "only_in_b": paired.only_in_b,
        "caveats": caveats,
    }


def _with_copies_joined(paired: Paired, b: StoredRun) -> Paired:
    """Let equal lines count together, as in a run's own summary."""
    splits = []
    for split in paired.splits:
        digests = b.layout.split(split.name).sha256
        splits.append(replace(split, clusters=joined([digests[place] for place in split.b], split.clusters)))
    return replace(paired, splits=tuple(splits))


def _about(run: StoredRun) -> dict[str, Any]:
    return {
        "run": str(run.folder),
        "plan": run.manifest["plan"],
        "created_at": run.manifest.get("created_at"),
        "owed": run.owed,
        "changed": sorted(run.ledger.changed),
    }


def _same_texts(
    a: StoredRun, b: StoredRun, paired: Paired, rows: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Name candidates that are the same bytes in both runs and were scored differently."""
    texts = [{one["name"]: one.get("sha256") for one in run.manifest["candidates"]} for run in (a, b)]
    moved = {row["candidate"] for row in rows if row["ties"] < row["n_pairs"]}
    for before, after in paired.candidates:
        if after in moved and texts[0][before] and texts[0][before] == texts[1][after]:
            yield f"{after} is the same text in both runs: what differs is not its doing"


def _compare(a: _Side, b: _Side, cells: PairedCells, *, may_flip: bool) -> _Compared:
    scores = a.scores(cells.a), b.scores(cells.b)
    means = _at(scores[0].means, cells.examples.a), _at(scores[1].means, cells.examples.b)

    def against(before: Values, after: Values) -> Comparison:
        clusters = cells.examples.clusters
        return _settled(compare(before, after, clusters, seed=b.layout.seed, may_flip=may_flip))

    comparison = against(*means)
    lows = _lows(scores, a.layout.score_range(cells.a.evaluator), b.layout.score_range(cells.b.evaluator))
    low = lows and against(_at(lows[0], cells.examples.a), _at(lows[1], cells.examples.b))
    return _Compared(
        cells=cells,
        comparison=comparison,
        low=low,
        told={
            "means": {"a": _mean(means[0], means), "b": _mean(means[1], means)},
            "improved": comparison.difference.wins,
            "regressed": comparison.difference.losses,
            "unchanged": comparison.difference.ties,
            **_counts(scores, cells.examples),
            "newly_failing_in_part": _newly_failing_in_part(scores, cells.examples),
            "failed_calls": {
                "a": sum(_at(scores[0].failed_calls, cells.examples.a)),
                "b": sum(_at(scores[1].failed_calls, cells.examples.b)),
            },
            "worst": [
                {
                    "split": cells.examples.name,
                    "a": a.told(cells.a, cells.examples.a[place], means[0][place]),
                    "b": b.told(cells.b, cells.examples.b[place], means[1][place]),
                }
                for place in _worst(means, scores[1].failed_calls, cells.examples)
            ],
        },
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


def _counts(scores: tuple[Scores, Scores], examples: PairedSplit) -> dict[str, int]:
    """Count the examples that are not compared, by what became of them."""
    fates = Counter(
        (_fate(scores[0], one), _fate(scores[1], other))
        for one, other in zip(examples.a, examples.b, strict=True)
    )
    del fates["scored", "scored"]
    counted = dict.fromkeys(_COUNTS, 0)
    for fate, many in fates.items():
        counted[_FATES.get(fate, "not_asked")] += many
    return counted


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
    return "failing" if scores.failed_calls[example] else "owed or skipped"


def _worst(means: tuple[Values, Values], failed: Sequence[int], examples: PairedSplit) -> list[int]:
    """Find the worst regressions: first what fails now, the best first; then what lost most."""
    lost = (
        ((0, -before, place) if math.isnan(after) else (1, after - before, place))
        for place, (before, after) in enumerate(zip(*means, strict=True))
        if after < before or (before == before and math.isnan(after) and failed[examples.b[place]])  # noqa: PLR0124
    )
    return [place for *_, place in heapq.nsmallest(_WORST_SHOWN, lost)]


def _rows(paired: Paired, found: Sequence[_Compared], layout: Layout) -> list[dict[str, Any]]:
    """Correct the p values of each split's comparisons together, and put everything into rows."""
    rows: dict[int, dict[str, Any]] = {}
    for split in paired.splits:
        places = [place for place, one in enumerate(found) if one.cells.examples is split]
        comparisons = corrected([found[place].comparison for place in places])
        low = iter(corrected([low for place in places if (low := found[place].low)]))
        for place, comparison in zip(places, comparisons, strict=True):
            rows[place] = _row(found[place], comparison, next(low) if found[place].low else None, layout)
    return [rows[place] for place in sorted(rows)]


def _row(found: _Compared, comparison: Comparison, low: Comparison | None, layout: Layout) -> dict[str, Any]:
    cell = found.cells.b
    margin = layout.margins.get(cell.evaluator), layout.score_range(cell.evaluator)
    row = {
        "evaluator": cell.evaluator,
        "candidate": cell.candidate,
        "candidate_in_a": found.cells.a.candidate,
        "task_model": cell.task_model,
        "split": cell.split,
        **to_dict(score_difference(comparison)),
        "margin": _margin(comparison, *margin),
        **found.told,
        "at_lower_bound": low and to_dict(score_difference(low)) | {"margin": _margin(low, *margin)},
    }
    return row | {"is_regression": is_regression(row)}


def _margin(comparison: Comparison, margin: float | None, score_range: ScoreRange) -> dict[str, Any] | None:
    found = margin_of(comparison.difference, margin, score_range)
    return to_dict(found) if found else None
