"""Answers against what is right: accuracy, and precision and recall of a class."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from optimize_eval.findings.metrics.columns import texts
from optimize_eval.findings.metrics.shape import Measured, Row
from optimize_eval.tasks.definitions.score.metrics import Binary, Multiclass, type_of

Pairs = Counter[tuple[str, str]]  # what is right, what is said → rows


def binary(metric: Binary, rows: Sequence[Row]) -> Measured:
    """Count how often each of two answers is right; rows with others are left out."""
    found = texts(rows, metric.field_gt, metric.field_pred)
    answers = (metric.positive_answer, metric.negative_answer)
    known = [
        (right, said)
        for pair in found
        if (right := _answer(pair[0], answers)) is not None
        and (said := _answer(pair[1], answers)) is not None
    ]
    pairs: Pairs = Counter(known)
    yes = metric.positive_answer
    values = {
        "accuracy": _accuracy(pairs),
        "precision": _precision(pairs, yes),
        "recall": _recall(pairs, yes),
        "f1_score": _f1_score(pairs, yes),
    }
    return Measured(
        type=type_of(metric),
        values=values,
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
    values = {"accuracy": _accuracy(pairs)}
    for one in classes:
        values |= {f"{one}_precision": _precision(pairs, one), f"{one}_recall": _recall(pairs, one)}
    return Measured(
        type=type_of(metric),
        values=values,
        n=len(found),
        missing=len(rows) - len(found),
        confusion=_confusion(pairs, classes),
    )


def ratio(part: float, whole: float) -> float | None:
    """Divide; 0/0 is not defined."""
    return part / whole if whole else None


def _answer(text: str, answers: Iterable[str]) -> str | None:
    """Find which answer a text is; booleans are answers however they are written."""
    is_boolean = text in {"true", "false"}
    return next((one for one in answers if one == text or (is_boolean and one.lower() == text)), None)


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
