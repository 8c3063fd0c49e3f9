"""What was tried on the examples that decide, in words; and what a session writes down of what it shows."""

from collections.abc import Iterator, Mapping
from typing import Any

from optimize_eval.findings.claims.tried import MOST_STEPS, is_steered, settings_of
from optimize_eval.findings.shapes.summary import Point, Summary, TriedCandidates
from optimize_eval.findings.wording import count
from optimize_eval.store.layout import Layout
from optimize_eval.store.stored import StoredRun
from optimize_eval.store.tried import SEVERAL, Examples, Family, History, rows_of

_UNDECIDED = frozenset({None, "too_few", "failed", "single"})
_CALLED = {"evaluator": "the first evaluator", "margin": "the margin"}


def steered(tried: TriedCandidates) -> str:
    """Say why there is no verdict."""
    return (
        f"{count(tried.steps, 'version')} were made after these results were seen: the numbers stand, a "
        "verdict needs fresh examples (--testset, or new rows)"
    )


def points_about_tried(summary: Summary, state: str | None) -> Iterator[Point]:
    """Say what a verdict is corrected for besides what the command names, and what changed after results."""
    tried = summary.tried
    if tried is None or state in {None, "failed"}:
        return
    if tried.named and tried.k > (1 if tried.confirmed else tried.named):
        yield Point(mark="·", text=_corrected(tried))
    strictly = ": decided more strictly" if tried.comparisons > tried.k else ""
    if tried.look > 1 and tried.named:
        yield Point(mark="!", text=f"look {tried.look} at growing data{strictly}")
    if tried.steps and not is_steered(tried):
        was = "was" if tried.steps == 1 else "were"
        told = f"{count(tried.steps, 'version')} {was} made after these results were seen{strictly}"
        mark = "!" if strictly else "·"
        yield Point(mark=mark, text=f"{told}; after more than {MOST_STEPS} there is no verdict")
    for one in tried.changed:
        what = _CALLED.get(one.setting, one.setting)
        yield Point(mark="!", text=f"{what} was {one.was} when results were shown, until {one.until}")
    for other in tried.beside:
        text = (
            f"{other.run} scored {count(other.candidates, 'other candidate')} on these examples: not counted"
        )
        yield Point(mark="·", text=text)


def _corrected(tried: TriedCandidates) -> str:
    corrected = f"corrected for {tried.comparisons:,}"
    if tried.confirmed:
        return f"{count(tried.k, 'winner')} were held against these examples; {corrected}"
    if tried.baselines > 1:
        many = 1 + tried.named + tried.versions
        return (
            f"the baseline changed after results were shown: the {count(many, 'candidate')} that were tried "
            f"on these examples make {tried.k:,} ordered pairs; {corrected}"
        )
    return f"{count(tried.k, 'candidate')} were tried on these examples; {corrected}"


def shown_by(run: StoredRun, summary: Summary) -> Iterator[Mapping[str, Any]]:
    """Give what a session is about to show, where it shows several candidates, for the journal."""
    if summary.tried is None:
        return
    layout, history = run.layout, History(run=run)
    names = {layout.deciding, *({"test"} & {split.name for split in layout.splits})}
    for split in sorted(names):
        note = _shown(run, history, layout, split, summary)
        if note:
            yield note


def _shown(
    run: StoredRun, history: History, layout: Layout, split: str, summary: Summary
) -> Mapping[str, Any] | None:
    where = Family(layout.evaluators[0], layout.task_models[0], split)
    examples = Examples.of(layout.split(split))
    tried = history.tried(where, examples)
    if len(tried.candidates) < SEVERAL:
        return None
    decides = summary.tried is not None and summary.tried.split == split
    is_decided = decides and summary.verdict.state not in _UNDECIDED
    winner = _held_against_test(summary) if decides and split != layout.deciding else None
    return {
        **dict(zip(("evaluator", "task_model", "split"), history.about(where), strict=True)),
        "candidates": len(tried.candidates),
        "baseline": history.digests[layout.baseline] if len(layout.candidates) > 1 else None,
        "confirmed": winner and history.digests[winner],
        "decided": rows_of(examples.lines) if is_decided else None,
        "settings": settings_of(run, layout),
    }


def _held_against_test(summary: Summary) -> str:
    """Name the winner on val, be it shown on test or not."""
    if summary.selection:
        return summary.selection.candidate
    return next(row.candidate for row in summary.rows if row.candidate != summary.baseline)
