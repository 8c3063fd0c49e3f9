"""Gates on metrics of tasks: the lowest value that one may have, for each candidate and model.

A value that leaves failed rows out shows nothing about these, so it meets no gate.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from optimize_eval.errors import UsageError
from optimize_eval.findings.metrics.shape import ScorerMetrics
from optimize_eval.findings.summary.gates import Gate
from optimize_eval.findings.wording import count, number
from optimize_eval.frozen import frozen
from optimize_eval.store.layout import Layout
from optimize_eval.tasks.definitions.score.kept import KeptScorer, tasks_in
from optimize_eval.tasks.definitions.score.metrics import Binary, Counted, Metric, Number

_SHOWN = 20


@frozen
class MetricBound:
    """The lowest value that a scorer's metric may have."""

    evaluator: str
    metric: str
    candidate: str | None
    least: float


def metric_bound(text: str, settings: Mapping[str, Any], layout: Layout) -> MetricBound | None:
    """Read EVALUATOR.METRIC[@CANDIDATE]=LEAST; None where this is of an evaluator, or of none."""
    name, _, said = text.rpartition("=")
    scorers = {one.evaluator: one for task in tasks_in(settings) for one in task.scorers}
    if name in layout.evaluators or not scorers or not _is_number(said):
        return None
    for evaluator in sorted(scorers, key=len, reverse=True):
        if name.startswith(f"{evaluator}."):
            metric, candidate = _apart(name[len(evaluator) + 1 :], layout.candidates)
            _check(scorers[evaluator], metric)
            return MetricBound(evaluator=evaluator, metric=metric, candidate=candidate, least=float(said))
    return None


def bounds_in(texts: Sequence[str], settings: Mapping[str, Any], layout: Layout) -> dict[str, MetricBound]:
    """Find the bounds that are of metrics, by their texts."""
    found = {text: metric_bound(text, settings, layout) for text in texts}
    return {text: bound for text, bound in found.items() if bound}


def metric_gates(
    metrics: Sequence[ScorerMetrics], decided_on: str, bounds: Sequence[MetricBound]
) -> Iterator[Gate]:
    """Hold metrics against bounds, on the split that decides; of a scorer that is for others, on these."""
    for bound in bounds:
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
    values = {name: value for measured in table.metrics for name, value in measured.values.items()}
    problems = [one.problem, *(measured.problem for measured in table.metrics)]
    value = values.get(metric)
    if value is None:
        there = ", ".join([*values][:_SHOWN])
        why = "it is not defined (0/0)" if metric in values else f"there is no such metric; there are {there}"
        said = next(filter(None, problems), why) if metric not in values else why
        return None, f"its value cannot be known: {said}"
    if table.n_failed:
        return None, f"{number(value)} leaves out {count(table.n_failed, 'row')} that failed"
    if one.rule_faults:
        rules = ", ".join(fault.rule for fault in one.rule_faults)
        return None, f"{number(value)} has rows in it to which {rules} cannot be applied"
    return value, f"{_precisely(value)} ({count(table.n_scored, 'row')})"


def _precisely(value: float) -> str:
    return f"{value:g}" if float(f"{value:g}") == value else number(value)


def _where(one: ScorerMetrics, metric: str) -> str:
    model = f" with {one.task_model}" if one.task_model else ""
    return f"{one.evaluator}.{metric} on {one.candidate}{model}, {one.split}"


def _concerns(bound: MetricBound, one: ScorerMetrics) -> bool:
    return one.evaluator == bound.evaluator and bound.candidate in {None, one.candidate}


def _apart(name: str, candidates: Sequence[str]) -> tuple[str, str | None]:
    """Take the candidate off that may stand behind a metric's name."""
    ends = (one for one in candidates if name.endswith(f"@{one}"))
    candidate = next(ends, None)
    return (name, None) if candidate is None else (name.removesuffix(f"@{candidate}"), candidate)


def _check(scorer: KeptScorer, metric: str) -> None:
    """Refuse a metric that the scorer cannot have; names that data or code gives are not known yet."""
    names = [_names(one) for one in scorer.metrics or ()]
    known = [name for some in names for name in some or ()]
    if scorer.metrics is None or None in names or metric in known:
        return
    there = ", ".join(known[:_SHOWN]) or "none"
    raise UsageError(
        f"{scorer.evaluator} has no metric {metric!r}", hint=f"its metrics are {there}; name one of these"
    )


def _names(metric: Metric) -> list[str] | None:
    match metric:
        case Number():
            return [metric.name or f"{metric.field}_{metric.type}"]
        case Counted():
            return [metric.name or metric.type]
        case Binary():
            return ["accuracy", "precision", "recall", "f1_score"]
    return None


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
