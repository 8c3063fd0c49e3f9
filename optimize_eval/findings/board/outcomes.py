"""What a model did with the task files of a bench, as the journal has it: by task, by example, by repeat.

An example's task is its file, or its own record where each record is a task.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import TypeVar

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.board.shapes import BoardExample, Prediction
from optimize_eval.findings.measures import Measures
from optimize_eval.findings.scores import CellReading, Scores
from optimize_eval.store.layout import Cell, Layout
from optimize_eval.store.view import JournalRecord, Reader
from optimize_eval.tasks import Task, TaskFile
from optimize_eval.tasks.task_files import SPEC

_Value = TypeVar("_Value")


@frozen
class CountedTask:
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

    def of(self, by_example: Sequence[_Value]) -> Sequence[_Value]:
        return by_example[self.places]


@frozen
class FileOutcomes:
    """What one model did with one file, by example."""

    scores: Scores
    seconds: Sequence[Sequence[float]]  # of scored calls
    kinds: Sequence[Counter[str]]  # of failures
    records: Sequence[Sequence[JournalRecord]]  # by repeat, where predictions are wanted
    measures: Measures


def tasks_of(
    files: Sequence[TaskFile], layout: Layout, left_out: Collection[str] = ()
) -> Iterator[CountedTask]:
    """List the tasks of files; those of the splits that are left out do not count."""
    there = [file for file in files if file.tasks]
    for file, split in zip(there, layout.splits, strict=True):
        if split.name in left_out:
            continue
        if file.dialect == SPEC:  # a record is a task
            for place, item in enumerate(file.tasks):
                places = slice(place, place + 1)
                yield CountedTask(name=item.id, file=file, split=split.name, places=places)
        else:
            yield CountedTask(name=file.name, file=file, split=split.name, places=slice(0, len(file.tasks)))


def read_outcomes(reader: Reader, cell: Cell, layout: Layout, *, with_records: bool) -> FileOutcomes:
    lines = layout.split(cell.split).lines
    score_range = layout.score_range(cell.evaluator)
    reading = CellReading(cell, lines, layout.repeats, score_range)
    measures = Measures(len(lines), layout.repeats, score_range)
    seconds: list[list[float]] = [[] for _ in lines]
    kinds: list[Counter[str]] = [Counter() for _ in lines]
    records: list[list[JournalRecord]] = [[] for _ in lines]
    for place, record in reader.records(cell):
        reading.take(place, record)
        example = place // layout.repeats
        if record["outcome"] == "scored":
            seconds[example].append(record["seconds"])
            measures.take(example, record)
        elif record["outcome"] == "failed":
            kinds[example][record["kind"]] += 1
        if with_records:
            records[example].append(record)
    return FileOutcomes(
        scores=reading.done(), seconds=seconds, kinds=kinds, records=records, measures=measures
    )


def example_of(name: str, line: int | None, records: Sequence[JournalRecord], mean: float) -> BoardExample:
    """Give an example's prediction and score, or why it has none; of several repeats each."""
    every = tuple(_prediction(record) for record in records)
    outcomes = [record["outcome"] for record in records]
    first = next((outcomes.index(one) for one in ("scored", "failed") if one in outcomes), 0)
    return BoardExample(
        id=name,
        prompt="",
        prediction=every[first].prediction,
        targets=(),
        score=None if math.isnan(mean) else mean,
        line=line,
        error=every[first].error,
        skip=every[first].skip,
        predictions=every if len(every) > 1 else (),
    )


def _prediction(record: JournalRecord) -> Prediction:
    return Prediction(
        prediction=record.get("side_info", {}).get("prediction"),
        score=record.get("score"),
        error=record.get("kind"),
        skip=record.get("message") if record["outcome"] == "skipped" else None,
    )
