"""A run of task files → `leaderboard.v1`: each model's tasks and overall score, and the models compared.

An example's task is its file, or its own record where each record is a task. Tasks count alike, however many
examples they have. Failures stay apart: a task of which nothing was scored has no score, and a model that did
not run all tasks never stands above one that did. What it says in words is leaderboard_verdict's.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate, combinations
from typing import Any, TypeVar

from optimize_eval.aggregates.compare import MOST_FLIPPED_PAIRS, Comparison, corrected
from optimize_eval.aggregates.leaderboard_verdict import judge
from optimize_eval.aggregates.scores import Reading, Scores
from optimize_eval.aggregates.shapes import d_of
from optimize_eval.aggregates.statistics import Mean, mean_of
from optimize_eval.aggregates.weighted import weighted_difference, weighted_mean
from optimize_eval.errors import FailureKind
from optimize_eval.run.layout import Cell, Layout
from optimize_eval.run.ledger import Reader
from optimize_eval.run.stored import StoredRun
from optimize_eval.tasks import Task, TaskFile
from optimize_eval.tasks.files import SPEC

SCHEMA = "leaderboard.v1"

Values = Sequence[float]  # by example, not a number where there is none
_One = TypeVar("_One")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
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
class _Split:
    """What one model did with one file, by example."""

    scores: Scores
    seconds: Sequence[Sequence[float]]  # of scored calls
    kinds: Sequence[Counter[str]]  # of failures
    said: Sequence[Mapping[str, Any]]  # the first record, where predictions are wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """A model's numbers, and the scores behind them in the order of all examples."""

    told: dict[str, Any]
    means: Values
    lows: Values


def board_of(
    run: StoredRun,
    files: Sequence[TaskFile],
    models: Mapping[str, str],
    *,
    settings: Mapping[str, Any],
    metric: str | None = None,
    include_per_example: bool = False,
) -> dict[str, Any]:
    """Make the leaderboard of evaluators that stand for models, with nothing owed; splits are files.

    `models` says by evaluator what a model is called; `metric` names who scored in place of a task's metric.
    """
    layout = run.layout
    tasks = list(_tasks(files, layout))
    found = []
    with run.reader() as reader:
        for name, called in models.items():
            cells = [cell for cell in layout.cells if cell.evaluator == name]
            splits = {cell.split: _split(reader, cell, layout, is_told=include_per_example) for cell in cells}
            found.append(_model(called, tasks, splits, metric, is_told=include_per_example))
    pairs = _pairs(found, tasks, layout.seed)
    for model in found:
        model.told["win_rate"] = _win_rate(model.told["adapter"], pairs)
    first = found[0].told
    changed = [called for name, called in models.items() if name in run.ledger.changed]
    ranked = [model.told for model in sorted(found, key=_standing)]
    return {
        "schema": SCHEMA,
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
        "overall_score": first["overall_score"],
        "adapter": first["adapter"],
        "tasks": first["tasks"],
        "verdict": judge(ranked, pairs, changed),
        "changed": changed,
        "models": ranked,
        "pairs": pairs,
        "files": [_file(file) for file in files],
        "task_errors": [{"path": file.path, **error.to_dict()} for file in files for error in file.errors],
        "settings": dict(settings),
    }


def _tasks(files: Sequence[TaskFile], layout: Layout) -> Iterator[_Counted]:
    there = [file for file in files if file.tasks]
    for file, split in zip(there, layout.splits, strict=True):
        if file.dialect == SPEC:  # a record is a task
            for place, item in enumerate(file.tasks):
                yield _Counted(name=item.id, file=file, split=split.name, places=slice(place, place + 1))
        else:
            yield _Counted(name=file.name, file=file, split=split.name, places=slice(0, len(file.tasks)))


def _split(reader: Reader, cell: Cell, layout: Layout, *, is_told: bool) -> _Split:
    lines = layout.split(cell.split).lines
    reading = Reading(cell, lines, layout.repeats, layout.score_range(cell.evaluator))
    seconds: list[list[float]] = [[] for _ in lines]
    kinds: list[Counter[str]] = [Counter() for _ in lines]
    said: list[Mapping[str, Any]] = [{}] * len(lines)
    for place, record in reader.records(cell):
        reading.take(place, record)
        example = place // layout.repeats
        if record["outcome"] == "scored":
            seconds[example].append(record["seconds"])
        elif record["outcome"] == "failed":
            kinds[example][record["kind"]] += 1
        if is_told and not said[example]:
            said[example] = record
    return _Split(scores=reading.done(), seconds=seconds, kinds=kinds, said=said)


def _model(
    name: str, tasks: Sequence[_Counted], splits: Mapping[str, _Split], metric: str | None, *, is_told: bool
) -> _Model:
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
    return _Model(told=told, means=means, lows=lows)


def _entry(task: _Counted, split: _Split, metric: str, *, is_told: bool) -> dict[str, Any]:
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
        "perfect": scores.count(1.0),
        "failed": errors.total(),
        "timeouts": errors[FailureKind.TIMEOUT],
        "errors": dict(errors),
        **({"per_example": list(_per_example(task, split))} if is_told else {}),
    }


def _per_example(task: _Counted, split: _Split) -> Iterator[dict[str, Any]]:
    parts = task.items, task.of(split.said), task.of(split.scores.means)
    for item, record, score in zip(*parts, strict=True):
        failed = {"error": record["kind"]} if "kind" in record else {}
        yield {
            "id": item.id,
            "prompt": item.prompt,
            "prediction": record.get("side_info", {}).get("prediction"),
            "targets": list(item.targets),
            "score": None if math.isnan(score) else score,
            "line": item.line,
            **failed,
        }


def _lows(scores: Scores) -> Values:
    """Give the scores with failures counted as 0."""
    return scores.means if scores.lows is None else scores.lows


def _overall(values: Values, tasks: Sequence[_Counted]) -> Mean:
    """Average over tasks that have a score, each of which counts alike."""
    weighed = list(_weighed(values, tasks))
    return weighted_mean([value for value, _ in weighed], [weight for _, weight in weighed])


def _weighed(values: Values, tasks: Sequence[_Counted]) -> Iterator[tuple[float, float]]:
    """Pair the values that there are with what each is of its task."""
    start = 0
    for task in tasks:
        there = [value for value in values[start : start + task.size] if not math.isnan(value)]
        yield from ((value, 1 / len(there)) for value in there)
        start += task.size


def _categories(values: Values, tasks: Sequence[_Counted]) -> list[dict[str, Any]]:
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


def _standing(model: _Model) -> tuple[float, ...]:
    """Order models: who ran all tasks first, then by what failures counted as 0 leave, then by failures.

    Never by the score next: where a call failed in the place of a wrong answer, that would lift the model.
    """
    told = model.told
    return len(told["not_run"]), -(told["lower_bound"] or 0.0), told["failed"]


def _pairs(models: Sequence[_Model], tasks: Sequence[_Counted], seed: int) -> list[dict[str, Any]]:
    couples = list(combinations(models, 2))
    may_flip = len(couples) <= MOST_FLIPPED_PAIRS
    means = [_compare(a.means, b.means, tasks, seed=seed, may_flip=may_flip) for a, b in couples]
    return [
        {
            "a": a.told["adapter"],
            "b": b.told["adapter"],
            **d_of(comparison),
            "holds_at_lower_bound": _holds(comparison, _compare(a.lows, b.lows, tasks, may_flip=False)),
        }
        for (a, b), comparison in zip(couples, corrected(means), strict=True)
    ]


def _compare(a: Values, b: Values, tasks: Sequence[_Counted], *, seed: int = 0, may_flip: bool) -> Comparison:
    """Compare on the examples that both have a score for; of these, tasks count alike."""
    both = [y - x for x, y in zip(a, b, strict=True)]  # not a number where one of them is none
    places = [place for place, value in enumerate(both) if not math.isnan(value)]
    difference = weighted_difference(
        [a[place] for place in places],
        [b[place] for place in places],
        [weight for _, weight in _weighed(both, tasks)],
        seed=seed,
        may_flip=may_flip,
    )
    return Comparison(difference=difference, dropped=len(both) - len(places))


def _holds(found: Comparison, low: Comparison) -> bool:
    """Tell whether a difference goes the same way, and is as sure, with all failures counted as 0."""
    ci, lows = found.difference.ci, low.difference.ci
    if ci is None or lows is None:
        return False
    return lows[0] > 0 if ci[0] > 0 else lows[1] < 0 if ci[1] < 0 else True


def _win_rate(model: str, pairs: Sequence[Mapping[str, Any]]) -> float | None:
    """Average over the others how many examples are won, where a tie is half a win."""
    rates = [
        (pair["wins" if pair["b"] == model else "losses"] + pair["ties"] / 2) / pair["n_pairs"]
        for pair in pairs
        if model in {pair["a"], pair["b"]} and pair["n_pairs"]
    ]
    return math.fsum(rates) / len(rates) if rates else None


def _file(file: TaskFile) -> dict[str, Any]:
    return {
        "path": file.path,
        "sha256": file.sha256,
        "dialect": file.dialect,
        "tasks": len(file.tasks),
        "errors": len(file.errors),
    }
