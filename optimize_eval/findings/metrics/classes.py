"""Answers against what is right: accuracy, and precision and recall of a class."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from optimize_eval.findings.metrics.columns import texts, values
from optimize_eval.findings.metrics.shape import Measured, MetricFault, Row
from optimize_eval.tasks.definition import Binary, Multiclass, is_text_of, type_of

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


def binary(metric: Binary, rows: Sequence[Row]) -> Measured:
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


def multiclass(metric: Multiclass, rows: Sequence[Row]) -> Measured:
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


def _answer(value: Any, answers: Iterable[str]) -> str | None:
    """Find which answer a value is."""
    return next((one for one in answers if is_text_of(one, value)), None)
