"""Gates: what a summary or a metric has to reach, and for each whether it was met, in one line.

Pure: summaries in, gates out. A gate without enough data fails. How a run is held against an earlier one is
regression_gates'; what a missed gate does to an exit code is cli's.

A value that leaves failed rows out shows nothing about these, so it meets no gate.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import NamedTuple, Protocol

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.data.candidates import THE_PROMPT
from optimize_eval.findings.leakage import KEPT, LEAKED, sentence_of
from optimize_eval.findings.summary_parts import Row
from optimize_eval.findings.summary_shape import ScorerMetrics, Summary
from optimize_eval.findings.wording import MINUS, count, interval, number, place_of_scores, signed
from optimize_eval.statistics.estimates import Interval
from optimize_eval.store.layout import Layout
from optimize_eval.tasks.definition import Frequency, Multiclass, PythonMetric, known_results, qualified
from optimize_eval.tasks.stored_tasks import KeptScorer, tasks_in

_SHOWN = 20
_LEAST_GAP, _LARGEST_GAP = -1, 1  # of means from 0 to 1
_ROUNDING = 1e-12  # what is smaller is what sums leave
_DIGITS = (6, 9, 17)  # the last are all that a float has


class BoundAxes(NamedTuple):
    """What a bound may name, in what."""

    whole: str
    first: str
    second: str
    also: str = ""  # what else a gate may name

    @property
    def form(self) -> str:
        return f"{self.first.upper()}@{self.second.upper()}"


_OF_A_RUN = BoundAxes("run", "evaluator", "candidate")


@frozen
class Gate:
    """One demand, and what became of it."""

    name: str  # fail-under judge on v2, val
    is_met: bool
    text: str  # judge on v2, val: the mean 0.731 is below 0.8
    examples: tuple["Gate", ...] = field(default=(), repr=False)  # flaky ones that it is about
    is_judged: bool = True  # else nothing can be said of it, and so it is not met

    @property
    def verdict(self) -> str:
        return "gate met" if self.is_met else "gate missed" if self.is_judged else "gate not judged"


@frozen
class Bound:
    """The lowest mean that an evaluator may give a candidate, or any; or the lowest value of a metric."""

    evaluator: str
    candidate: str | None = None
    least: float
    model: str | None = None
    metric: str = ""
    note: str = ""

    def concerns(self, row: Row | ScorerMetrics) -> bool:
        is_of = self.candidate in {None, row.candidate} and self.model in {None, row.task_model}
        return is_of and row.evaluator == self.evaluator

    @property
    def subject(self) -> str:
        on = f" on {self.candidate}" if self.candidate is not None else ""
        return f"{self.evaluator}{on}{f' with {self.model}' if self.model is not None else ''}"


class Bounded(Protocol):
    """A mean with what it could be if failures counted as scores; SplitScores is one."""

    @property
    def mean(self) -> float | None: ...

    @property
    def ci(self) -> Interval | None: ...

    @property
    def scored(self) -> int: ...

    @property
    def failed(self) -> int: ...

    @property
    def skipped(self) -> int: ...

    @property
    def bounds(self) -> tuple[float | None, float | None] | None: ...


def parse_bound(text: str, layout: Layout) -> Bound:
    """Read NAME[@CANDIDATE][@MODEL]=LEAST of a run."""
    name, least = _read_least(text, _OF_A_RUN)
    models = [*filter(None, layout.task_models)]
    ends: dict[str, tuple[str | None, str | None]] = {f"@{model}": (None, model) for model in models}
    ends |= {f"@{candidate}": (candidate, None) for candidate in layout.candidates}
    ends |= {f"@{one}@{model}": (one, model) for one in layout.candidates for model in models} | {
        "": (None, None)
    }
    for evaluator in sorted(layout.evaluators, key=lambda one: (one != name, len(one))):
        end = name.removeprefix(evaluator)
        if name.startswith(evaluator) and end in ends:
            if layout.score_range(evaluator) is ScoreRange.UNIT:
                check_reachable(text, least, also="; where scores have another range: --score-range any")
            candidate, model = ends[end]
            return Bound(evaluator=evaluator, candidate=candidate, model=model, least=least)
    known = f"; its models {', '.join(models[:_SHOWN])}" if models else ""
    raise _say_unknown(name, _OF_A_RUN._replace(also=known), layout.evaluators, layout.candidates)


def check_reachable(text: str, least: float, also: str = "") -> None:
    """Refuse a lowest score that scores from 0 to 1 can never reach, or never fall below."""
    if not 0 <= least <= 1:
        can = "met" if least > 1 else "missed"
        raise UsageError(
            f"--fail-under {text} can never be {can}: the scores are from 0 to 1",
            hint=f"write a number from 0 to 1, such as 0.8{also}",
        )


def read_bound(
    text: str, axes: BoundAxes, firsts: Sequence[str], seconds: Sequence[str]
) -> tuple[str, str | None, float]:
    """Read FIRST=LEAST or FIRST@SECOND=LEAST; names may have = and @ themselves."""
    name, least = _read_least(text, axes)
    if name in firsts:
        return name, None, least
    for place in (at for at, letter in enumerate(name) if letter == "@"):
        first, second = name[:place], name[place + 1 :]
        if first in firsts and second in seconds:
            return first, second, least
    raise _say_unknown(name, axes, firsts, seconds)


def _read_least(text: str, axes: BoundAxes) -> tuple[str, float]:
    """Take a bound apart into what it names and its number."""
    name, _, said = text.rpartition("=")
    least = _number(said)
    if not name or not math.isfinite(least):
        hint = f"write --fail-under {axes.first.upper()}=0.8, or {axes.form}=0.8"
        raise UsageError(f"--fail-under needs {axes.first.upper()}=NUMBER, not {text!r}", hint=hint)
    return name, least


def _number(said: str) -> float:
    """Read a number; what is none is NaN."""
    try:
        return float(said)
    except ValueError:
        return math.nan


def _say_unknown(name: str, axes: BoundAxes, firsts: Sequence[str], seconds: Sequence[str]) -> UsageError:
    there = [", ".join(names[:_SHOWN]) for names in (firsts, seconds)]
    known = f"its {axes.first}s are {there[0]}; its {axes.second}s {there[1]}{axes.also}"
    begun = next((first for first in firsts if name.startswith(f"{first}.")), "")
    calls = f"; of repeated calls write {begun}.each, {begun}.pass^5 or {begun}.pass@5" if begun else ""
    return UsageError(f"the {axes.whole} has no {axes.first} {name!r}, nor {axes.form}", hint=known + calls)


def check_gap(layout: Layout, most: float) -> None:
    """Refuse a --max-gap that is not a number, or never met or missed, or where a run has no two splits."""
    if not math.isfinite(most):
        raise UsageError(f"--max-gap needs a number, not {most}", hint="write a number, such as 0.1")
    if not {"train", "val"} <= {split.name for split in layout.splits}:
        raise UsageError(
            "--max-gap is between train and val, and the run has not both", hint="give --dataset and --valset"
        )
    check_gap_reachable(most, layout.score_ranges)


def check_gap_reachable(most: float, score_ranges: Iterable[ScoreRange]) -> None:
    """Refuse a --max-gap that means of scores from 0 to 1 can never meet, or never miss."""
    never = "met" if most <= _LEAST_GAP else "missed" if most > _LARGEST_GAP else ""
    if never and all(score_range is ScoreRange.UNIT for score_range in score_ranges):
        raise UsageError(
            f"--max-gap {most:g} can never be {never}: it is between two means from 0 to 1",
            hint="write how much train may exceed val by, such as 0.1",
        )


def gates_of(summary: Summary, bounds: Sequence[Bound], max_gap: float | None) -> Iterator[Gate]:
    """Hold a summary against its bounds and its largest gap."""
    for bound in bounds:
        yield from _fail_under(summary, bound)
    if max_gap is not None:
        yield from (_gap_gate(row, max_gap, sentence_of(summary.leakage, "val")) for row in summary.rows)


def completeness(summary: Summary) -> Iterator[Gate]:
    """Demand what all other gates rest on: nothing is owed, and evaluators stayed what they were."""
    units, changed = summary.units, summary.changed
    if units.owed:
        text = f"the run is not finished: {units.owed:,} of {count(units.total, 'call')} are missing"
        yield Gate(name="complete", is_met=False, text=text)
    elif waiting := summary.waits_for_rules:
        text = f"the run is not finished: the rules of {', '.join(waiting)} were not applied yet"
        yield Gate(name="complete", is_met=False, text=text)
    if changed:
        text = f"{', '.join(changed)} changed while being called, so its scores come from different programs"
        yield Gate(name="unchanged", is_met=False, text=text)


def _fail_under(summary: Summary, bound: Bound) -> Iterator[Gate]:
    split = summary.decided_on
    rows = [row for row in summary.rows if bound.concerns(row)]
    if not rows:  # an added evaluator that was left out of the summary
        where = f"{bound.subject}, {split}"
        text = f"{where}: its mean cannot be known, so it may be below {plain(bound.least)}"
        yield Gate(name=f"fail-under {where}", is_met=False, text=text)
    leakage = summary.leakage.get(split)
    for row in rows:
        where = f"{place_of_scores(row)}, {split}"
        gate = bound_gate(where, row.splits[split], bound.least)
        if leakage and leakage.state == LEAKED:
            gate = replace(gate, text=f"{where}: without enough data: {leakage.not_held_out(split)}")
        elif leakage and leakage.state == KEPT:
            gate = replace(gate, text=f"{gate.text}{leakage.beside_gate(split)}")
        yield replace(gate, text=f"{gate.text}{bound.note}")


def bound_gate(where: str, told: Bounded, least: float) -> Gate:
    """Hold a mean against the lowest that it may be; `told` is as a summary tells of a split."""
    value, what = _value(told, least)
    return _gate(where, value, what if value is not None else f"{what} cannot be known", least)


def _gate(where: str, value: float | None, what: str, least: float) -> Gate:
    is_met = value is not None and reaches(value, least)
    verdict = f" is {'at least' if is_met else 'below'} {plain(least)}"
    if value is None:
        verdict = f", so it may be below {plain(least)}"
    return Gate(name=f"fail-under {where}", is_met=is_met, text=f"{where}: {what}{verdict}")


def _value(told: Bounded, least: float) -> tuple[float | None, str]:
    """Choose the mean, or where calls failed the lower bound, and say which with its numbers."""

    def holds(value: float) -> bool:
        return reaches(value, least)

    if not told.failed and told.mean is not None:
        ci = f" ({interval(told.ci, number)})" if told.ci else ""
        return told.mean, f"the mean {on_its_side(told.mean, number, holds)}{ci}"
    calls = told.scored + told.failed
    if not calls and told.skipped:
        return None, f"the mean (every call was skipped, {told.skipped:,} in all)"
    if calls and not told.failed:
        return None, f"the mean (no call of {calls:,} gave a number)"
    low = told.bounds[0] if told.bounds else None
    lower = "the lower bound" if low is None else f"the lower bound {on_its_side(low, number, holds)}"
    return low, f"{lower} ({told.failed:,} of {count(calls, 'call')} failed)"


def _gap_gate(row: Row, most: float, doubt: str) -> Gate:
    where, gap = place_of_scores(row), row.gap
    value, ends = _largest_gap(row)
    if gap is None or value is None:
        what = f"the gap between train and val cannot be known{f': {doubt}' if doubt else ''}"
        return Gate(name=f"max-gap {where}", is_met=False, text=f"{where}: {what}{ends}")

    def holds(value: float) -> bool:
        return reaches(most, value)

    is_met = holds(value)
    ci = f" ({interval(gap.ci)})" if gap.ci and not ends else ""
    also = f"; {doubt}" if doubt else ""
    verb = "is at most" if is_met else "is above"
    text = (
        f"{where}: train minus val {on_its_side(value, signed, holds)}{ci}{ends} {verb} {plain(most)}{also}"
    )
    return Gate(name=f"max-gap {where}", is_met=is_met, text=text)


def _largest_gap(row: Row) -> tuple[float | None, str]:
    """Give the gap; where calls failed, the largest that they leave open, and how it comes about."""
    train, val = (row.splits[name] for name in ("train", "val"))
    failed = train.failed + val.failed
    if not failed:
        return (row.gap.value if row.gap else None), ""
    counted = f" ({count(failed, 'call')} failed: on train counted as 1, on val as 0)"
    if train.bounds is None or val.bounds is None:
        return None, f": {count(failed, 'call')} failed, and scores have no ends"
    high, low = train.bounds[1], val.bounds[0]
    return (None if high is None or low is None else high - low), counted


def reaches(value: float, least: float) -> bool:
    return value >= least or math.isclose(value, least, rel_tol=_ROUNDING, abs_tol=_ROUNDING)


def on_its_side(value: float, write: Callable[[float], str], holds: Callable[[float], bool]) -> str:
    """Write a value with the fewest digits that leave it on its side of a bound."""
    sign = "+" if write is signed else ""
    texts = [write(value), *(f"{value:{sign}.{digits}g}".replace("-", MINUS) for digits in _DIGITS)]
    return next((text for text in texts if holds(float(text.replace(MINUS, "-"))) is holds(value)), texts[-1])


def plain(bound: float) -> str:
    """Write a bound as it was given."""
    return f"{bound:g}" if float(f"{bound:g}") == bound else repr(bound)


_NAMED_LATER = (Frequency, Multiclass, PythonMetric)  # data or code decides what their results are called


def task_bound(text: str, settings: JsonMapping, layout: Layout, *, of_bench: bool = False) -> Bound | None:
    """Read EVALUATOR.METRIC[@CANDIDATE][@MODEL]=LEAST, of a bench also EVALUATOR[@MODEL]; else None."""
    name, _, said = text.rpartition("=")
    scorers = {scorer.evaluator: scorer for task in tasks_in(settings) for scorer in task.scorers}
    if not scorers or not math.isfinite(_number(said)):
        return None
    whole, model = _apart(name, [*filter(None, layout.task_models)])
    if whole in layout.evaluators:
        if of_bench and layout.score_range(whole) is ScoreRange.UNIT:
            check_reachable(text, float(said))
        return Bound(evaluator=whole, model=model, least=float(said)) if of_bench else None
    for evaluator in sorted(scorers, key=len, reverse=True):
        if name.startswith(f"{evaluator}."):
            rest, model = _apart(name[len(evaluator) + 1 :], [*filter(None, layout.task_models)])
            metric, candidate = _apart(rest, layout.candidates)
            _check(scorers[evaluator], metric)
            return Bound(
                evaluator=evaluator, metric=metric, candidate=candidate, model=model, least=float(said)
            )
    if of_bench:
        _check_scorer(name, scorers, layout)
    return None


def task_bounds(
    texts: Sequence[str], settings: JsonMapping, layout: Layout, *, of_bench: bool = False
) -> dict[str, Bound]:
    """Find the bounds that are of metrics, and of a bench's scorers; only tasks in YAML have these."""
    if "tasks" not in settings:
        return {}
    found = {text: task_bound(text, settings, layout, of_bench=of_bench) for text in texts}
    return {text: bound for text, bound in found.items() if bound}


def task_gates(summary: Summary, bounds: Sequence[Bound]) -> Iterator[Gate]:
    """Hold metrics, and the means of a bench's scorers, against bounds."""
    for bound in bounds:
        if bound.metric:
            yield from _of_metric(summary.metrics, summary.decided_on, bound)
            continue
        for row in filter(bound.concerns, summary.rows):
            of = row.task_model or row.candidate
            for split, told in row.splits.items():
                yield bound_gate(f"{row.evaluator} on {of}, {split}", told, bound.least)


def _of_metric(metrics: Sequence[ScorerMetrics], decided_on: str, bound: Bound) -> Iterator[Gate]:
    """Hold a metric against its bound on the split that decides; of a scorer that is for others, on these."""
    rows = list(filter(bound.concerns, metrics))
    rows = [row for row in rows if row.split == decided_on] or rows
    if not rows:
        where = f"{bound.evaluator}.{bound.metric}, {decided_on}"
        yield _gate(where, None, "its value cannot be known", bound.least)
    for row in rows:
        value, what = _metric_value(row, bound.metric)
        yield _gate(_metric_place(row, bound.metric), value, what, bound.least)


def _metric_value(one: ScorerMetrics, metric: str) -> tuple[float | None, str]:
    """Give a metric's value, if it can be relied on, and the words for it."""
    table = one.table
    found = {
        value: measured.n
        for measured in table.metrics
        for name, value in measured.values.items()
        if name == metric or name.endswith(f".{metric}")  # one of several of this name
    }
    value, n = next(iter(found.items())) if len(found) == 1 else (None, 0)
    if value is None:
        return None, f"its value cannot be known ({_why_unknown(one, metric, found)})"
    if table.n_failed:
        return None, f"{number(value)} lacks {count(table.n_failed, 'row')} that failed"
    if one.rule_faults:
        rules = ", ".join(fault.rule for fault in one.rule_faults)
        return None, f"{number(value)} has rows in it to which {rules} cannot be applied"
    return value, f"{_precisely(value)} ({count(n, 'row')})"


def _why_unknown(one: ScorerMetrics, metric: str, found: Collection[float | None]) -> str:
    if len(found) > 1:
        return f"several metrics of this name differ: name one of {', '.join(_alike(one, metric))}"
    if found:
        return "it is not defined (0/0)"
    problems = (one.problem, *(measured.problem for measured in one.table.metrics))
    names = [name for measured in one.table.metrics for name in measured.values]
    there = f"there {'is' if len(names) == 1 else 'are'} {', '.join(names[:_SHOWN]) or 'none'}"
    return next(filter(None, problems), f"there is no such metric; {there}")


def _precisely(value: float) -> str:
    return f"{value:g}" if float(f"{value:g}") == value else number(value)


def _metric_place(one: ScorerMetrics, metric: str) -> str:
    if one.task_model and one.candidate == THE_PROMPT.name:  # of a bench, whose models are compared
        return f"{one.evaluator}.{metric} on {one.task_model}, {one.split}"
    model = f" with {one.task_model}" if one.task_model else ""
    return f"{one.evaluator}.{metric} on {one.candidate}{model}, {one.split}"


def _apart(name: str, known: Sequence[str]) -> tuple[str, str | None]:
    """Take the candidate or model off that may stand behind a metric's name."""
    end = next((one for one in known if name.endswith(f"@{one}")), None)
    return (name, None) if end is None else (name.removesuffix(f"@{end}"), end)


def _check_scorer(name: str, scorers: Iterable[str], layout: Layout) -> None:
    """Refuse a scorer that a task of a bench does not have, unless models may be meant."""
    task, dot, rest = name.partition(".")
    own = [scorer for scorer in scorers if scorer.startswith(f"{task}.")]
    models = [*filter(None, layout.task_models)]
    if not dot or not own or any(model.partition(".")[0] == task for model in models):
        return
    there = f"{', '.join(own[:_SHOWN])}, and behind @ {', '.join(models[:_SHOWN])}"
    raise UsageError(f"the task {task} has no scorer {rest!r}", hint=f"name one of {there}")


def _check(scorer: KeptScorer, metric: str) -> None:
    """Refuse a metric that the scorer cannot have; names that data or code gives are not known yet."""
    if scorer.metrics is None or any(isinstance(one, _NAMED_LATER) for one in scorer.metrics):
        return
    every = Counter(name for one in scorer.metrics for name in known_results(one))
    known = [
        name if every[name] == 1 else qualified(one, name)
        for one in scorer.metrics
        for name in known_results(one)
    ]
    if metric in known or metric in every:
        return
    there = ", ".join(known[:_SHOWN])
    hint = f"its metrics are {there}; name one of these" if there else "it has none: give it some in the task"
    raise UsageError(f"{scorer.evaluator} has no metric {metric!r}", hint=hint)


def _alike(one: ScorerMetrics, metric: str) -> Iterator[str]:
    """List the results that are called so behind the key of their metric."""
    names = (name for measured in one.table.metrics for name in measured.values)
    return (name for name in names if name.endswith(f".{metric}"))
