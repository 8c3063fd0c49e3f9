"""The metrics of tasks in YAML in two runs or benches, put beside each other.

They are of all rows that count in each run, be these in the other or not.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.board.stored import is_bench_folder
from optimize_eval.findings.diff.measured import CountedRows, MetricDiff, MetricOfRun, ScorerMetricsDiff
from optimize_eval.findings.diff.shapes import BoardDiff
from optimize_eval.findings.metrics import metrics_of
from optimize_eval.findings.metrics.shape import ScorerMetrics
from optimize_eval.store.stored import StoredRun, open_stored

_Key = tuple[str, str, str | None, str]  # evaluator, candidate, model, split


@frozen
class Names:
    """What candidates and models of B are called in A."""

    candidates: Mapping[str, str]
    models: Mapping[str | None, str | None]


def metrics_between(a: StoredRun, b: StoredRun, names: Names) -> tuple[ScorerMetricsDiff, ...]:
    """Compare the metrics of what both runs have; most have none."""
    before = {_key(one): one for one in metrics_of(a, a.layout)}
    after = {_key(one): one for one in metrics_of(b, b.layout)}
    return tuple(_between(before, after, names))


def with_metrics(diff: BoardDiff, a: str, b: str) -> BoardDiff:
    """Put the metrics of two benches into the comparison of their boards; a board alone has none."""
    if not (is_bench_folder(a) and is_bench_folder(b)):
        return diff
    before, after = open_stored(a), open_stored(b)
    models: dict[str | None, str | None] = {one.model: one.model_in_a for one in diff.models}
    names = Names(candidates={name: name for name in after.layout.candidates}, models=models)
    return replace(diff, metrics=metrics_between(before, after, names))


def _between(
    before: Mapping[_Key, ScorerMetrics], after: Mapping[_Key, ScorerMetrics], names: Names
) -> Iterator[ScorerMetricsDiff]:
    in_a = {key: _key_in_a(key, names) for key in after}
    for key, one in after.items():
        if (former := in_a[key]) is not None:
            yield _diff(key, former, before.get(former), one)
    candidates = {name: here for here, name in names.candidates.items()}
    models = {name: here for here, name in names.models.items()}
    for former, one in before.items():
        evaluator, candidate, model, split = former
        if former not in in_a.values() and candidate in candidates and model in models:
            yield _diff((evaluator, candidates[candidate], models[model], split), former, one, None)


def _key(one: ScorerMetrics) -> _Key:
    return one.evaluator, one.candidate, one.task_model, one.split


def _key_in_a(key: _Key, names: Names) -> _Key | None:
    evaluator, candidate, model, split = key
    if candidate not in names.candidates or model not in names.models:
        return None
    return evaluator, names.candidates[candidate], names.models[model], split


def _diff(
    key: _Key, former: _Key, before: ScorerMetrics | None, after: ScorerMetrics | None
) -> ScorerMetricsDiff:
    evaluator, candidate, model, split = key
    named = after or before
    return ScorerMetricsDiff(
        evaluator=evaluator,
        display_name=named.display_name if named else "",
        candidate=candidate,
        candidate_in_a=former[1],
        task_model=model,
        task_model_in_a=former[2],
        split=split,
        a=_counted(before),
        b=_counted(after),
        metrics=tuple(_metrics(_numbers(before), _numbers(after))),
    )


def _counted(one: ScorerMetrics | None) -> CountedRows | None:
    if one is None:
        return None
    table = one.table
    problems = [one.problem, *(measured.problem for measured in table.metrics)]
    return CountedRows(
        n_total=table.n_total,
        n_scored=table.n_scored,
        n_excluded=table.n_excluded,
        n_failed=table.n_failed,
        excluded_by=dict(table.excluded_by),
        problems=tuple(filter(None, problems)),
        rule_faults=tuple(fault.told(one.split) for fault in one.rule_faults),
    )


def _numbers(one: ScorerMetrics | None) -> dict[str, MetricOfRun]:
    """Name each number; of those that several metrics call alike, the later ones are counted."""
    found: dict[str, MetricOfRun] = {}
    for metric in one.table.metrics if one else ():
        names = {name: _free(name, found) for name in metric.values}
        found |= {names[name]: MetricOfRun(value=value, n=metric.n) for name, value in metric.values.items()}
    return found


def _free(name: str, taken: Collection[str]) -> str:
    others = (f"{name} ({place})" for place in count(2))
    return name if name not in taken else next(other for other in others if other not in taken)


def _metrics(a: Mapping[str, MetricOfRun], b: Mapping[str, MetricOfRun]) -> Iterator[MetricDiff]:
    for name in dict.fromkeys((*b, *a)):
        before, after = a.get(name), b.get(name)
        yield MetricDiff(name=name, a=before, b=after, diff=_difference(before, after))


def _difference(before: MetricOfRun | None, after: MetricOfRun | None) -> float | None:
    values: Sequence[float | None] = [one.value if one else None for one in (before, after)]
    a, b = values
    return None if a is None or b is None else b - a
