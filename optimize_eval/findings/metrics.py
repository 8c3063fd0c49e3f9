"""Metrics of tasks: fields of rows become numbers; what is wrong with one stops no other."""

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from optimize_eval.findings.summary_shape import Measured, MetricFault, MetricRow, MetricsTable, Sampled
from optimize_eval.tasks.definition import (
    Binary,
    Counted,
    Frequency,
    Metric,
    Multiclass,
    Number,
    PythonMetric,
    is_text_of,
    known_results,
    qualified,
    text_of,
    type_of,
)

Value = TypeVar("Value")

_LONGEST = 60


def numbers(rows: Sequence[MetricRow], *names: str) -> list[tuple[float, ...]]:
    """Read these fields of all rows that have all of them, as numbers."""
    return _read(rows, names, _number_in)


def values(rows: Sequence[MetricRow], *names: str) -> list[tuple[Any, ...]]:
    """Read these fields of all rows that have all of them."""
    return _read(rows, names, lambda value, _name: value)


def texts(rows: Sequence[MetricRow], *names: str) -> list[tuple[str, ...]]:
    """Read these fields of all rows that have all of them, as texts."""
    return _read(rows, names, lambda value, _name: text_of(value))


def is_numeric(rows: Sequence[MetricRow], name: str) -> bool:
    """Return True if a field has numbers or booleans alone, and some."""
    values = [row[name] for row in rows if row.get(name) is not None]
    return bool(values) and all(isinstance(value, bool | int | float) for value in values)


def names_in(rows: Sequence[MetricRow]) -> list[str]:
    """List the fields of all rows, in the order in which they come first."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _read(
    rows: Sequence[MetricRow], names: Sequence[str], read: Callable[[Any, str], Value]
) -> list[tuple[Value, ...]]:
    _check(rows, names)
    whole = (row for row in rows if all(row.get(name) is not None for name in names))
    return [tuple(read(row[name], name) for name in names) for row in whole]


def _check(rows: Sequence[MetricRow], names: Sequence[str]) -> None:
    """Refuse a field that is nowhere; of no rows at all, nothing can be said."""
    for name in names:
        if rows and not any(name in row for row in rows):
            there = ", ".join(map(repr, names_in(rows))) or "none"
            raise MetricFault(f"no row has a field {name!r}; there are {there}")


def _number_in(value: object, name: str) -> float:
    if not isinstance(value, bool | int | float) or not math.isfinite(value):
        raise MetricFault(f"the field {name!r} holds {_shown(value)}, not a number")
    return float(value)


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


MOST = 1000  # results of a metric

Pair = tuple[str, str]  # what is right, what is said


class _Counts:
    """How many rows have which pair."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self.pairs = Counter(pairs)
        self._right, self._said = Counter[str](), Counter[str]()
        for (right, said), count in self.pairs.items():
            self._right[right] += count
            self._said[said] += count

    @property
    def classes(self) -> list[str]:
        return sorted({*self._right, *self._said})

    @property
    def accuracy(self) -> float | None:
        same = sum(count for (right, said), count in self.pairs.items() if right == said)
        return ratio(same, self.pairs.total())

    def precision(self, one: str) -> float | None:
        return ratio(self.pairs[one, one], self._said[one])

    def recall(self, one: str) -> float | None:
        return ratio(self.pairs[one, one], self._right[one])

    def f1_score(self, one: str) -> float | None:
        return ratio(2 * self.pairs[one, one], self._said[one] + self._right[one])

    @property
    def confusion(self) -> Mapping[str, Mapping[str, int]]:
        """Give the rows of each pair that there is."""
        table: dict[str, dict[str, int]] = {}
        for (right, said), count in sorted(self.pairs.items()):
            table.setdefault(right, {})[said] = count
        return table


def binary(metric: Binary, rows: Sequence[MetricRow]) -> Measured:
    """Count how often each of two answers is right; rows with others are left out."""
    found = values(rows, metric.field_gt, metric.field_pred)
    answers = (metric.positive_answer, metric.negative_answer)
    read = [(_answer(right, answers), _answer(said, answers)) for right, said in found]
    known = [(right, said) for right, said in read if right is not None and said is not None]
    counts, yes = _Counts(known), metric.positive_answer
    results = {
        "accuracy": counts.accuracy,
        "precision": counts.precision(yes),
        "recall": counts.recall(yes),
        "f1_score": counts.f1_score(yes),
    }
    return Measured(
        type=type_of(metric),
        values=results,
        n=len(known),
        missing=len(rows) - len(found),
        left_out=len(found) - len(known),
        confusion=counts.confusion,
    )


def multiclass(metric: Multiclass, rows: Sequence[MetricRow]) -> Measured:
    """Count how often each class is right; classes are all texts that are there."""
    found = texts(rows, metric.field_gt, metric.field_pred)
    counts = _Counts((right, said) for right, said in found)
    classes = counts.classes
    check_few(classes, "classes")
    results = {"accuracy": counts.accuracy}
    for one in classes:
        results |= {f"{one}_precision": counts.precision(one), f"{one}_recall": counts.recall(one)}
    return Measured(
        type=type_of(metric),
        values=results,
        n=len(found),
        missing=len(rows) - len(found),
        confusion=counts.confusion,
    )


def check_few(texts: Collection[str], what: str) -> None:
    """Refuse what has a result for each of very many texts."""
    if len(texts) > MOST:
        raise MetricFault(f"there are {len(texts):,} different texts, which are no {what}: at most {MOST:,}")


def ratio(part: float, whole: float) -> float | None:
    """Divide; 0/0 is not defined."""
    return part / whole if whole else None


def _answer(value: object, answers: Iterable[str]) -> str | None:
    """Find which answer a value is."""
    return next((answer for answer in answers if is_text_of(answer, value)), None)


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
    rows: Sequence[MetricRow],
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


def usual(rows: Sequence[MetricRow]) -> list[Metric]:
    """Give the metrics of a scorer that names none: means of numeric fields; of labels, their shares."""
    names = names_in(rows)
    means: list[Metric] = [
        Number(type="mean", field=name, name=_RENAMED.get(name, ""))
        for name in names
        if is_numeric(rows, name)
    ]
    return means or [Frequency(field=name) for name in names if name == _LABEL]


def by_their_names(rows: Sequence[MetricRow]) -> list[Metric]:
    """Give a metric for each field, of the field's own name; of several repeats it is their mean."""
    return [Number(type="mean", field=name, name=name) for name in names_in(rows)]


def _measured(metric: Metric, rows: Sequence[MetricRow], of_code: OfCode) -> Measured:
    try:
        return _computed(metric, rows, of_code)
    except MetricFault as fault:
        return Measured(type=type_of(metric), problem=str(fault))
    except OverflowError:
        return Measured(type=type_of(metric), problem="its numbers are too large to compute with")


def _computed(metric: Metric, rows: Sequence[MetricRow], of_code: OfCode) -> Measured:
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


def _of_code(metric: PythonMetric, rows: Sequence[MetricRow], values: Values | None) -> Measured:
    if values is None:
        raise MetricFault("its code was not run yet for these rows: run the command again")
    return Measured(type=type_of(metric), values=values, n=len(rows))


def _number(metric: Number, rows: Sequence[MetricRow]) -> Measured:
    values = [value for (value,) in numbers(rows, metric.field)]
    name = metric.name or f"{metric.field}_{metric.type}"
    number = _NUMBERS[metric.type](values) if values else None
    return Measured(type=metric.type, values={name: number}, n=len(values), missing=len(rows) - len(values))


def _frequency(metric: Frequency, rows: Sequence[MetricRow]) -> Measured:
    found = [text for (text,) in texts(rows, metric.field)]
    counts = Counter(found)
    check_few(counts, "values to count")
    shares = {f"{metric.field}_{text}": count / len(found) for text, count in sorted(counts.items())}
    return Measured(type=type_of(metric), values=shares, n=len(found), missing=len(rows) - len(found))


def _counted(metric: Counted, rows: Sequence[MetricRow]) -> Measured:
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
