"""Metrics of tasks in YAML as plain data: what is computed of all scores, and which values are alike."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from hashlib import sha256
from typing import Any

from optimize_eval.base.frozen import frozen


@frozen
class PythonMetric:
    """Code over all scores: `compute_metrics(scores)`."""

    snippet: str
    key: str = ""


@frozen
class Binary:
    """Accuracy, precision, recall and F1 of a field that has one of two answers."""

    field_gt: str
    field_pred: str
    positive_answer: str
    negative_answer: str
    key: str = ""


@frozen
class Multiclass:
    """Accuracy, and precision and recall of each class."""

    field_gt: str
    field_pred: str
    key: str = ""


@frozen
class Number:
    """One number of a field's values."""

    type: str  # mean, max, min, std_dev
    field: str
    name: str = ""  # empty: {field}_{type}
    key: str = ""


@frozen
class Frequency:
    """The share of each value of a field."""

    field: str
    key: str = ""


@frozen
class Counted:
    """A rate of counts that are summed over all samples first."""

    type: str  # recall, precision, f1_score
    num_true_positives_field: str
    num_false_negatives_field: str = ""
    num_false_positives_field: str = ""
    name: str = ""  # empty: its type
    key: str = ""


Metric = PythonMetric | Binary | Multiclass | Number | Frequency | Counted


_TYPES: Mapping[type, str] = {
    PythonMetric: "python",
    Binary: "binary-classification",
    Multiclass: "multiclass-classification",
    Frequency: "frequency",
}
_MADE: Mapping[str, type] = {
    **{name: made for made, name in _TYPES.items()},
    **dict.fromkeys(("mean", "max", "min", "std_dev"), Number),
    **dict.fromkeys(("recall", "precision", "f1_score"), Counted),
}


def type_of(metric: Metric) -> str:
    """Give a metric's type, as tasks write it."""
    return metric.type if isinstance(metric, Number | Counted) else _TYPES[type(metric)]


def known_results(metric: Metric) -> tuple[str, ...]:
    """List what a metric's results are called, as far as neither data nor code decides it."""
    match metric:
        case Number():
            return (metric.name or f"{metric.field}_{metric.type}",)
        case Counted():
            return (metric.name or metric.type,)
        case Binary():
            return ("accuracy", "precision", "recall", "f1_score")
        case Multiclass():
            return ("accuracy",)
    return ()


def qualified(metric: Metric, name: str) -> str:
    """Name a result that another metric of the scorer has, too."""
    return f"{metric.key or type_of(metric).replace('-', '_')}.{name}"


def metric_to_dict(metric: Metric) -> dict[str, str]:
    """Write a metric as JSON, without what is empty."""
    given = {slot.name: getattr(metric, slot.name) for slot in fields(metric)}
    return {"type": type_of(metric), **{key: value for key, value in given.items() if value}}


def metric_of(written: Mapping[str, str]) -> Metric:
    """Read what `to_dict` wrote."""
    made: Any = _MADE[written["type"]]
    has_type = made in {Number, Counted}
    return made(**{key: value for key, value in written.items() if has_type or key != "type"})  # type: ignore[no-any-return]


def digest_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Digest rows, which are in their order: by this and its snippet, a metric that is code is found."""
    digest = sha256()
    for row in rows:
        digest.update(json.dumps(row, sort_keys=True, ensure_ascii=False).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def digest_of_code(metric: PythonMetric) -> str:
    return sha256(metric.snippet.encode()).hexdigest()


_EXACT = 1 << 53  # up to here a number of floating point is the integer that it looks like


def text_of(value: Any) -> str:
    """Write a value as text: as JSON does, a text as it is, 2.0 as 2.

    >>> text_of("yes"), text_of(True), text_of(2.0), text_of([1])
    ('yes', 'true', '2', '[1]')
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def is_text_of(text: str, value: Any) -> bool:
    """Return True if a text says a value; true may be True, and 2.0 is said as it is, too."""
    return text in {text_of(value), str(value)} if isinstance(value, bool | float) else text == text_of(value)


def are_alike(one: Any, other: Any) -> bool:
    """Return True if two values are equal, or one is a text that says the other; true is not 1.

    >>> are_alike(5, "5"), are_alike(5.0, "5.0"), are_alike(True, "True"), are_alike(True, 1)
    (True, True, True, False)
    """
    if isinstance(one, str) or isinstance(other, str):
        return is_text_of(one, other) if isinstance(one, str) else is_text_of(other, one)
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
