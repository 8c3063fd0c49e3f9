"""Two runs against each other, from their journals: for each cell of both a row, and what only one has.

How two cells compare is cells', what the numbers are called in words verdict's.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.claims.duplicates import joined
from optimize_eval.findings.claims.held import Held, corrected_held
from optimize_eval.findings.diff.cells import ComparedCells, OpenRun, compare_cells
from optimize_eval.findings.diff.leaks import without_leaks
from optimize_eval.findings.diff.metrics import Names, metrics_between
from optimize_eval.findings.diff.regressions import REGRESSIONS
from optimize_eval.findings.diff.shapes import (
    RUNS_SCHEMA,
    ForGates,
    LowerDifference,
    RowDiff,
    RunDiff,
    RunOfDiff,
)
from optimize_eval.findings.diff.tried import BothTried, both_tried
from optimize_eval.findings.diff.verdict import judge
from optimize_eval.findings.metrics import counts_as
from optimize_eval.findings.shaping import held_difference, margin_of, score_difference
from optimize_eval.findings.summary.compare import (
    MOST_FLIPPED_PAIRS,
    NO_OTHERS,
    AlsoTried,
    Comparison,
    corrected,
)
from optimize_eval.store.beside import Paired, pair_runs
from optimize_eval.store.stored import StoredRun


@frozen
class CorrectedCells:
    """The comparisons of one pair of cells, with corrected p values."""

    held: Held
    low: Comparison | None


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
            compare_cells(sides[0], sides[1], one, may_flip=may_flip, comparisons=many[one.examples.name])
            for one in pairs
        ]
    rows = _rows(cells, tried)
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


def _rows(cells: Sequence[ComparedCells], tried: BothTried) -> list[RowDiff]:
    """Correct the p values of each split's comparisons together, and put everything into rows."""
    rows: dict[int, RowDiff] = {}
    for split in tried.rows:
        places = [place for place, one in enumerate(cells) if one.cells.examples.name == split]
        together = [cells[place] for place in places]
        rows.update(zip(places, _rows_of(together, tried.also(split)), strict=True))
    return [rows[place] for place in sorted(rows)]


def _rows_of(cells: Sequence[ComparedCells], also: AlsoTried) -> Iterator[RowDiff]:
    plain, claimed = (_compared(cells, one) for one in (NO_OTHERS, also))
    for both, numbers, corrected_too in zip(cells, plain, claimed, strict=True):
        row = _row(both, corrected_too)
        row = row if also == NO_OTHERS else replace(row, for_gates=_for_gates(numbers))
        yield replace(row, is_regression=row.as_gates_see_it.standing in REGRESSIONS)


def _compared(cells: Sequence[ComparedCells], also: AlsoTried) -> list[CorrectedCells]:
    """Correct each kind of comparison by itself."""

    def correct(found: Mapping[int, Comparison]) -> dict[int, Comparison]:
        return dict(zip(found, corrected(list(found.values()), also), strict=True))

    held = corrected_held(dict(enumerate(one.held for one in cells)), correct)
    lows = correct({n: one.low for n, one in enumerate(cells) if one.low})
    return [CorrectedCells(held=held[n], low=lows.get(n)) for n in range(len(cells))]


def _for_gates(plain: CorrectedCells) -> ForGates:
    one, low = plain.held.comparison, plain.low
    return ForGates(
        comparisons=one.comparisons,
        p_holm=one.p_holm,
        mark=one.mark,
        p_holm_at_lower_bound=low.p_holm if low else None,
        mark_at_lower_bound=low.mark if low else None,
    )


def _row(both: ComparedCells, found: CorrectedCells) -> RowDiff:
    low = found.low
    cell, counts = both.cells.b, both.counts
    return RowDiff(
        evaluator=cell.evaluator,
        candidate=cell.candidate,
        candidate_in_a=both.cells.a.candidate,
        task_model=cell.task_model,
        split=cell.split,
        difference=held_difference(found.held),
        margin=margin_of(found.held.comparison),
        means=both.means,
        improved=both.held.comparison.difference.wins,
        regressed=both.held.comparison.difference.losses,
        unchanged=both.held.comparison.difference.ties,
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
