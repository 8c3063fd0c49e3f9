"""What a reader must know before believing a verdict: failures, coverage, copies, leakage, clusters, keys."""

from collections.abc import Iterator

from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.claims.duplicates import FEWEST_COPIES
from optimize_eval.findings.replies import doubts
from optimize_eval.findings.rows import about_rules, evaluator_label, is_primary
from optimize_eval.findings.shapes.leakage import RECORDED
from optimize_eval.findings.shapes.measured import MeasuredCell
from optimize_eval.findings.shapes.row import Row, SplitScores
from optimize_eval.findings.shapes.side_info import SideInfoEntry
from optimize_eval.findings.shapes.summary import Point, Summary
from optimize_eval.findings.summary.doubts import alike, front, lopsided, noise, power
from optimize_eval.findings.wording import count, number, percent
from optimize_eval.store.layout import Layout

NOTABLE_FAILURES = 0.01
FEWEST_CLUSTERS = 20

_MOST_NAMED = 5
_SHOWN_ERROR = 80


def caveats(summary: Summary, layout: Layout) -> Iterator[Point]:
    """List them, the most telling first."""
    for text in [
        *_failures(summary, layout),
        *_doubtful(summary, layout),
        *doubts(summary),
        *_coverage(summary, layout),
        *_rules(summary, layout),
        *alike(summary, layout),
        *_leakage(summary),
        *_copies(summary, layout),
        *_pairs(summary),
        *_clusters(summary, layout),
        *lopsided(summary, layout),
        *_keys(summary, layout),
    ]:
        yield Point(mark="!", text=text)
    for text in [*front(summary, layout), *noise(summary, layout), *power(summary, layout)]:
        yield Point(mark="·", text=text)


def _failures(summary: Summary, layout: Layout) -> Iterator[str]:
    """Name each candidate that an evaluator failed on in more than one call of a hundred."""
    told = 0
    for row in summary.rows:
        calls = sum(s.scored + s.failed for s in row.splits.values())
        failed = sum(s.failed for s in row.splits.values())
        if all(s.failed <= NOTABLE_FAILURES * (s.scored + s.failed) for s in row.splits.values()):
            continue
        told += 1
        if told <= _MOST_NAMED:
            yield _failure(row, failed, calls, layout)
    if told > _MOST_NAMED:
        yield f"{count(told - _MOST_NAMED, 'more row')} had failures above {percent(NOTABLE_FAILURES)}"


def _doubtful(summary: Summary, layout: Layout) -> Iterator[str]:
    """Name each evaluator that reported errors beside its scores, or gave no score but 0."""
    for evaluator in layout.evaluators:
        entries = (entry for entry in summary.side_info if entry.where.evaluator == evaluator)
        errors = [entry.errors for entry in entries if entry.errors]
        splits = [s for r in summary.rows if r.evaluator == evaluator for s in r.splits.values()]
        scored = sum(s.scored for s in splits)
        if errors:
            with_error = sum(one.n for one in errors)
            first = errors[0].first[:_SHOWN_ERROR]
            yield f"{evaluator}: {with_error:,} of {scored:,} scored replies carry error: {first}"
        if scored > 1 and all(_is_zero(s) for s in splits if s.scored):
            yield f"{evaluator}: all {scored:,} scores are 0; check that it works"


def _is_zero(s: SplitScores) -> bool:
    return s.mean == 0 and not s.between_sd and not s.within_sd


def _failure(row: Row, failed: int, calls: int, layout: Layout) -> str:
    kinds: dict[str, int] = {}
    for s in row.splits.values():
        for kind, many in s.failures.items():
            kinds[kind] = kinds.get(kind, 0) + many
    main = max(kinds, key=lambda kind: kinds[kind])
    label = evaluator_label(row.evaluator, row.task_model)
    told = (
        f"{row.candidate}: {failed:,} of {calls:,} {label} calls failed "
        f"({percent(failed / calls)}, {'mostly ' * (len(kinds) > 1)}{main}), left out of every mean"
    )
    deciding = row.splits.get(layout.deciding)
    if deciding is not None and deciding.failed and deciding.bounds is not None:
        return f"{told}; counted as 0 its {layout.deciding} mean would be {number(deciding.bounds[0])}"
    return told


def _coverage(summary: Summary, layout: Layout) -> Iterator[str]:
    for evaluator in layout.evaluators:
        known = [
            (s.coverage, _named(row, layout))
            for row in summary.rows
            if row.evaluator == evaluator
            and (s := row.splits.get(layout.deciding))
            and s.coverage is not None
        ]
        if known and min(known)[0] < max(known)[0] and len(layout.candidates) > 1:
            (low, who), (high, _) = min(known), max(known)
            least = "less than 100 %" if percent(low) == percent(high) else percent(low)
            rule = "a winner must still win with its failures as 0 and the baseline's as 1"
            if layout.score_range(evaluator) is not ScoreRange.UNIT:
                rule = "and no score is the worst, so no winner can be named"
            yield (
                f"coverage differs on {evaluator}, {layout.deciding}: from {least} ({who}) to "
                f"{percent(high)}; {rule}"
            )


def _rules(summary: Summary, layout: Layout) -> Iterator[str]:
    """Name the candidates that rules may favour: they leave out other rows, or look at scores or replies."""
    for row in summary.rows:
        d = row.against_baseline(layout.deciding) if is_primary(row, layout) else None
        if d and d.over_all_rows:
            yield about_rules(row.candidate, layout.baseline, d)


def _pairs(summary: Summary) -> Iterator[str]:
    if left_out := summary.pairs_left_out:
        yield f"candidates are compared with the baseline only: {left_out:,} pairs are too many"


def _leakage(summary: Summary) -> Iterator[str]:
    """Say what leaked; of a run that was not looked at only how much, as its numbers are of all."""
    for split, leakage in summary.leakage.items():
        if leakage.state != RECORDED:
            yield leakage.point(split)
    if leaked := sum(len(one.rows) for one in summary.leakage.values() if one.state == RECORDED):
        where = (
            "among the train or val examples"
            if "test" in summary.rows[0].splits
            else "among the train examples"
        )
        are = "are" if leaked != 1 else "is"
        yield f"leakage: {count(leaked, 'held-out example')} {are} {where}, too: nothing new is learnt there"


def _copies(summary: Summary, layout: Layout) -> Iterator[str]:
    for split in layout.splits:
        copies, lines = summary.duplicates.get(split.name, 0), len(split.lines)
        if copies:
            told = f"{copies:,} of {lines:,} {split.name} examples are copies of earlier lines"
            distinct = count(summary.clusters.get(split.name, lines), "independent unit")
            yield f"{told}; they count together, as {distinct}" if copies > FEWEST_COPIES * lines else told


def _clusters(summary: Summary, layout: Layout) -> Iterator[str]:
    for split in layout.splits:
        if split.clusters and (many := summary.clusters[split.name]) < FEWEST_CLUSTERS:
            yield (
                f"{split.name} has only {count(many, 'cluster')} by {layout.cluster_by}: these count, not "
                f"{count(len(split.lines), 'line')}, and below {FEWEST_CLUSTERS} intervals are rough"
            )


def _keys(summary: Summary, layout: Layout) -> Iterator[str]:
    """Point out side information that some candidates or splits have and others never."""
    for evaluator in layout.evaluators:
        entries = list(_scored_entries(summary, evaluator))
        if any(entry.values_left_out for entry in entries):
            continue  # what was left out may have been there
        keys = [set(entry.keys) for entry in entries]
        everywhere = set.intersection(*keys) if keys else set()
        if differing := sorted(set().union(*keys) - everywhere):
            key = differing[0]
            has = next(entry.where for entry in entries if key in entry.keys)
            lacks = next(entry.where for entry in entries if key not in entry.keys)
            more = f" (and {count(len(differing) - 1, 'more key')})" if len(differing) > 1 else ""
            yield (
                f"side info of {evaluator}: {key} is there for {_named(has, layout)} on {has.split}, "
                f"never for {_named(lacks, layout)} on {lacks.split}{more}"
            )


def _named(of: Row | MeasuredCell, layout: Layout) -> str:
    """Name a candidate, with its task model where there are several: they differ in what is said of it."""
    return evaluator_label(of.candidate, of.task_model) if len(layout.task_models) > 1 else of.candidate


def _scored_entries(summary: Summary, evaluator: str) -> Iterator[SideInfoEntry]:
    """Give the side information of cells that have scores."""
    rows = [row for row in summary.rows if row.evaluator == evaluator]
    scored = {(r.candidate, r.task_model, name) for r in rows for name, s in r.splits.items() if s.scored}
    for entry in summary.side_info:
        where = entry.where
        if where.evaluator == evaluator and (where.candidate, where.task_model, where.split) in scored:
            yield entry
