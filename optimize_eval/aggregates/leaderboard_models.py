"""One model's numbers on a leaderboard: its tasks, categories and overall score, read from the journal.

An example's task is its file, or its own record where each record is a task. Tasks count alike, however many
examples they have. How models compare is leaderboard's.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeVar

from optimize_eval.aggregates.scores import Reading, Scores
from optimize_eval.aggregates.statistics import Mean, mean_of
from optimize_eval.aggregates.weighted import weighted_mean
from optimize_eval.errors import FailureKind
from optimize_eval.run.layout import Cell, Layout
from optimize_eval.run.ledger import Reader
from optimize_eval.tasks import Task, TaskFile
from optimize_eval.tasks.files import SPEC

Values = Sequence[float]  # by example, not a number where there is none
_One = TypeVar("_One")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What counts as one task: examples of one file."""

    name: str
    file: TaskFile
    split: str  # the file's name in the run
    places: slice  # of the file's examples

    @property
    def items(self) -> Sequence[Task]:
        return self.of(self.file.tasks)

    @property
    def size(self) -> int:
        return int(self.places.stop - self.places.start)

    def of(self, by_example: Sequence[_One]) -> Sequence[_One]:
        return by_example[self.places]


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """What one model did with one file, by example."""

    scores: Scores
    seconds: Sequence[Sequence[float]]  # of scored calls
    kinds: Sequence[Counter[str]]  # of failures
    said: Sequence[Sequence[Mapping[str, Any]]]  # the records by repeat, where predictions are wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model's numbers, and the scores behind them in the order of all examples."""

    told: dict[str, Any]
    means: Values
    lows: Values


def tasks_of(files: Sequence[TaskFile], layout: Layout) -> Iterator[Counted]:
    there = [file for file in files if file.tasks]
    for file, split in zip(there, layout.splits, strict=True):
        if file.dialect == SPEC:  # a record is a task
            for place, item in enumerate(file.tasks):
                yield Counted(name=item.id, file=file, split=split.name, places=slice(place, place + 1))
        else:
            yield Counted(name=file.name, file=file, split=split.name, places=slice(0, len(file.tasks)))


def read_split(reader: Reader, cell: Cell, layout: Layout, *, is_told: bool) -> Split:
    lines = layout.split(cell.split).lines
    reading = Reading(cell, lines, layout.repeats, layout.score_range(cell.evaluator))
    seconds: list[list[float]] = [[] for _ in lines]
    kinds: list[Counter[str]] = [Counter() for _ in lines]
    said: list[list[Mapping[str, Any]]] = [[] for _ in lines]
    for place, record in reader.records(cell):
        reading.take(place, record)
        example = place // layout.repeats
        if record["outcome"] == "scored":
            seconds[example].append(record["seconds"])
        elif record["outcome"] == "failed":
            kinds[example][record["kind"]] += 1
        if is_told:
            said[example].append(record)
    return Split(scores=reading.done(), seconds=seconds, kinds=kinds, said=said)


def model_of(
    name: str, tasks: Sequence[Counted], splits: Mapping[str, Split], metric: str | None, *, is_told: bool
) -> Model:
    entries = [
        _entry(task, splits[task.split], metric or task.items[0].metric, is_told=is_told) for task in tasks
    ]
    means = [value for task in tasks for value in task.of(splits[task.split].scores.means)]
    lows = [value for task in tasks for value in task.of(_lows(splits[task.split].scores))]
    overall = _overall(means, tasks)
    not_run = [task.name for task, entry in zip(tasks, entries, strict=True) if entry["n"] <= task.size / 2]
    errors = sum((Counter(entry["errors"]) for entry in entries), Counter[str]())
    scored = sum(split.scores.scored for split in splits.values())
    told = {
        "adapter": name,
        "overall_score": overall.mean,
        **_spread(overall),
        "lower_bound": _overall(lows, tasks).mean,
        "correct": sum(entry["correct"] for entry in entries),
        "perfect": sum(entry["perfect"] for entry in entries),
        "total": sum(entry["total"] for entry in entries),
        "scored": scored,
        "failed": errors.total(),
        "coverage": scored / (scored + errors.total()),
        "timeouts": errors[FailureKind.TIMEOUT],
        "errors": dict(errors),
        "latency_ms": _milliseconds([one for split in splits.values() for one in split.seconds]),
        "not_run": not_run,
        "categories": _categories(means, tasks),
        "tasks": entries,
    }
    return Model(told=told, means=means, lows=lows)


def _entry(task: Counted, split: Split, metric: str, *, is_told: bool) -> dict[str, Any]:
    scores = [value for value in task.of(split.scores.means) if not math.isnan(value)]
    errors = sum(task.of(split.kinds), Counter[str]())
    mean = mean_of(scores)
    return {
        "task": task.name,
        "metric": metric.partition("@")[0],
        "score": mean.mean,
        "correct": round(math.fsum(scores)),
        "total": task.size,
        "latency_ms": _milliseconds(task.of(split.seconds)),
        "metric_id": metric,
        "category": task.items[0].category,
        "path": task.file.path,
        "sha256": task.file.sha256,
        **_spread(mean),
        "lower_bound": mean_of(task.of(_lows(split.scores))).mean,
        "perfect": scores.count(1.0),
        "scored": sum(map(len, task.of(split.seconds))),
        "failed": errors.total(),
        "timeouts": errors[FailureKind.TIMEOUT],
        "errors": dict(errors),
        **({"per_example": list(_per_example(task, split))} if is_told else {}),
    }


def _per_example(task: Counted, split: Split) -> Iterator[dict[str, Any]]:
    parts = task.items, task.of(split.said), task.of(split.scores.means)
    for item, records, score in zip(*parts, strict=True):
        said = said_of(records, score)
        yield {
            "id": item.id,
            "prompt": item.prompt,
            "prediction": said["prediction"],
            "targets": list(item.targets),
            "score": said["score"],
            "line": item.line,
            **said,
        }


def said_of(records: Sequence[Mapping[str, Any]], mean: float) -> dict[str, Any]:
    """Tell an example's prediction and score, or why it has none; of several repeats each."""
    shown = next((record for record in records if record["outcome"] == "scored"), records[0])
    several = {"predictions": [_said(record) for record in records]} if len(records) > 1 else {}
    return {**_said(shown), "score": None if math.isnan(mean) else mean, **several}


def _said(record: Mapping[str, Any]) -> dict[str, Any]:
    """Tell the prediction of one call and its score, or why there is none."""
    failed = {"error": record["kind"]} if "kind" in record else {}
    prediction = record.get("side_info", {}).get("prediction")
    return {"prediction": prediction, "score": record.get("score"), **failed}


def _lows(scores: Scores) -> Values:
    """Give the scores with failures counted as 0."""
    return scores.means if scores.lows is None else scores.lows


def _overall(values: Values, tasks: Sequence[Counted]) -> Mean:
    """Average over tasks that have a score, each of which counts alike."""
    pairs = list(weighed(values, tasks))
    return weighted_mean([value for value, _ in pairs], [weight for _, weight in pairs])


def weighed(values: Values, tasks: Sequence[Counted]) -> Iterator[tuple[float, float]]:
    """Pair the values that there are with what each is of its task."""
    start = 0
    for task in tasks:
        there = [value for value in values[start : start + task.size] if not math.isnan(value)]
        yield from ((value, 1 / len(there)) for value in there)
        start += task.size


def _categories(values: Values, tasks: Sequence[Counted]) -> list[dict[str, Any]]:
    """Average each category's tasks; files of examples have none."""
    starts = list(accumulate((task.size for task in tasks), initial=0))
    found = []
    for category in dict.fromkeys(task.items[0].category for task in tasks if task.items[0].category):
        own = [place for place, task in enumerate(tasks) if task.items[0].category == category]
        theirs = [value for place in own for value in values[starts[place] : starts[place + 1]]]
        mean = _overall(theirs, [tasks[place] for place in own])
        found.append({"category": category, "score": mean.mean, **_spread(mean), "tasks": len(own)})
    return found


def _spread(mean: Mean) -> dict[str, Any]:
    return {"se": mean.se, "ci": mean.ci, "method": mean.method, "n": mean.n}


def _milliseconds(seconds: Sequence[Sequence[float]]) -> float | None:
    """Average how long scored calls took."""
    taken = [one for of_example in seconds for one in of_example]
    return round(math.fsum(taken) / len(taken) * 1000, 3) if taken else None
