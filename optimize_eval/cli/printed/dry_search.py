"""`optimize --dry-run`: what a search would call, its floor, and what difference val can confirm."""

from typing import Any

from optimize_eval.cli import output
from optimize_eval.findings.wording import count, number
from optimize_eval.reports.columns import wrapped
from optimize_eval.search.optimizing import SearchTask
from optimize_eval.search.result.final import final_calls
from optimize_eval.statistics.families import fewest_units
from optimize_eval.statistics.power import detectable

SCHEMA = "optimize-eval.optimize_plan.v1"

_SD = 0.35  # of paired differences of scores from 0 to 1, where nothing is known yet


def show(task: SearchTask, *, as_json: bool) -> None:
    told = planned(task)
    if as_json:
        output.emit_json(told)
        return
    lines = [line for head, text in _words(told) for line in wrapped(f" {head:<13}", text, output.width())]
    output.emit("\n".join(lines))


def planned(task: SearchTask) -> dict[str, Any]:
    """Compute the plan as programs read it."""
    needs, budget = task.plan.needs, task.limits.budget
    rounds = max(0, (budget - needs.calls(0)) // max(1, needs.calls(1) - needs.calls(0)))
    deciding = len(task.plan.deciding)
    least = detectable(se=_SD / deciding**0.5, units=deciding, comparisons=max(1, min(rounds, 20)))
    return {
        "schema": SCHEMA,
        "run": str(task.folder),
        "goal": task.plan.goal.name,
        "examples": {"train": len(task.plan.train), "deciding": deciding, "held_out": task.plan.is_held_out},
        "minibatch": task.plan.minibatch,
        "proposers": [one.name for one in task.plan.proposers],
        "calls": {
            "seed": needs.calls(0),
            "per_accepted_proposal": needs.calls(1) - needs.calls(0),
            "floor": needs.floor,
            "budget": budget,
            "final": final_calls(task.comparison, 1 + task.plan.top),
        },
        "accepted_proposals": rounds,
        "found_in_80_of_100": least if deciding >= fewest_units() else None,
    }


def _words(told: dict[str, Any]) -> list[tuple[str, str]]:
    calls, examples = told["calls"], told["examples"]
    held_out = f"{examples['deciding']:,} held out" if examples["held_out"] else "none held out"
    least = told["found_in_80_of_100"]
    power = (
        f"with {count(examples['deciding'], 'example')}, a gain of about {number(least)} would be found in "
        "80 of 100 searches, if paired differences have a standard deviation of 0.35"
        if least
        else f"{count(examples['deciding'], 'example')}: too few to show any difference"
    )
    search = (
        f"at most {calls['budget']:,} calls: {calls['seed']:,} for the seed, up to "
        f"{calls['per_accepted_proposal']:,} for each accepted proposal (room for "
        f"{told['accepted_proposals']:,}); at least {calls['floor']:,} are needed"
    )
    return [
        ("goal", told["goal"]),
        (
            "data",
            f"{count(examples['train'], 'train example')}, {held_out}; minibatches of {told['minibatch']}",
        ),
        ("proposers", ", ".join(told["proposers"])),
        ("search", search),
        ("final sweep", f"at most {calls['final']:,} calls more"),
        ("power", power),
        ("folder", told["run"]),
    ]
