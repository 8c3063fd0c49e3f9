"""Gates on metrics of tasks, and on scorers of benches: the lowest value, for each candidate and model.

A value that leaves failed rows out shows nothing about these, so it meets no gate.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.data.candidates import THE_PROMPT
from optimize_eval.findings.metrics.shape import ScorerMetrics
from optimize_eval.findings.shapes.row import Row
from optimize_eval.findings.shapes.summary import Summary
from optimize_eval.findings.summary.gates import Gate, bound_gate, check_reachable
from optimize_eval.findings.wording import count, number
from optimize_eval.store.layout import Layout
from optimize_eval.tasks.definition import Frequency, Multiclass, PythonMetric, known_results, qualified
from optimize_eval.tasks.kept import KeptScorer, tasks_in

_SHOWN = 20
_NAMED_LATER = (Frequency, Multiclass, PythonMetric)  # data or code decides what their results are called


@frozen
class MetricBound:
    """The lowest value that a scorer's metric may have."""

    evaluator: str
    metric: str
    candidate: str | None
    model: str | None
    least: float


@frozen
class ScorerBound:
    """The lowest mean that a bench's scorer may have, with a model or with each."""

    evaluator: str
    model: str | None
    least: float


TaskBound = MetricBound | ScorerBound


def task_bound(
    text: str, settings: Mapping[str, Any], layout: Layout, *, of_bench: bool = False
) -> TaskBound | None:
    """Read EVALUATOR.METRIC[@CANDIDATE][@MODEL]=LEAST, of a bench also EVALUATOR[@MODEL]; else None."""
    name, _, said = text.rpartition("=")
    scorers = {one.evaluator: one for task in tasks_in(settings) for one in task.scorers}
    if not scorers or not _is_number(said):
        return None
    whole, model = _apart(name, [*filter(None, layout.task_models)])
    if whole in layout.evaluators:
        if of_bench and layout.score_range(whole) is ScoreRange.UNIT:
            check_reachable(text, float(said))
        return ScorerBound(evaluator=whole, model=model, least=float(said)) if of_bench else None
    for evaluator in sorted(scorers, key=len, reverse=True):
        if name.startswith(f"{evaluator}."):
            rest, model = _apart(name[len(evaluator) + 1 :], [*filter(None, layout.task_models)])
            metric, candidate = _apart(rest, layout.candidates)
            _check(scorers[evaluator], metric)
            return MetricBound(
                evaluator=evaluator, metric=metric, candidate=candidate, model=model, least=float(said)
            )
    if of_bench:
        _check_scorer(name, scorers, layout)
    return None


def bounds_in(
    texts: Sequence[str], settings: Mapping[str, Any], layout: Layout, *, of_bench: bool = False
) -> dict[str, TaskBound]:
    """Find the bounds that are of metrics and scorers, by their texts."""
    found = {text: task_bound(text, settings, layout, of_bench=of_bench) for text in texts}
    return {text: bound for text, bound in found.items() if bound}


def task_gates(summary: Summary, bounds: Sequence[TaskBound]) -> Iterator[Gate]:
    """Hold metrics and scorers against bounds."""
    for bound in bounds:
        if isinstance(bound, ScorerBound):
            yield from _of_scorer(summary.rows, bound)
        else:
            yield from _of_metric(summary.metrics, summary.decided_on, bound)


def _of_scorer(rows: Sequence[Row], bound: ScorerBound) -> Iterator[Gate]:
    for row in rows:
        if row.evaluator == bound.evaluator and bound.model in {None, row.task_model}:
            of = row.task_model or row.candidate
            for split, told in row.splits.items():
                yield bound_gate(f"{row.evaluator} on {of}, {split}", told, bound.least)


def _of_metric(metrics: Sequence[ScorerMetrics], decided_on: str, bound: MetricBound) -> Iterator[Gate]:
    """Hold a metric against its bound on the split that decides; of a scorer that is for others, on these."""
    rows = [one for one in metrics if _concerns(bound, one)]
    rows = [one for one in rows if one.split == decided_on] or rows
    if not rows:
        where = f"{bound.evaluator}.{bound.metric}, {decided_on}"
        yield _gate(where, None, "its value cannot be known", bound.least)
    for one in rows:
        value, what = _value(one, bound.metric)
        yield _gate(_where(one, bound.metric), value, what, bound.least)


def _gate(where: str, value: float | None, what: str, least: float) -> Gate:
    is_met = value is not None and (value >= least or math.isclose(value, least, rel_tol=1e-12))
    verdict = f"is {'at least' if is_met else 'below'} {least:g}"
    if value is None:
        verdict = f": {least:g} is not shown to be met"
    text = f"{where}: {what}{' ' * (value is not None)}{verdict}"
    return Gate(name=f"fail-under {where}", is_met=is_met, text=text)


def _value(one: ScorerMetrics, metric: str) -> tuple[float | None, str]:
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
        return None, f"{number(value)} leaves out {count(table.n_failed, 'row')} that failed"
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


def _where(one: ScorerMetrics, metric: str) -> str:
    if one.task_model and one.candidate == THE_PROMPT.name:  # of a bench, whose models are compared
        return f"{one.evaluator}.{metric} on {one.task_model}, {one.split}"
    model = f" with {one.task_model}" if one.task_model else ""
    return f"{one.evaluator}.{metric} on {one.candidate}{model}, {one.split}"


def _concerns(bound: MetricBound, one: ScorerMetrics) -> bool:
    is_of = bound.candidate in {None, one.candidate} and bound.model in {None, one.task_model}
    return is_of and one.evaluator == bound.evaluator


def _apart(name: str, known: Sequence[str]) -> tuple[str, str | None]:
    """Take the candidate or model off that may stand behind a metric's name."""
    end = next((one for one in known if name.endswith(f"@{one}")), None)
    return (name, None) if end is None else (name.removesuffix(f"@{end}"), end)


def _check_scorer(name: str, scorers: Iterable[str], layout: Layout) -> None:
    """Refuse a scorer that a task of a bench does not have, unless models may be meant."""
    task, dot, rest = name.partition(".")
    own = [one for one in scorers if one.startswith(f"{task}.")]
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


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
