"""The gate on regressions: is a run shown to be worse than an earlier one, or shown to be no worse.

Without a margin it is missed where a one-sided test at 5 % shows a loss; with one it is met where the loss
is shown to stay below the margin. Units are examples or clusters. What they cannot decide is missed.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from optimize_eval.errors import UsageError
from optimize_eval.findings.claims.duplicates import joined
from optimize_eval.findings.diff.regressions import FAILS_UNBOUNDED, is_shown_lower, standing
from optimize_eval.findings.diff.verdict import sentence
from optimize_eval.findings.summary.gates import Gate
from optimize_eval.findings.wording import count, interval, number, signed
from optimize_eval.statistics.families import ALPHA, can_decide, fewest_units
from optimize_eval.store.layout import Layout

_MEASURED = {"evaluators": "evaluator", "task_models": "task model", "splits": "split"}
_FEWEST_WITH_MARGIN = 2
ONE_SIDED = 2 * ALPHA  # of two-sided tests


def regression_gates(found: Mapping[str, Any], added: Collection[str]) -> Iterator[Gate]:
    """Hold a comparison with an earlier run against the demand that nothing is worse where it counts.

    What that run measured and this one did not may be worse; `added` are evaluators that rescore gave it.
    """
    before = found["a"]
    for axis, what in _MEASURED.items():
        for name in (name for name in found["only_in_a"][axis] if name not in added):
            text = f"against {before['run']}: {what} {name or 'none'} was called there and not here"
            yield Gate(name=f"no-regression {what} {name or 'none'}", is_met=False, text=text)
    if before["owed"]:
        text = f"{before['run']} is not complete: {count(before['owed'], 'call')} owed"
        yield Gate(name="complete before", is_met=False, text=text)
    if before["changed"]:
        names = ", ".join(before["changed"])
        what = "its scores there are not of one program"
        text = f"{names} changed while being called in {before['run']}: {what}"
        yield Gate(name="unchanged before", is_met=False, text=text)
    for row in (row for row in found["rows"] if row["split"] == found["decided_on"]):
        is_met, why = judged(row)
        yield Gate(
            name=f"no-regression {_where(row)}, {row['split']}",
            is_met=is_met,
            text=f"against {before['run']}: {sentence(row, has_others=True)}{why}",
        )


def check_can_decide(before: Layout, layout: Layout) -> None:
    """Refuse, before anything is called, a gate that so few examples could never be held against."""
    split = layout.split(layout.deciding)
    clusters = joined(split.sha256, split.clusters)
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


def _in_common(a: Layout, b: Layout) -> int:
    """Count the comparisons that two runs give on a split."""
    evaluators = len(set(a.evaluators) & set(b.evaluators))
    models = len(set(a.task_models) & set(b.task_models))
    return max(1, evaluators * models * max(1, len(set(a.candidates) & set(b.candidates))))


def judged(row: Mapping[str, Any]) -> tuple[bool, str]:
    """Return whether the gate is met, and what has to be said besides the comparison."""
    if not row["n_pairs"]:
        return False, ""
    if row["margin"] is not None:
        return _judged_by_margin(row)
    if is_shown_lower(row):
        return False, "" if row["mark"] == "worse" else " (lower by a one-sided test at 5 %)"
    if not can_decide(row["units"], row["comparisons"], ONE_SIDED):
        fewest = fewest_units(row["comparisons"], ONE_SIDED)
        return False, f"; {count(row['units'], 'unit')} cannot decide, it takes at least {fewest}"
    return True, ""


def _judged_by_margin(row: Mapping[str, Any]) -> tuple[bool, str]:
    margin, low = row["margin"], row["at_lower_bound"]
    told = f"{number(margin['margin'])} ({signed(row['diff'])}, 90 % CI {interval(margin['ci90'])})"
    if standing(row) == FAILS_UNBOUNDED:
        return False, ""
    if not margin["no_worse"]:
        return False, f"; not shown to be no worse than {told}"
    if low is not None and low["margin"] is not None and not low["margin"]["no_worse"]:
        return False, f"; no worse than {told}, but not when failures count as 0"
    return True, f"; no worse than {told}"


def _where(row: Mapping[str, Any]) -> str:
    model = f" with {row['task_model']}" if row["task_model"] else ""
    return f"{row['evaluator']} on {row['candidate']}{model}"
