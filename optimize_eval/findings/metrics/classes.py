"""Answers against what is right: accuracy, and precision and recall of a class."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from optimize_eval.findings.metrics.columns import texts, values
from optimize_eval.findings.metrics.shape import Measured, Row
from optimize_eval.tasks.definitions.score.metrics import Binary, Multiclass, type_of
from optimize_eval.tasks.definitions.values import is_text_of

Pairs = Counter[tuple[str, str]]  # what is right, what is said → rows


def binary(metric: Binary, rows: Sequence[Row]) -> Measured:
    """Count how often each of two answers is right; rows with others are left out."""
    found = values(rows, metric.field_gt, metric.field_pred)
    answers = (metric.positive_answer, metric.negative_answer)
    read = [(_answer(right, answers), _answer(said, answers)) for right, said in found]
    known = [(right, said) for right, said in read if right is not None and said is not None]
    pairs: Pairs = Counter(known)
    yes = metric.positive_answer
    results = {
        "accuracy": _accuracy(pairs),
        "precision": _precision(pairs, yes),
        "recall": _recall(pairs, yes),
        "f1_score": _f1_score(pairs, yes),
    }
    return Measured(
        type=type_of(metric),
        values=results,
        n=len(known),
        missing=len(rows) - len(found),
        left_out=len(found) - len(known),
        confusion=_confusion(pairs, answers),
    )


def multiclass(metric: Multiclass, rows: Sequence[Row]) -> Measured:
    """Count how often each class is right; classes are all texts that are there."""
    found = texts(rows, metric.field_gt, metric.field_pred)
    pairs: Pairs = Counter((right, said) for right, said in found)
    classes = sorted({text for pair in pairs for text in pair})
    results = {"accuracy": _accuracy(pairs)}
    for one in classes:
        results |= {f"{one}_precision": _precision(pairs, one), f"{one}_recall": _recall(pairs, one)}
    return Measured(
        type=type_of(metric),
        values=results,
        n=len(found),
        missing=len(rows) - len(found),
        confusion=_confusion(pairs, classes),
    )


def ratio(part: float, whole: float) -> float | None:
    """Divide; 0/0 is not defined."""
    return part / whole if whole else None


def _answer(value: Any, answers: Iterable[str]) -> str | None:
    """Find which answer a value is."""
    return next((one for one in answers if is_text_of(one, value)), None)


def _accuracy(pairs: Pairs) -> float | None:
    return ratio(sum(count for (right, said), count in pairs.items() if right == said), pairs.total())


def _precision(pairs: Pairs, one: str) -> float | None:
    return ratio(pairs[one, one], _said(pairs, one))


def _recall(pairs: Pairs, one: str) -> float | None:
    return ratio(pairs[one, one], _right(pairs, one))


def _f1_score(pairs: Pairs, one: str) -> float | None:
    return ratio(2 * pairs[one, one], _said(pairs, one) + _right(pairs, one))


def _said(pairs: Pairs, one: str) -> int:
    return sum(count for (_, said), count in pairs.items() if said == one)


def _right(pairs: Pairs, one: str) -> int:
    return sum(count for (right, _), count in pairs.items() if right == one)


def _confusion(pairs: Pairs, classes: Iterable[str]) -> Mapping[str, Mapping[str, int]]:
    listed = [*classes]
    return {right: {said: pairs[right, said] for said in listed} for right in listed}
