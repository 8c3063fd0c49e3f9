"""Metrics computed of rows; what is wrong with one metric is told in its place and stops no other."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from optimize_eval.findings.metrics.classes import binary, check_few, multiclass, ratio
from optimize_eval.findings.metrics.columns import is_numeric, names_in, numbers, texts
from optimize_eval.findings.metrics.shape import Measured, MetricFault, MetricsTable, Row, Sampled
from optimize_eval.tasks.definition import (
    Binary,
    Counted,
    Frequency,
    Metric,
    Multiclass,
    Number,
    PythonMetric,
    known_results,
    qualified,
    type_of,
)

Values = Mapping[str, float | None]
OfCode = Callable[[PythonMetric], Values | None]  # what code gave at the end of a run, if it was written down

_LABEL = "label"
_RENAMED = {"is_correct": "accuracy"}  # what its mean is called


def tabulate(
    metrics: Sequence[Metric] | None,
    samples: Sequence[Sampled],
    of_code: OfCode = lambda _metric: None,
    *,
    is_evidence: bool = False,
) -> MetricsTable:
    """Compute a scorer's metrics of the samples that it scored and no rule excludes, and count the others.

    The fields of a system task are metrics already, and keep their names.
    """
    scored = [sample for sample in samples if sample.fields is not None]
    rows = [sample.fields for sample in scored if sample.fields is not None and not sample.excluded_by]
    chosen = by_their_names(rows) if is_evidence else metrics
    return MetricsTable(
        n_total=len(samples),
        n_scored=len(rows),
        n_excluded=len(scored) - len(rows),
        n_failed=len(samples) - len(scored),
        excluded_by=Counter(rule for sample in scored for rule in sample.excluded_by),
        metrics=tuple(measure(chosen, rows, of_code)),
    )


def measure(
    metrics: Sequence[Metric] | None,
    rows: Sequence[Row],
    of_code: OfCode = lambda _metric: None,
) -> list[Measured]:
    """Compute metrics of a scorer's rows, which are those that count; None stands for the usual ones.

    >>> [one.values for one in measure(None, [{"is_correct": True}, {"is_correct": False}])]
    [{'accuracy': 0.5}]
    """
    if metrics is None:
        return [_measured(metric, rows, of_code) for metric in usual(rows)]
    return _told_apart(metrics, [_measured(metric, rows, of_code) for metric in metrics])


def _told_apart(metrics: Sequence[Metric], measured: Sequence[Measured]) -> list[Measured]:
    """Qualify results that several metrics have, also where one of these could not be computed."""
    each = [{*known_results(metric), *one.values} for metric, one in zip(metrics, measured, strict=True)]
    shared = {name for name, many in Counter(name for names in each for name in names).items() if many > 1}
    if not shared:
        return [*measured]
    return [_qualified(metric, one, shared) for metric, one in zip(metrics, measured, strict=True)]


def _qualified(metric: Metric, one: Measured, shared: Collection[str]) -> Measured:
    values = {
        qualified(metric, name) if name in shared else name: value for name, value in one.values.items()
    }
    return replace(one, values=values)


def usual(rows: Sequence[Row]) -> list[Metric]:
    """Give the metrics of a scorer that names none: means of numeric fields; of labels, their shares."""
    names = names_in(rows)
    means: list[Metric] = [
        Number(type="mean", field=name, name=_RENAMED.get(name, ""))
        for name in names
        if is_numeric(rows, name)
    ]
    return means or [Frequency(field=name) for name in names if name == _LABEL]


def by_their_names(rows: Sequence[Row]) -> list[Metric]:
    """Give a metric for each field, of the field's own name; of several repeats it is their mean."""
    return [Number(type="mean", field=name, name=name) for name in names_in(rows)]


def _measured(metric: Metric, rows: Sequence[Row], of_code: OfCode) -> Measured:
    try:
        return _computed(metric, rows, of_code)
    except MetricFault as fault:
        return Measured(type=type_of(metric), problem=str(fault))
    except OverflowError:
        return Measured(type=type_of(metric), problem="its numbers are too large to compute with")


def _computed(metric: Metric, rows: Sequence[Row], of_code: OfCode) -> Measured:
    match metric:
        case PythonMetric():
            return _of_code(metric, rows, of_code(metric))
        case Binary():
            return binary(metric, rows)
        case Multiclass():
            return multiclass(metric, rows)
        case Number():
            return _number(metric, rows)
        case Frequency():
            return _frequency(metric, rows)
        case Counted():
            return _counted(metric, rows)


def _of_code(metric: PythonMetric, rows: Sequence[Row], values: Values | None) -> Measured:
    if values is None:
        raise MetricFault("its code was not run yet for these rows: run the command again")
    return Measured(type=type_of(metric), values=values, n=len(rows))


def _number(metric: Number, rows: Sequence[Row]) -> Measured:
    values = [value for (value,) in numbers(rows, metric.field)]
    name = metric.name or f"{metric.field}_{metric.type}"
    number = _NUMBERS[metric.type](values) if values else None
    return Measured(type=metric.type, values={name: number}, n=len(values), missing=len(rows) - len(values))


def _frequency(metric: Frequency, rows: Sequence[Row]) -> Measured:
    found = [text for (text,) in texts(rows, metric.field)]
    counts = Counter(found)
    check_few(counts, "values to count")
    shares = {f"{metric.field}_{text}": count / len(found) for text, count in sorted(counts.items())}
    return Measured(type=type_of(metric), values=shares, n=len(found), missing=len(rows) - len(found))


def _counted(metric: Counted, rows: Sequence[Row]) -> Measured:
    """Sum the counts of all rows before dividing."""
    needed = {
        "recall": (metric.num_false_negatives_field,),
        "precision": (metric.num_false_positives_field,),
        "f1_score": (metric.num_false_negatives_field, metric.num_false_positives_field),
    }[metric.type]
    counts = numbers(rows, metric.num_true_positives_field, *needed)
    sums = [math.fsum(column) for column in zip(*counts, strict=True)] or [0.0] * (1 + len(needed))
    right = sums[0] * len(needed)
    value = ratio(right, right + math.fsum(sums[1:]))
    return Measured(
        type=metric.type,
        values={metric.name or metric.type: value},
        n=len(counts),
        missing=len(rows) - len(counts),
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _std_dev(values: Sequence[float]) -> float:
    """Give the deviation of these values themselves, not of others that they stand for."""
    mean = _mean(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))


_NUMBERS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "mean": _mean,
    "max": max,
    "min": min,
    "std_dev": _std_dev,
}
