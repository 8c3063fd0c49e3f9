"""`optimize --dry-run`: what a search would call, its floor, and what difference val can confirm."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from optimize_eval.base.documents import JsonDict, to_dict
from optimize_eval.cli import output
from optimize_eval.cli.dry_run import A_CALL, duration_words, read_like, summary_like
from optimize_eval.data.candidates import Candidate
from optimize_eval.findings.forecast import Like
from optimize_eval.findings.leakage import Leakage, leakages_of
from optimize_eval.findings.wording import count, number
from optimize_eval.reports.text import wrapped
from optimize_eval.search.optimizing import SearchTask, final_calls
from optimize_eval.search.recorded_scores import scored_in
from optimize_eval.statistics.power import detectable, fewest_units
from optimize_eval.store.folder import EVALUATIONS
from optimize_eval.store.layout import SINGLE, Split
from optimize_eval.store.opened_run import open_stored
from optimize_eval.store.run_document import KEEP

SEARCH_PLAN = "optimize-eval.optimize_plan.v1"

_SD = 0.35  # of paired differences of scores from 0 to 1, where nothing is known yet


def show_search(
    task: SearchTask, splits: Sequence[Split], *, like: str | None = None, as_json: bool = False
) -> None:
    """Print the plan; of `splits` it is known what they have in common."""
    shown = plan_search(task, splits, like)
    if as_json:
        output.emit_json(shown)
        return
    lines = [line for head, text in _words(shown) for line in wrapped(f" {head:<13}", text, output.width())]
    output.emit("\n".join(lines))


def plan_search(task: SearchTask, splits: Sequence[Split], like: str | None) -> JsonDict:
    """Compute the plan as programs read it; `like` names a run that scores and times are as in."""
    known = _read_like(task, like) if like else None
    needs, budget = task.plan.needs, task.limits.budget
    rounds = max(0, (budget - needs.calls(0)) // max(1, needs.calls(1) - needs.calls(0)))
    leakage = leakages_of(splits, keeps_leaks=task.comparison.what.leaks == KEEP)
    split, opened = _deciding(task)
    deciding = _clean(opened, leakage.get(split))
    least = _least(deciding, known.sd if known else _SD, task.plan.finalists)
    final, waits = final_calls(task.comparison, 1 + task.plan.finalists), _waits(task, rounds)
    return {
        "schema": SEARCH_PLAN,
        "run": str(task.folder),
        "goal": task.plan.goal.name,
        "examples": {
            "learn": len(task.plan.roles.learn),
            "choose": len(task.plan.roles.choose),
            "apart": task.plan.roles.is_divided,
            "opened": opened,
            "deciding": deciding,
            "split": split,
            "steered_by": task.plan.roles.steered_by,
            "leaks": _leak_words(leakage.get(split), split),
        },
        "minibatch": task.plan.minibatch,
        "proposers": [proposer.name for proposer in task.plan.proposers],
        "calls": {
            "seed": needs.calls(0),
            "per_accepted_proposal": needs.calls(1) - needs.calls(0),
            "floor": needs.floor,
            "budget": budget,
            "final": final,
        },
        "replies": _replies_of_search(task, budget, final),
        "accepted_proposals": rounds,
        "slots": task.handling.concurrency,
        "seconds": None if known is None or known.seconds is None else round(waits * known.seconds, 3),
        "seconds_at_100_ms_a_call": round(waits * A_CALL, 3),
        "cost": _cost(like, budget + final) if like else None,
        "like": known and asdict(known),
        "found_in_80_of_100": least,
        "leakage": {name: to_dict(leak) for name, leak in leakage.items()},
    }


def _clean(opened: int, leakage: Leakage | None) -> int:
    """Count the examples that can show something."""
    if leakage is None:
        return opened
    return opened - leakage.left_out if leakage.is_held_out else 0


def _leak_words(leakage: Leakage | None, split: str) -> str | None:
    """Say what of the split that decides is in others, too."""
    if leakage is None:
        return None
    return leakage.beside(split) if leakage.is_held_out else leakage.not_held_out(split)


def _least(units: int, sd: float, comparisons: int) -> float | None:
    """Compute the least difference that would be found; None where no difference could be shown."""
    if units < fewest_units(comparisons):
        return None
    return detectable(se=sd / units**0.5, units=units, comparisons=comparisons)


def _deciding(task: SearchTask) -> tuple[str, int]:
    """Name the split that the verdict is about, and count its examples."""
    sizes = {source.name: len(source.examples) for source in task.comparison.examples.sources}
    return next(((name, sizes[name]) for name in ("test", "val", "train") if name in sizes), (SINGLE, 1))


def _replies_of_search(task: SearchTask, budget: int, final: int) -> JsonDict | None:
    """Count what the model replies: once for all evaluators."""
    if task.model is None:
        return None
    evaluators = task.plan.needs.evaluators
    return {"model": task.model.name, "search": -(-budget // evaluators), "final": final // evaluators}


def _read_like(task: SearchTask, like: str) -> Like:
    """Read how scores vary in an earlier run of such evaluators."""
    alone = replace(task.comparison, candidates=(Candidate(name=task.seed_name, text=""),))
    return read_like(like, alone.plan().layout)


def _waits(task: SearchTask, rounds: int) -> int:
    """Count how many calls follow on each other: what is scored at once takes as long as one."""
    needs, slots = task.plan.needs, task.handling.concurrency
    decided, tried = (-(-needs.evaluators * size // slots) for size in (needs.choosing, needs.minibatch))
    final = -(-final_calls(task.comparison, 1 + task.plan.finalists) // slots)
    return decided * (1 + rounds) + (2 * tried * rounds if needs.is_apart else 0) + final


def _cost(like: str, calls: int) -> float | None:
    """Say what so many calls cost where each costs what it did in an earlier run, or in its search."""
    stored = open_stored(like)
    each = _cost_in_search(stored.folder)
    if each is not None:
        return each * calls
    summary = summary_like(stored)
    scored = summary.units.scored + summary.units.failed
    if summary.spent is None or summary.spent.run.without_cost or not scored:
        return None
    return summary.spent.run.cost / scored * calls


def _cost_in_search(folder: Path) -> float | None:
    """Give what a call of a search cost; a run that ended it counts the calls of its final sweep only."""
    records = [record for _, record in scored_in(folder / EVALUATIONS) if "reused_from" not in record]
    usages = [usage for record in records for usage in record.get("usage", ())]
    is_known = usages and all("cost" in usage for usage in usages)
    return sum(usage["cost"] for usage in usages) / len(records) if is_known else None


def _time_of_search(shown: JsonDict) -> str:
    slots = count(shown["slots"], "slot")
    if shown["seconds"] is None:
        about = f"if a call takes 100 ms, {duration_words(shown['seconds_at_100_ms_a_call'])}"
    else:
        about = f"as slow as in {shown['like']['run']}, about {duration_words(shown['seconds'])}"
    return f"{about} with {slots}, and what proposals take"


def _cost_words(shown: JsonDict) -> str:
    return f"about ${shown['cost']:,.2f} if calls cost as in {shown['like']['run']}; proposals come on top"


def _reply_words(replies: JsonDict) -> str:
    search, final = replies["search"], replies["final"]
    return (
        f"{replies['model']} is called at most {search:,} times in the search, {final:,} in the final sweep"
    )


def _parts(examples: JsonDict, minibatch: int) -> str:
    """Say which examples do what."""
    learn, choose = count(examples["learn"], "example"), f"{examples['choose']:,}"
    who = (
        f"{learn} to learn from, {choose} others to choose by"
        if examples["apart"]
        else f"{learn} to learn from, and the same to choose by"
    )
    end = (
        "nothing is held out, so there will be no verdict"
        if examples["steered_by"]
        else f"{examples['opened']:,} of {examples['split']} are opened at the end"
    )
    leaks = f"; {examples['leaks']}" if examples["leaks"] else ""
    return f"{who}; {end}{leaks}; minibatches of {minibatch}"


def _words(shown: JsonDict) -> list[tuple[str, str]]:
    calls, examples = shown["calls"], shown["examples"]
    deciding = f"{count(examples['deciding'], 'example')} of {examples['split']}"
    least, like = shown["found_in_80_of_100"], shown["like"]
    sd = (
        f"{like['sd']:.2g}, as in {like['run']}"
        if like
        else f"{_SD:g}, a guess (--like RUN plans by an earlier run)"
    )
    power = (
        f"with {deciding}, a gain of about {number(least)} would be found in "
        f"80 of 100 searches, if paired differences have a standard deviation of {sd}"
        if least
        else f"{deciding}: too few to find any difference"
    )
    search = (
        f"at most {calls['budget']:,} calls: {calls['seed']:,} for the seed, up to "
        f"{calls['per_accepted_proposal']:,} for each accepted proposal (room for "
        f"{shown['accepted_proposals']:,}); at least {calls['floor']:,} are needed"
    )
    return [
        ("goal", shown["goal"]),
        (
            "data",
            _parts(examples, shown["minibatch"]),
        ),
        ("proposers", ", ".join(shown["proposers"])),
        ("search", search),
        ("final sweep", f"at most {calls['final']:,} calls more"),
        *([] if shown["replies"] is None else [("replies", _reply_words(shown["replies"]))]),
        ("time", _time_of_search(shown)),
        *([] if shown["cost"] is None else [("cost", _cost_words(shown))]),
        ("power", power),
        ("folder", shown["run"]),
    ]
