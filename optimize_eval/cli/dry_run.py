"""`optimize-eval run --dry-run`: what would be asked, how long it might take, and what it could show."""

import math
from pathlib import Path
from typing import Any

from optimize_eval.aggregates.statistics import DETECTABLE
from optimize_eval.cli import output
from optimize_eval.run.ledger import Ledger
from optimize_eval.run.manifest import Manifest, journal_plan, with_additions
from optimize_eval.run.plan import Plan
from optimize_eval.run.stored import read_run

SCHEMA = "optimize-eval.plan.v1"

_USUAL_SPREAD = 0.3  # of paired differences of scores from 0 to 1, where nothing is known yet
_CALL = 0.1  # seconds, for the example of a duration


def show(plan: Plan, folder: Path, *, slots: int, known: Manifest | None, as_json: bool) -> None:
    """Print the plan; reads the journal if the run is begun, writes and asks nothing."""
    told = _plan(plan, folder, slots, _ledger(plan, folder, known))
    if as_json:
        output.emit_json(told)
    else:
        output.emit("\n".join(_lines(plan, told)))


def _ledger(plan: Plan, folder: Path, known: Manifest | None) -> Ledger:
    if known is None:
        return Ledger(plan.layout, plan.digest)
    return read_run(folder, known, with_additions(plan.layout, known), journal_plan(known)).ledger


def _plan(plan: Plan, folder: Path, slots: int, ledger: Ledger) -> dict[str, Any]:
    layout = plan.layout
    calls = len(ledger.owed(range(layout.size)))
    pairs = len(next(split.lines for split in layout.splits if split.name == layout.deciding))
    return {
        "schema": SCHEMA,
        "run": str(folder),
        "plan": plan.digest,
        "candidates": list(layout.candidates),
        "baseline": layout.baseline,
        "evaluators": [identity.to_dict() for identity in plan.identities],
        "task_models": list(layout.task_models),
        "splits": {split.name: len(split.lines) for split in layout.splits},
        "repeats": layout.repeats,
        "calls": layout.size,
        "owed": calls,
        "slots": slots,
        "seconds_at_100_ms_a_call": round(calls * _CALL / slots, 3),
        "decided_on": layout.deciding,
        "smallest_detectable": DETECTABLE * _USUAL_SPREAD / math.sqrt(pairs)
        if pairs > 1 and len(layout.candidates) > 1
        else None,
    }


def _lines(plan: Plan, told: dict[str, Any]) -> list[str]:
    splits = " · ".join(f"{name} {count:,}" for name, count in told["splits"].items())
    known = told["calls"] - told["owed"]
    done = f", {known:,} of them done" if known else ""
    seconds = told["seconds_at_100_ms_a_call"]
    time = f"if a call takes 100 ms, {seconds:,.1f} s with {told['slots']} slots"
    lines = [
        f" run      {told['run']}",
        f" asks     {', '.join(f'{one.name}: {one.text}' for one in plan.identities)}",
        f" about    {', '.join(told['candidates'])} (baseline {told['baseline']})",
        f" on       {splits}",
        f" plan     {told['calls']:,} calls{done}; {time}",
    ]
    if told["smallest_detectable"] is not None:
        pairs = f"{told['splits'][told['decided_on']]:,} {told['decided_on']} pairs"
        lines.append(
            f" reach    {pairs}: a difference below about {told['smallest_detectable']:.2f} cannot be seen"
        )
        lines.append(
            f"          (assuming that paired differences have a standard deviation of {_USUAL_SPREAD:g})"
        )
    return [*lines, " Nothing was asked; `optimize-eval preflight` measures how long a call takes."]
