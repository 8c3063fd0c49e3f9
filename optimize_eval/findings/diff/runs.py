"""Two runs against each other, from their journals: for each cell of both a row, and what only one has.

How two cells compare is cells', what the numbers are called in words verdict's.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

from optimize_eval.findings.claims.duplicates import joined
from optimize_eval.findings.diff.cells import ComparedCells, OpenRun, compare_cells
from optimize_eval.findings.diff.leaks import without_leaks
from optimize_eval.findings.diff.metrics import Names, metrics_between
from optimize_eval.findings.diff.regressions import REGRESSIONS
from optimize_eval.findings.diff.shapes import RUNS_SCHEMA, LowerDifference, RowDiff, RunDiff, RunOfDiff
from optimize_eval.findings.diff.verdict import judge
from optimize_eval.findings.metrics import counts_as
from optimize_eval.findings.shaping import margin_of, score_difference
from optimize_eval.findings.summary.compare import MOST_FLIPPED_PAIRS, Comparison, corrected
from optimize_eval.store.paired import Paired, pair
from optimize_eval.store.stored import StoredRun


def compare_runs(a: StoredRun, b: StoredRun, *, force: bool) -> RunDiff:
    """Compare two runs on disk, a before and b after; raises UsageError where they cannot be compared."""
    a, b, leaks = without_leaks(a, b)
    paired = _with_copies_joined(pair(a, b, force=force), b)
    with ExitStack() as stack:
        sides = [
            OpenRun(layout=run.layout, reader=stack.enter_context(run.reader(counts_as(run))))
            for run in (a, b)
        ]
        pairs = list(paired.cells(a, b))
        may_flip = len(pairs) <= MOST_FLIPPED_PAIRS
        cells = [compare_cells(sides[0], sides[1], both, may_flip=may_flip) for both in pairs]
    rows = _rows(paired, cells)
    names = [split.name for split in paired.splits]
    deciding = b.layout.deciding if b.layout.deciding in names else names[0]
    return RunDiff(
        schema=RUNS_SCHEMA,
        a=_about(a),
        b=_about(b),
        decided_on=deciding,
        verdict=judge(rows, deciding),
        rows=tuple(rows),
        only_in_a=paired.only_in_a,
        only_in_b=paired.only_in_b,
        caveats=(*leaks, *paired.caveats, *_same_texts(a, b, paired, rows)),
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
        splits.append(replace(split, clusters=joined([digests[place] for place in split.b], split.clusters)))
    return replace(paired, splits=tuple(splits))


def _about(run: StoredRun) -> RunOfDiff:
    return RunOfDiff(
        run=str(run.folder),
        plan=run.manifest["plan"],
        created_at=run.manifest.get("created_at"),
        owed=run.owed,
        changed=tuple(sorted(run.ledger.changed)),
    )


def _same_texts(a: StoredRun, b: StoredRun, paired: Paired, rows: Sequence[RowDiff]) -> Iterator[str]:
    """Name candidates that are the same bytes in both runs and were scored differently."""
    texts = [{one["name"]: one.get("sha256") for one in run.manifest["candidates"]} for run in (a, b)]
    moved = {row.candidate for row in rows if row.difference.ties < row.difference.n_pairs}
    for before, after in paired.candidates:
        if after in moved and texts[0][before] and texts[0][before] == texts[1][after]:
            yield f"{after} is the same text in both runs: what differs is not its doing"


def _rows(paired: Paired, cells: Sequence[ComparedCells]) -> list[RowDiff]:
    """Correct the p values of each split's comparisons together, and put everything into rows."""
    rows: dict[int, RowDiff] = {}
    for split in paired.splits:
        places = [place for place, one in enumerate(cells) if one.cells.examples is split]
        comparisons = corrected([cells[place].comparison for place in places])
        low = iter(corrected([low for place in places if (low := cells[place].low)]))
        for place, comparison in zip(places, comparisons, strict=True):
            rows[place] = _row(cells[place], comparison, next(low) if cells[place].low else None)
    return [rows[place] for place in sorted(rows)]


def _row(both: ComparedCells, comparison: Comparison, low: Comparison | None) -> RowDiff:
    cell, counts = both.cells.b, both.counts
    row = RowDiff(
        evaluator=cell.evaluator,
        candidate=cell.candidate,
        candidate_in_a=both.cells.a.candidate,
        task_model=cell.task_model,
        split=cell.split,
        difference=score_difference(comparison),
        margin=margin_of(comparison),
        means=both.means,
        improved=both.comparison.difference.wins,
        regressed=both.comparison.difference.losses,
        unchanged=both.comparison.difference.ties,
        fixed=counts.fixed,
        newly_failing=counts.newly_failing,
        failing_in_both=counts.failing_in_both,
        not_asked=counts.not_asked,
        newly_skipped=counts.newly_skipped,
        skipped=counts.skipped,
        newly_failing_in_part=counts.newly_failing_in_part,
        failed_calls=both.failed_calls,
        worst=both.worst,
        at_lower_bound=None
        if low is None
        else LowerDifference(difference=score_difference(low), margin=margin_of(low)),
        is_regression=False,
    )
    return replace(row, is_regression=row.standing in REGRESSIONS)
