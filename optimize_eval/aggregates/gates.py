"""Gates: what a summary has to reach, and for each whether it was met, in one line with its numbers.

Pure: summaries and comparisons in, gates out. What cannot be known is a missed gate, never a met one. How two
runs compare is runs_compared's; what a missed gate does to an exit code is cli's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optimize_eval.aggregates.compare import FEWEST_PAIRS
from optimize_eval.aggregates.diff_verdict import sentence
from optimize_eval.aggregates.wording import count, interval, number, signed
from optimize_eval.errors import UsageError
from optimize_eval.run.layout import Layout

_BOUND_HINT = "write --fail-under EVALUATOR=0.8, or EVALUATOR@CANDIDATE=0.8"
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """One demand, and what became of it."""

    name: str  # fail-under judge on v2, val
    is_met: bool
    text: str  # judge on v2, val: the mean 0.731 is below 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """The lowest mean that an evaluator may give a candidate, or any of them."""

    evaluator: str
    candidate: str | None
    least: float

    def concerns(self, row: Mapping[str, Any]) -> bool:
        return row["evaluator"] == self.evaluator and self.candidate in {None, row["candidate"]}


def parse_bound(text: str, layout: Layout) -> Bound:
    """Read NAME=LEAST or NAME@CANDIDATE=LEAST of a run; names may have = and @ themselves."""
    name, _, said = text.rpartition("=")
    try:
        least = float(said)
    except ValueError:
        least = float("nan")
    if not name or not abs(least) < float("inf"):
        raise UsageError(f"{text!r} names no lowest mean", hint=_BOUND_HINT)
    if name in layout.evaluators:
        return Bound(evaluator=name, candidate=None, least=least)
    for place in (at for at, letter in enumerate(name) if letter == "@"):
        evaluator, candidate = name[:place], name[place + 1 :]
        if evaluator in layout.evaluators and candidate in layout.candidates:
            return Bound(evaluator=evaluator, candidate=candidate, least=least)
    evaluators, candidates = (", ".join(names[:_SHOWN]) for names in (layout.evaluators, layout.candidates))
    raise UsageError(
        f"{name!r} is no evaluator of the run, nor EVALUATOR@CANDIDATE",
        hint=f"its evaluators are {evaluators}; its candidates {candidates}",
    )


def check_gap(layout: Layout) -> None:
    """Refuse a largest gap where there are no two splits to have one."""
    if not {"train", "val"} <= {split.name for split in layout.splits}:
        raise UsageError(
            "--max-gap is between train and val, and the run has not both", hint="give --dataset and --valset"
        )


def gates_of(summary: Mapping[str, Any], bounds: Sequence[Bound], max_gap: float | None) -> Iterator[Gate]:
    """Hold a summary against its bounds and its largest gap."""
    for bound in bounds:
        yield from _fail_under(summary, bound)
    if max_gap is not None:
        yield from (_gap_gate(row, max_gap) for row in summary["rows"])


def regression_gates(found: Mapping[str, Any]) -> Iterator[Gate]:
    """Hold a comparison with an earlier run against the demand that nothing is worse where it counts."""
    before = found["a"]
    if before["owed"]:
        text = f"{before['run']} is not complete: {count(before['owed'], 'call')} owed"
        yield Gate(name="complete before", is_met=False, text=text)
    if "val" in found["only_in_a"]["splits"]:
        text = f"{before['run']} was asked on val and {found['b']['run']} was not: nothing is known of it"
        yield Gate(name="no-regression, val", is_met=False, text=text)
    for row in (row for row in found["rows"] if row["split"] == found["decided_on"]):
        lost = row["regressed"] + row["newly_failing"] + row["newly_failing_in_part"]
        is_open = not row["n_pairs"] or (_is_too_few(row) and lost)  # too few to excuse a loss
        yield Gate(
            name=f"no-regression {_where(row)}, {row['split']}",
            is_met=not row["is_regression"] and not is_open,
            text=f"against {before['run']}: {sentence(row, has_others=True)}",
        )


def _is_too_few(row: Mapping[str, Any]) -> bool:
    """Tell whether nothing can be said of a loss: few pairs, or pairs that do not vary each for itself."""
    is_alike = row["se"] is None or (row["se"] == 0 and row["diff"] < 0)
    return is_alike or row["n_pairs"] < FEWEST_PAIRS


def completeness(summary: Mapping[str, Any]) -> Iterator[Gate]:
    """Demand what all other gates rest on: nothing is owed, and evaluators stayed what they were."""
    units, changed = summary["units"], summary["changed"]
    if units["owed"]:
        text = f"the run is not complete: {units['owed']:,} of {count(units['total'], 'call')} are owed"
        yield Gate(name="complete", is_met=False, text=text)
    if changed:
        text = f"{', '.join(changed)} changed while being asked: its scores are not of one program"
        yield Gate(name="unchanged", is_met=False, text=text)


def _fail_under(summary: Mapping[str, Any], bound: Bound) -> Iterator[Gate]:
    split = summary["decided_on"]
    for row in (row for row in summary["rows"] if bound.concerns(row)):
        told = row["splits"][split]
        value, what = _value(told)
        is_met = value is not None and value >= bound.least
        verb = (
            "is at least"
            if is_met
            else "is below"
            if value is not None
            else "cannot be known, so it is below"
        )
        where = f"{_where(row)}, {split}"
        yield Gate(name=f"fail-under {where}", is_met=is_met, text=f"{where}: {what} {verb} {bound.least:g}")


def _value(told: Mapping[str, Any]) -> tuple[float | None, str]:
    """Choose the mean, or where calls failed the lower bound, and say which with its numbers."""
    if not told["failed"] and told["mean"] is not None:
        ci = f" ({interval(told['ci'], number)})" if told["ci"] else ""
        return told["mean"], f"the mean {number(told['mean'])}{ci}"
    asked = told["scored"] + told["failed"]
    bounds = told["bounds"] or [None]
    lower = "the lower bound" if bounds[0] is None else f"the lower bound {number(bounds[0])}"
    return bounds[0], f"{lower} ({told['failed']:,} of {count(asked, 'call')} failed)"


def _gap_gate(row: Mapping[str, Any], most: float) -> Gate:
    where, gap = _where(row), row["gap"]
    if gap is None or gap["value"] is None:
        what = "the gap between train and val cannot be known"
        return Gate(name=f"max-gap {where}", is_met=False, text=f"{where}: {what}")
    is_met = gap["value"] <= most
    ci = f" ({interval(gap['ci'])})" if gap["ci"] else ""
    verb = "is at most" if is_met else "is above"
    text = f"{where}: train minus val {signed(gap['value'])}{ci} {verb} {most:g}"
    return Gate(name=f"max-gap {where}", is_met=is_met, text=text)


def _where(row: Mapping[str, Any]) -> str:
    model = f" with {row['task_model']}" if row["task_model"] else ""
    return f"{row['evaluator']} on {row['candidate']}{model}"
