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

from optimize_eval.errors import FailureKind
from optimize_eval.findings.board.by_task import mean_over, on_tasks_like_these
from optimize_eval.findings.documents import to_dict
from optimize_eval.findings.measures import Measures, passes_of, passes_over
from optimize_eval.findings.replies import Replies
from optimize_eval.findings.scores import CellReading, Scores
from optimize_eval.statistics.means import Mean, mean_of
from optimize_eval.store.layout import Cell, Layout
from optimize_eval.store.view import Reader
from optimize_eval.tasks import Task, TaskFile
from optimize_eval.tasks.jsonl.files import SPEC

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
    measures: Measures


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model's numbers, and the scores behind them in the order of all examples."""

    told: dict[str, Any]
    means: Values
    lows: Values
    highs: Values


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
    score_range = layout.score_range(cell.evaluator)
    reading = CellReading(cell, lines, layout.repeats, score_range)
    measures = Measures(len(lines), layout.repeats, score_range)
    seconds: list[list[float]] = [[] for _ in lines]
    kinds: list[Counter[str]] = [Counter() for _ in lines]
    said: list[list[Mapping[str, Any]]] = [[] for _ in lines]
    for place, record in reader.records(cell):
        reading.take(place, record)
        example = place // layout.repeats
        if record["outcome"] == "scored":
            seconds[example].append(record["seconds"])
            measures.take(example, record)
        elif record["outcome"] == "failed":
            kinds[example][record["kind"]] += 1
        if is_told:
            said[example].append(record)
    return Split(scores=reading.done(), seconds=seconds, kinds=kinds, said=said, measures=measures)


def model_of(
    name: str, tasks: Sequence[Counted], splits: Mapping[str, Split], metric: str | None, *, is_told: bool
) -> Model:
    entries = [
        _entry(task, splits[task.split], metric or task.items[0].metric, is_told=is_told) for task in tasks
    ]
    means = [value for task in tasks for value in task.of(splits[task.split].scores.means)]
    lows, highs = (
        [value for task in tasks for value in task.of(ends(splits[task.split].scores))]
        for ends in (_lows, _highs)
    )
    apart = by_task(means, tasks)
    overall = mean_over(apart)
    not_run = [task.name for task, entry in zip(tasks, entries, strict=True) if entry["n"] <= task.size / 2]
    errors = sum((Counter(entry["errors"]) for entry in entries), Counter[str]())
    repeats = [splits[task.split].measures.repeats(task.places) for task in tasks]
    scored = sum(split.scores.scored for split in splits.values())
    told = {
        "adapter": name,
        "overall_score": overall.mean,
        **_spread(overall),
        "df": overall.df,
        "on_tasks_like_these": _elsewhere(apart),
        "lower_bound": mean_over(by_task(lows, tasks)).mean,
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
        **_or_nothing("passes", [to_dict(one) for one in passes_over(repeats)]),
        **_replies([split.measures.replies for split in splits.values()]),
        "categories": _categories(means, tasks),
        "tasks": entries,
    }
    return Model(told=told, means=means, lows=lows, highs=highs)


def _replies(found: Sequence[Replies]) -> dict[str, Any]:
    answered_by = sum((one.answered_by for one in found), Counter[str]())
    cut_off = sum(one.cut_off for one in found)
    thoughts = sum(one.with_thoughts for one in found)
    counted = {**_or_nothing("cut_off", cut_off), **_or_nothing("with_thoughts", thoughts)}
    return {**counted, **_or_nothing("answered_by", dict(answered_by))}


def _entry(task: Counted, split: Split, metric: str, *, is_told: bool) -> dict[str, Any]:
    scores = [value for value in task.of(split.scores.means) if not math.isnan(value)]
    errors = sum(task.of(split.kinds), Counter[str]())
    mean = mean_of(scores, is_unit=True)
    bleu = split.measures.corpus_bleu
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
        **_or_nothing(
            "passes", [to_dict(one) for one in passes_of(split.measures.repeats(task.places), None)]
        ),
        **_or_nothing("corpus_bleu", bleu and to_dict(bleu)),
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


def _highs(scores: Scores) -> Values:
    return scores.means if scores.highs is None else scores.highs


def by_task(values: Values, tasks: Sequence[Counted]) -> list[list[float]]:
    """Give each task the values that it has."""
    starts = accumulate((task.size for task in tasks), initial=0)
    return [
        [value for value in values[start : start + task.size] if not math.isnan(value)]
        for start, task in zip(starts, tasks, strict=False)
    ]


def _categories(values: Values, tasks: Sequence[Counted]) -> list[dict[str, Any]]:
    """Average each category's tasks; files of examples have none."""
    apart = by_task(values, tasks)
    found = []
    for category in dict.fromkeys(task.items[0].category for task in tasks if task.items[0].category):
        own = [apart[place] for place, task in enumerate(tasks) if task.items[0].category == category]
        mean = mean_over(own)
        found.append(
            {
                "category": category,
                "score": mean.mean,
                **_spread(mean),
                "on_tasks_like_these": _elsewhere(own),
                "tasks": len(own),
            }
        )
    return found


def _elsewhere(tasks: Sequence[Sequence[float]]) -> dict[str, Any] | None:
    """Say what other tasks of this kind could make of the mean; None where there are too few to tell."""
    mean = on_tasks_like_these(tasks)
    if mean is None:
        return None
    return {"se": mean.se, "ci": mean.ci, "method": mean.method, "tasks": mean.n}


def _spread(mean: Mean) -> dict[str, Any]:
    return {"se": mean.se, "ci": mean.ci, "method": mean.method, "n": mean.n}


def _or_nothing(name: str, value: Any) -> dict[str, Any]:
    return {name: value} if value else {}


def _milliseconds(seconds: Sequence[Sequence[float]]) -> float | None:
    """Average how long scored calls took."""
    taken = [one for of_example in seconds for one in of_example]
    return round(math.fsum(taken) / len(taken) * 1000, 3) if taken else None
