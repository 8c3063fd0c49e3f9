"""The gate on regressions: is a run shown to be worse than an earlier one, or shown to be no worse.

Without a margin it is missed where a one-sided test at 5 % shows a loss; with one it is met where the loss
is shown to stay below the margin. Units are examples or clusters. What they cannot decide is missed.
"""

from collections.abc import Collection, Iterator
from itertools import product
from pathlib import Path

from optimize_eval.base.errors import UsageError
from optimize_eval.findings.claims.duplicates import joined
from optimize_eval.findings.diff.regressions import Evidence, Standing, is_shown_lower, standing
from optimize_eval.findings.diff.shapes import RowDiff, RunDiff
from optimize_eval.findings.diff.verdict import sentence
from optimize_eval.findings.shapes.difference import Margin, ScoreDifference
from optimize_eval.findings.shapes.leakage import Leakage
from optimize_eval.findings.summary.compare import WORSE
from optimize_eval.findings.summary.gates import Gate
from optimize_eval.findings.wording import count, interval90, number, signed
from optimize_eval.statistics.bounds import MOST_UNITS, units_needed
from optimize_eval.statistics.power import ALPHA, can_decide, fewest_units
from optimize_eval.store.beside import TextOfModel
from optimize_eval.store.layout import Layout

_FEWEST_WITH_MARGIN = 2
_AS_BEFORE = " (worse as gates see it: they correct for nothing that was tried)"
ONE_SIDED = 2 * ALPHA  # of two-sided tests


def regression_gates(
    diff: RunDiff, added: Collection[str], same: Collection[TextOfModel] = ()
) -> Iterator[Gate]:
    """Hold a comparison with an earlier run against the demand that nothing is worse where it counts.

    What that run measured and this one did not may be worse; `added` are evaluators that rescore gave it,
    and `same` is what has the same bytes in both.
    """
    before = diff.a
    for what, name in _measured_before(diff, added):
        text = f"against {before.run}: {what} {name} was called there and not here"
        yield Gate(name=f"no-regression {what} {name}", is_met=False, text=text)
    if before.owed:
        text = f"{before.run} is not complete: {count(before.owed, 'call')} owed"
        yield Gate(name="complete before", is_met=False, text=text)
    if before.changed:
        names = ", ".join(before.changed)
        what = "its scores there are not of one program"
        text = f"{names} changed while being called in {before.run}: {what}"
        yield Gate(name="unchanged before", is_met=False, text=text)
    for row in (row for row in diff.rows if row.split == diff.decided_on):
        plain = row.as_gates_see_it
        if (row.candidate, row.task_model) in same and _is_unchanged(plain):
            is_met, why = True, ", of the same bytes"
        else:
            is_met, why = judged(plain.evidence)
            why = why or ("" if is_met or row.standing is plain.standing else _AS_BEFORE)
        yield Gate(
            name=f"no-regression {_where(row)}, {row.split}",
            is_met=is_met,
            text=f"against {before.run}: {sentence(row, has_others=True)}{why}",
        )


def nothing_to_compare(before: Path, split: str, leakage: Leakage) -> Gate:
    """Miss the demand where the split that it is about has leaked."""
    text = f"against {before}: without enough data: {leakage.not_held_out(split)}"
    return Gate(name=f"no-regression {split}", is_met=False, text=text)


def _measured_before(diff: RunDiff, added: Collection[str]) -> Iterator[tuple[str, str]]:
    """List what only the earlier run has, with what it is."""
    only = diff.only_in_a
    renamed = {row.candidate_in_a: None for row in diff.rows if row.candidate_in_a != row.candidate}
    axes = (
        ("evaluator", only.evaluators),
        ("candidate", (*renamed, *only.candidates)),
        ("task model", only.task_models),
        ("split", only.splits),
    )
    for what, names in axes:
        yield from ((what, name or "none") for name in names if name not in added)


def _is_unchanged(row: RowDiff) -> bool:
    """Return True if each example that had a score has that again, and nothing else became of any."""
    return row.standing is Standing.SAME and not row.evidence.fails_more and not row.newly_skipped


def check_can_decide(before: Layout, layout: Layout, same: Collection[TextOfModel] = ()) -> None:
    """Refuse, before anything is called, a gate that so few examples could never be held against.

    What has the `same` bytes in both needs no number of them: equal scores meet the gate.
    """
    if all(pair in same for pair in product(layout.candidates, layout.task_models) if _is_in(before, *pair)):
        return
    split = layout.split(layout.deciding)
    clusters = joined(split.contents, split.clusters)
    units = len(set(clusters)) if clusters else len(split.lines)
    comparisons = _in_common(before, layout)
    has_margins = all(name in layout.margins for name in layout.evaluators if name in before.evaluators)
    fewest = _FEWEST_WITH_MARGIN if has_margins else fewest_units(comparisons, ONE_SIDED)
    if units < fewest:
        what = "cluster" if clusters else "example"
        among = f" for {comparisons:,} comparisons" if comparisons > 1 and not has_margins else ""
        raise UsageError(
            f"--no-regression-against cannot be decided on {count(units, f'{split.name} {what}')}: "
            f"it takes at least {fewest}{among}; nothing was called",
            hint="add examples" if has_margins else "add examples, or say with --margin which loss is small",
        )


def _is_in(layout: Layout, candidate: str, model: str | None) -> bool:
    return candidate in layout.candidates and model in layout.task_models


def _in_common(a: Layout, b: Layout) -> int:
    """Count the comparisons that two runs give on a split."""
    evaluators = len(set(a.evaluators) & set(b.evaluators))
    models = len(set(a.task_models) & set(b.task_models))
    return max(1, evaluators * models * max(1, len(set(a.candidates) & set(b.candidates))))


def judged(evidence: Evidence) -> tuple[bool, str]:
    """Return whether the gate is met, and what has to be said besides the comparison."""
    d = evidence.difference
    if not d.n_pairs:
        return False, ""
    if evidence.margin is not None:
        return _judged_by_margin(evidence, evidence.margin)
    if is_shown_lower(evidence):
        return False, "" if d.mark == WORSE else " (lower by a one-sided test at 5 %)"
    if not can_decide(d.units, d.comparisons, ONE_SIDED):
        fewest = fewest_units(d.comparisons, ONE_SIDED)
        return False, f"; {count(d.units, 'unit')} cannot decide, it takes at least {fewest}"
    return True, ""


def _judged_by_margin(evidence: Evidence, margin: Margin) -> tuple[bool, str]:
    low = evidence.low_margin
    amount = f"{signed(evidence.difference.diff)}, {interval90(margin)}"
    bound = f"{number(margin.margin)} ({amount})"
    if standing(evidence) is Standing.FAILS_UNBOUNDED:
        return False, ""
    if not margin.no_worse:
        return False, f"; not shown to be no worse than {bound}{_units_it_takes(evidence.difference, margin)}"
    if low is not None and not low.no_worse:
        return False, f"; no worse than {bound}, but not when failures count as 0"
    return True, f"; no worse than {bound}"


def _units_it_takes(d: ScoreDifference, margin: Margin) -> str:
    """Say how many examples would show it, if all are like those that there are."""
    what = "example" if d.units == d.n_pairs else "cluster"
    needed = units_needed(d, margin.method, margin.ci90[0], margin.margin)
    if needed is None:
        return f"; no number of {what}s like these would show it"
    about = "more than" if needed == MOST_UNITS else "about"
    return f"; it would take {about} {count(needed, what)} like these"


def _where(row: RowDiff) -> str:
    model = f" with {row.task_model}" if row.task_model else ""
    return f"{row.evaluator} on {row.candidate}{model}"
