"""Gates about calls that are repeated: what they may be about, and whether each was met, in one line.

What they are held against is computed in stability.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from optimize_eval.base.checks import demand_behind
from optimize_eval.base.errors import UsageError
from optimize_eval.data.candidates import THE_PROMPT
from optimize_eval.findings.gates import Gate, check_reachable, on_its_side, plain, reaches
from optimize_eval.findings.leakage import LEAKED, leakage_of
from optimize_eval.findings.stability import EACH, StabilityBound, counted_layout, measure, own_scorer
from optimize_eval.findings.summary_parts import Stability, Suspect
from optimize_eval.findings.wording import count, interval, number, place_of_scores
from optimize_eval.statistics.rates import at_most
from optimize_eval.store.layout import CellName, Layout
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.run_document import RunDocument

_FEWEST = 5  # calls of an example that a pass rate of its own is made of
_HEALTHY = 0.99
_SHOWN = 3
_SHARE = re.compile(r"(\d{1,4})/([1-9]\d{0,3})")


def stability_bounds(
    texts: Sequence[str], layout: Layout, *, of_bench: bool = False
) -> dict[str, StabilityBound]:
    """Find the bounds that are about repeated calls; raises UsageError where there are too few of these."""
    names = _names_of_bench(layout) if of_bench else _names(layout)
    bounds = {text: _stability_bound(text, layout, *names) for text in texts}
    return {text: bound for text, bound in bounds.items() if bound}


def _stability_bound(
    text: str, layout: Layout, subjects: "Mapping[str, Where]", ends: "Mapping[str, Ends]"
) -> StabilityBound | None:
    """Read NAME.pass^5[@CANDIDATE][@MODEL]=LEAST and the like; None where it is about something else."""
    name, _, said = text.rpartition("=")
    if name in _plain_names(subjects, ends):
        return None
    for subject in sorted(subjects, key=len, reverse=True):
        demand, end = demand_behind(subject, name) or ("", None)
        if end in ends[subject]:
            where = subjects[subject] | ends[subject][end]
            least = _read_share(text, said)
            _check_repeats(text, demand, layout.repeats)
            return StabilityBound(name=name, demand=demand, least=least, **where)
    _refuse_late_demand(text, name, ends)
    return None


def stability_of(run: StoredRun) -> tuple[Stability, ...]:
    """Measure what the bounds of a run's own command are about."""
    bounds = bounds_of(run.document)
    return measure(run, bounds) if bounds else ()


def bounds_of(document: RunDocument) -> tuple[StabilityBound, ...]:
    """Give the bounds of the command that a run was made by; none where somebody edited them."""
    gates = document.settings.get("gates")
    texts = gates.get("fail_under") if isinstance(gates, Mapping) else None
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        return ()
    with suppress(UsageError):
        return tuple(stability_bounds(texts, document.selection, of_bench=document.is_bench).values())
    return ()


Where = dict[str, str]
Ends = dict[str | None, Where]  # what may stand behind a demand, and what that names
_NOTHING: Ends = {"": {}}


def _names(layout: Layout) -> tuple[Mapping[str, Where], Mapping[str, Ends]]:
    """Say what a demand may be about, and for each of these what may stand behind it."""
    models: Ends = {f"@{name}": {"model": name} for name in layout.task_models if name}
    candidates: Ends = {f"@{name}": {"candidate": name} for name in layout.candidates}
    both: Ends = {
        f"{first}{last}": candidates[first] | models[last] for first in candidates for last in models
    }
    about: dict[str, Where] = {name: {"evaluator": name} for name in layout.evaluators}
    return about, dict.fromkeys(about, _NOTHING | both | models | candidates)


def _names_of_bench(layout: Layout) -> tuple[Mapping[str, Where], Mapping[str, Ends]]:
    """Say the same of a bench, where MODEL.METRIC is a model by an evaluator of one's own."""
    models: Ends = {f"@{name}": {"model": name} for name in layout.task_models if name}
    added = [name for name in layout.evaluators if name not in layout.splits_of]
    about: dict[str, Where] = {name: {"evaluator": name} for name in layout.evaluators}
    about |= {
        f"{model}.{name}": {"model": model, "evaluator": name}
        for model in layout.task_models
        for name in added
        if model
    }
    splits = {_task_of(own_scorer(split.name, layout), split.name): split.name for split in layout.splits}
    tasks: Ends = {f"@{task}": {"split": split} for task, split in splits.items()}
    about |= {task: {"split": split} for task, split in splits.items()}
    about |= {name: {"model": name} for name in layout.task_models if name}
    return about, {name: _NOTHING | (tasks if "model" in where else models) for name, where in about.items()}


def _task_of(scorer: str | None, split: str) -> str:
    """Name a task as a board does: one in JSONL as its scorer, which is called after the file."""
    return split if scorer is None or scorer.startswith(f"{split}.") else scorer


def _refuse_late_demand(text: str, name: str, ends: Mapping[str, Ends]) -> None:
    """Refuse a demand that stands behind a candidate's name, or another end."""
    for subject, end in ((first, end) for first in ends for end in ends[first] if end):
        demand, more = demand_behind(f"{subject}{end}", name) or ("", "")
        if demand and not more:
            raise UsageError(
                f"--fail-under {text}: {demand} stands before {end}",
                hint=f"write --fail-under {subject}.{demand}{end}{text.removeprefix(name)}",
            )


def _plain_names(subjects: Mapping[str, Where], ends: Mapping[str, Ends]) -> set[str]:
    """Give the names that a gate on a mean may have, which come first."""
    return {f"{subject}{end}" for subject in subjects for end in ends[subject]}


def note_of_name(name: str) -> str:
    """Say of a gate on a mean that it is one, where its name reads as if it were about repeated calls."""
    reads_so = any(demand_behind(name[:index], name) for index, letter in enumerate(name) if letter == ".")
    return f" (the mean of what is called {name})" if reads_so else ""


def _read_share(text: str, said: str) -> float:
    """Read a number from 0 to 1, or passes of calls such as 8/10."""
    share = _SHARE.fullmatch(said)
    try:
        least = int(share[1]) / int(share[2]) if share else float(said)
    except ValueError:
        least = math.nan
    if not math.isfinite(least):
        raise UsageError(
            f"--fail-under {text} needs a share of calls, not {said!r}",
            hint="write a number such as 0.8, or 8/10",
        )
    check_reachable(text, least)
    return least


def _check_repeats(text: str, demand: str, repeats: int) -> None:
    fewest = _FEWEST if demand == EACH else int(demand[len("pass@") :])
    if repeats < fewest:
        raise UsageError(
            f"--fail-under {text} is about at least {fewest} calls of an example, and there "
            f"{'is 1' if repeats == 1 else f'are {repeats}'}",
            hint=f"give --repeats {max(fewest, 2 * _FEWEST)}",
        )


def stability_gates(run: StoredRun, bounds: Sequence[StabilityBound]) -> Iterator[Gate]:
    """Hold a run against its bounds."""
    if not bounds:
        return
    every, layout = measure(run, bounds), counted_layout(run)
    leakage = leakage_of(run.layout) if any(split.leaks for split in run.layout.splits) else {}
    for bound in bounds:
        names = {cell[:4] for cell in bound.cells(layout)}
        own = [entry for entry in every if _is_of(entry, bound, names)]
        if not own:
            text = f"{bound.name}: it cannot be known, so it may be below {plain(bound.least)}"
            yield Gate(name=f"fail-under {bound.name}", is_met=False, text=text)
        for gate, split in _gates(bound, own, layout):
            leak = leakage.get(split)
            yield _missed_by_leak(gate, leak.not_held_out(split)) if leak and leak.state == LEAKED else gate


def _missed_by_leak(gate: Gate, why: str) -> Gate:
    text = f"{gate.name.removeprefix('fail-under ')}: without enough data: {why}"
    return replace(gate, is_met=False, text=text, examples=())


def _is_of(entry: Stability, bound: StabilityBound, names: set[CellName]) -> bool:
    where = entry.where.evaluator, entry.where.candidate, entry.where.task_model, entry.where.split
    return (entry.demand, entry.least) == (bound.demand, bound.least) and where in names


def _gates(bound: StabilityBound, every: Sequence[Stability], layout: Layout) -> Iterator[tuple[Gate, str]]:
    """Judge cell by cell; the pass rates of a model of a bench over its tasks."""
    is_own = bool(layout.splits_of) and bound.evaluator not in {None, *layout.splits_of}
    over_tasks = bound.split is None and (bound.evaluator is None or (is_own and bound.model is not None))
    if over_tasks and not bound.is_of_each:
        yield (
            _pass_gate(
                bound,
                f"{bound.model}{f'.{bound.evaluator}' if is_own else ''}, overall",
                _overall(every, bound),
            ),
            "",
        )
        return
    for entry in every:
        where = _label(entry, bound)
        judge = _each_gate if bound.is_of_each else _pass_gate_of
        yield judge(bound, where, entry, layout), entry.where.split


def _label(entry: Stability, bound: StabilityBound) -> str:
    cell = entry.where
    if bound.evaluator is None:
        return f"{cell.task_model} on {_task_of(cell.evaluator, cell.split)}"
    if cell.task_model and cell.candidate == THE_PROMPT.name:  # of a bench, whose models are compared
        return f"{cell.evaluator} on {cell.task_model}, {cell.split}"
    return f"{place_of_scores(cell)}, {cell.split}"


def _overall(every: Sequence[Stability], bound: StabilityBound) -> tuple[float | None, str]:
    """Average over tasks, as a board does."""
    means = [entry.value.mean for entry in every if entry.value and entry.value.mean is not None]
    if len(means) < len(every):
        unknown = next(entry for entry in every if not entry.value or entry.value.mean is None)
        return None, _why_none(unknown, bound)
    return math.fsum(means) / len(means), f" ({count(len(means), 'task')})"


def _pass_gate_of(bound: StabilityBound, where: str, entry: Stability, _: Layout) -> Gate:
    value = entry.value
    if value is None or value.mean is None:
        return _pass_gate(bound, where, (None, _why_none(entry, bound)))
    ci = f"{interval(value.ci, number)}; " if value.ci else ""
    return _pass_gate(bound, where, (value.mean, f" ({ci}{count(entry.examples, 'example')})"))


def _why_none(entry: Stability, bound: StabilityBound) -> str:
    mean = bound.name.replace(f".{bound.demand}", "", 1)
    if entry.is_graded:
        return f" (its scores are not 0 and 1: --fail-under {mean}={plain(bound.least)} is about their mean)"
    return " (there is no call)" if bound.is_of_each else " (no example has so many calls)"


def _pass_gate(bound: StabilityBound, where: str, measured: tuple[float | None, str]) -> Gate:
    value, beside = measured
    least, name = plain(bound.least), f"fail-under {bound.demand} {where}"
    if value is None:
        text = f"{where}: {bound.demand} cannot be known{beside}, so it may be below {least}"
        return Gate(name=name, is_met=False, text=text, is_judged=False)
    is_met = reaches(value, bound.least)
    shown = on_its_side(value, number, lambda written: reaches(written, bound.least))
    verdict = f"{shown}{beside} is {'at least' if is_met else 'below'} {least}"
    return Gate(name=name, is_met=is_met, text=f"{where}: {bound.demand} {verdict}")


def _each_gate(bound: StabilityBound, where: str, entry: Stability, layout: Layout) -> Gate:
    least, name = plain(bound.least), f"fail-under each {where}"
    if not entry.examples:
        unknown = f"no example's pass rate can be known{_why_none(entry, bound)}"
        text = f"{where}: {unknown}, so it may be below {least}"
        return Gate(name=name, is_met=False, text=text, is_judged=False)
    below = [suspect for suspect in entry.suspects if suspect.is_below]
    listed = _list_suspects(below or entry.suspects, entry.where.split)
    if below:
        many = f"{count(len(below), 'example')} of {entry.examples:,} below {least}"
        text = f"{where}: {many}: {listed}{_say_count(bound, below, entry.examples, layout.repeats)}"
    elif listed:
        text = f"{where}: no example of {entry.examples:,} is clearly below {least}: {listed}"
    else:
        calls = count(layout.repeats, "call")
        text = f"{where}: each of {count(entry.examples, 'example')} passes {least} or more of its {calls}"
    parts = tuple(_example_gate(where, suspect, least) for suspect in entry.suspects)
    return Gate(name=name, is_met=not below, text=text, examples=parts)


def _list_suspects(suspects: Sequence[Suspect], split: str) -> str:
    first = [f"{_place(suspect, split)} {_passes(suspect)}" for suspect in suspects[:_SHOWN]]
    more = [f"and {len(suspects) - _SHOWN:,} more"] if len(suspects) > _SHOWN else []
    return "; ".join([*first, *more])


def _place(suspect: Suspect, split: str) -> str:
    return split if suspect.line is None else f"{split} {suspect.line}"


def _passes(suspect: Suspect) -> str:
    first = f"passes {suspect.passed:,} of {count(suspect.calls, 'call')}"
    fresh = suspect.fresh
    if fresh is None:
        return first
    broken_off = "" if suspect.chance is not None else ", too few to decide"
    return f"{first}, then {fresh.passed:,} of {fresh.calls:,} fresh ones{broken_off}"


def _say_count(bound: StabilityBound, below: Sequence[Suspect], examples: int, repeats: int) -> str:
    """Say what a count alone is worth, where it decides."""
    if all(suspect.chance is not None for suspect in below):
        return ""
    needed = math.ceil(bound.rate * repeats)
    missed = 1 - (1 - at_most(needed - 1, repeats, _HEALTHY)) ** examples
    healthy = f"a healthy suite of {examples:,} at {_HEALTHY:.0%}".replace("%", " %")
    return f" (counted without fresh calls: {healthy} fails this gate in {100 * missed:.1f} % of runs)"


def _example_gate(where: str, suspect: Suspect, least: str) -> Gate:
    """Make of a flaky example a gate of its own."""
    line = "" if suspect.line is None else f" {suspect.line}"
    said = "below" if suspect.is_below else "not clearly below"
    text = f"{where}{line}: {_passes(suspect)}: {said} {least}"
    return Gate(name=f"each {where}{line}", is_met=not suspect.is_below, text=text)
