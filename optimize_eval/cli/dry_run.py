"""`--dry-run` of runs and benches: what would be called, how long it might take, and what it could show."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from optimize_eval.base.documents import JsonDict, to_dict
from optimize_eval.base.errors import UsageError
from optimize_eval.cli import output
from optimize_eval.data.candidates import THE_PROMPT, THE_TASK
from optimize_eval.findings.forecast import ASKED, Forecast, Like, Reach, forecast, like_of, margin_forecasts
from optimize_eval.findings.leakage import counted_in, leakage_of, sentence_of
from optimize_eval.findings.wording import count, percent
from optimize_eval.reports.text import wrapped
from optimize_eval.run.begin_or_resume import reusable
from optimize_eval.run.plan import Plan
from optimize_eval.store.confirmations import fresh_calls
from optimize_eval.store.layout import Layout
from optimize_eval.store.opened_run import StoredRun, open_stored
from optimize_eval.tasks.targets import samples_of

if TYPE_CHECKING:
    from optimize_eval.findings.stability import StabilityBound
    from optimize_eval.findings.summary_shape import Summary

RUN_PLAN = "optimize-eval.plan.v1"

A_CALL = 0.1  # seconds, for the example of a duration
_MINUTE = 60
_TWICE = 1 - 0.5**0.5


def show_run(
    plan: Plan,
    run: StoredRun,
    *,
    slots: int,
    like: str | None,
    as_json: bool,
    bounds: "Iterable[StabilityBound]" = (),
) -> None:
    """Print the plan; reads the journal if the run is begun, writes and calls nothing."""
    earlier = read_like(like, plan.layout) if like else None
    leakage, not_held_out, counted = _leakage(plan.layout)
    found = None if not_held_out else forecast(counted, earlier)
    shown = _plan(plan, run, slots, earlier, found) | {"leakage": leakage} | _margins(counted, earlier)
    shown |= {"calls_of_models": votes} if (votes := _votes(plan)) else {}
    shown |= {"fresh_calls_at_most": most} if (most := _most_fresh_calls(counted, bounds)) else {}
    if as_json:
        output.emit_json(shown)
    else:
        power = (
            [not_held_out] if not_held_out else _power(found, shown["decided_on"], earlier) if found else ()
        )
        output.emit("\n".join(_lines(plan, shown, earlier, power)))


def _leakage(layout: Layout) -> tuple[JsonDict, str, Layout]:
    """Say what leaked, why the deciding split confirms nothing, and what the numbers will be made of."""
    if not any(split.leaks for split in layout.splits):
        return {}, "", layout
    leakage = leakage_of(layout)
    shown = {name: to_dict(found) for name, found in leakage.items()}
    return shown, sentence_of(leakage, layout.deciding), counted_in(layout).layout


def summary_like(run: StoredRun) -> "Summary":
    """Sum up the run that --like names."""
    from optimize_eval.findings.stored_summary import summarise_stored  # noqa: PLC0415  only for --like

    return summarise_stored(run)


def read_like(run: str, planned: Layout) -> Like:
    """Read how scores varied in the run that --like names; raises UsageError where it does not say."""
    stored = open_stored(run)
    found = like_of(summary_like(stored), stored.layout, planned, run)
    if found is None:
        raise UsageError(
            f"{run} does not say how scores vary: fewer than two examples are scored",
            hint="name a run that has scores, or omit --like for a guess",
        )
    return found


def _plan(plan: Plan, run: StoredRun, slots: int, like: Like | None, found: Forecast | None) -> JsonDict:
    layout = plan.layout
    calls = len(run.ledger.of(layout).owed(range(layout.size)))
    reach = found and (found.zero_one if found.graded is None else found.graded)
    seconds = None if like is None or like.seconds is None else round(calls * like.seconds / slots, 3)
    return {
        "schema": RUN_PLAN,
        "run": str(run.folder),
        "plan": plan.digest,
        "candidates": list(layout.candidates),
        "baseline": layout.baseline,
        "evaluators": [identity.to_dict() for identity in plan.identities],
        "task_models": list(layout.task_models),
        "splits": {split.name: len(split.lines) for split in layout.splits},
        "repeats": layout.repeats,
        "calls": layout.size,
        "owed": calls,
        "reuse": reusable(run) or None,
        "slots": slots,
        "seconds": seconds,
        "seconds_at_100_ms_a_call": round(calls * A_CALL / slots, 3),
        "decided_on": layout.deciding,
        "smallest_detectable": reach and reach.found,
        "power": found and asdict(found),
        "like": like and asdict(like),
    }


def _lines(plan: Plan, shown: JsonDict, like: Like | None, power: Iterable[str]) -> list[str]:
    splits = " · ".join(f"{name} {many:,}{_leak_note(name, shown)}" for name, many in shown["splits"].items())
    known = shown["calls"] - shown["owed"]
    done = f", {known:,} of them done" if known else ""
    left = f"{done}; {_time(shown, like)}" if shown["owed"] else ", all of them done"
    parts = [
        ("evaluators", ", ".join(f"{identity.name}: {identity.text}" for identity in plan.identities)),
        (
            "candidates",
            f"{', '.join(shown['candidates'])} (baseline {shown['baseline']})" * _compares(plan),
        ),
        ("models", ", ".join(f"{model.name}: {model.text}" for model in plan.models)),
        ("data", splits),
        ("cost", f"{shown['calls']:,} calls{left}"),
        *(("", f"each of {name} is {many:,} calls of models") for name, many in _votes(plan).items()),
        *(("", text) for text in _fresh(shown, plan.layout)),
        *(("power" * (not index), text) for index, text in enumerate(power)),
        *(("margin" * (not index), text) for index, text in enumerate(_no_worse(shown, like))),
        ("reuse", shown["reuse"] or ""),
        ("replies", f"{_replies(plan)}: each is made once, for all evaluators" * bool(plan.models)),
    ]
    last = "" if like else "; `optimize-eval preflight` measures how long a call takes"
    said = [line for name, text in parts if text for line in wrapped(f" {name:<12}", text, output.width())]
    return [
        f" run         {shown['run']}",
        *said,
        *wrapped(" ", f"Nothing was called{last}.", output.width()),
    ]


def _most_fresh_calls(layout: Layout, bounds: "Iterable[StabilityBound]") -> int:
    """Count the fresh calls that it takes where every example is below its rate."""
    cells = {cell for bound in bounds if bound.is_of_each for cell in bound.cells(layout)}
    return fresh_calls(layout.repeats) * sum(cell.size // layout.repeats for cell in cells)


def _fresh(shown: JsonDict, layout: Layout) -> Iterator[str]:
    """Say how many more calls a gate on each example may take."""
    if most := shown.get("fresh_calls_at_most"):
        each = fresh_calls(layout.repeats)
        yield f"and {each:,} fresh calls for each example that a gate finds below its rate: at most {most:,}"


def _votes(plan: Plan) -> dict[str, int]:
    """Count the calls of models for a call of each judge that votes more than once, or in two orders."""
    judges = {identity.name: identity.judge for identity in plan.identities}
    many = {
        name: (1 + len(judge.get("panel", ()))) * judge.get("samples", 1) * (2 if judge.get("against") else 1)
        for name, judge in judges.items()
    }
    return {name: calls for name, calls in many.items() if calls > 1}


def _leak_note(split: str, shown: JsonDict) -> str:
    """Say beside a split's size how many of these an earlier split holds, too."""
    leakage = shown["leakage"].get(split)
    return f" ({len(leakage['rows']):,} of them are also in an earlier split)" if leakage else ""


def _replies(plan: Plan) -> str:
    """Say how many replies models make; of tasks with conversations only at most how many."""
    turns = [_turns(plan, split.name) for split in plan.layout.splits]
    of_one = sum(len(split.lines) * most for split, most in zip(plan.layout.splits, turns, strict=True))
    many = plan.layout.repeats * of_one * len(plan.models) * len(plan.candidates)
    return f"{'up to ' * (max(turns, default=1) > 1)}{many:,}"


def _turns(plan: Plan, split: str) -> int:
    """Say how many calls of models an example of a split takes at most."""
    specs = (spec for spec in plan.specs if split in plan.layout.splits_of.get(spec.name, [split]))
    targets = [*filter(None, map(samples_of, specs))]
    if not targets:
        return 1
    calls = [target.task.most_calls(target.max_turns) for target in targets if target.task.solver]
    return max(calls, default=1)


def _compares(plan: Plan) -> bool:
    """Return True if candidates were named: a task alone has one that stands for all it sends."""
    return plan.candidates[0] not in {THE_TASK, THE_PROMPT}


def _time(shown: JsonDict, like: Like | None) -> str:
    slots = count(shown["slots"], "slot")
    if shown["seconds"] is None or like is None:
        return f"if a call takes 100 ms, {duration_words(shown['seconds_at_100_ms_a_call'])} with {slots}"
    return f"as slow as in {like.run}, about {duration_words(shown['seconds'])} with {slots}"


def duration_words(seconds: float) -> str:
    """Write how long something takes, roughly."""
    return f"{seconds:,.1f} s" if seconds < _MINUTE else f"{seconds / _MINUTE:,.0f} min"


def _power(found: Forecast, split: str, like: Like | None) -> Iterator[str]:
    units, among = _units(found.units, found), count(found.comparisons, "candidate")
    yield f"{split} has {units}, and {among} to compare with the baseline"
    if found.units < found.fewest:
        yield f"no difference can be confirmed, however large: that takes {_units(found.fewest, found)}"
        return
    if found.graded:
        yield _reach_words(found.graded, found, _assumption(found, like))
    if found.zero_one:
        guess = f"as in {like.run}" if like else "a guess"
        share = percent(round(found.discordance or 0, 3))
        yield _reach_words(found.zero_one, found, f"scores of 0 and 1, {share} of pairs differ, {guess}")
    if found.gain_of_repeats is not None:
        gains = [percent(round(gain, 2)) for gain in (found.gain_of_repeats, _TWICE)]
        yield f"more repeats narrow intervals by about {gains[0]} at most, twice the examples by {gains[1]}"
    if like is None:
        yield "--like RUN plans by how scores varied in an earlier run"


def _margins(layout: Layout, like: Like | None) -> JsonDict:
    """Tell what the margins take, where there are some."""
    if not layout.margins:
        return {}
    return {"margins": [asdict(margin) for margin in margin_forecasts(layout, like)]}


def _no_worse(shown: JsonDict, like: Like | None) -> Iterator[str]:
    for margin in shown.get("margins", ()):
        what = "cluster" if margin["is_clustered"] else "example"
        equal = f"{count(margin['if_equal'], what)} with equal scores, " if margin["if_equal"] else ""
        source = f"as in {like.run}" if like and like.evaluator == margin["evaluator"] else "a guess"
        takes = f"{equal}about {margin['needed']:,} if differences have standard deviation {margin['sd']:.2g}"
        yield (
            f"{shown['decided_on']} has {count(margin['units'], what)}; ruling out a loss of "
            f"{margin['margin']:g} {margin['evaluator']} takes {takes} ({source})"
        )


def _reach_words(reach: Reach, found: Forecast, assumed: str) -> str:
    takes = f"{ASKED:g} takes {_units(reach.needed, found)} ({assumed})"
    if reach.found is None:
        return f"no difference would be found; {takes}"
    return f"a difference of {reach.found:.2f} would be found in 80 of 100 runs; {takes}"


def _assumption(found: Forecast, like: Like | None) -> str:
    sd = f"standard deviation {found.sd:.2g}"
    if like is None:
        return f"differences with {sd}, a guess"
    return (
        f"{'differences' if like.is_paired else 'scores, as there are no pairs,'} with {sd}, as in {like.run}"
    )


def _units(many: int, found: Forecast) -> str:
    if not found.is_clustered:
        return count(many, "example")
    return f"{count(many, 'cluster')} of about {found.examples / found.units:.3g} examples"
