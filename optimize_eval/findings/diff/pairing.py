"""The tasks that two leaderboards have in common, and their examples in pairs where both have them."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.board.comparable import are_of_one_file, by_name
from optimize_eval.findings.board.shapes import BoardExample, ModelScores, Prediction, TaskScores
from optimize_eval.findings.scores import Outcomes

ExamplePair = tuple[BoardExample, BoardExample]  # before and after


@frozen
class TaskPair:
    """One task of both boards, before and after."""

    name: str
    before: TaskScores
    after: TaskScores
    examples: Sequence[ExamplePair]

    @property
    def applying(self) -> list[ExamplePair]:
        """List the examples that neither side skipped."""
        return [pair for pair in self.examples if not any(example.is_skipped for example in pair)]

    @property
    def scored(self) -> list[ExamplePair]:
        return [pair for pair in self.examples if all(example.score is not None for example in pair)]

    @property
    def outcomes(self) -> tuple[Outcomes, Outcomes]:
        """Give what became of the examples before and after."""
        return outcomes_of([a for a, _ in self.examples]), outcomes_of([b for _, b in self.examples])

    @property
    def newly_failing(self) -> int:
        return sum(a.score is not None and b.score is None for a, b in self.applying)

    @property
    def fixed(self) -> int:
        return sum(a.score is None and b.score is not None for a, b in self.applying)

    @property
    def has_predictions(self) -> bool:
        """Return True if a side says what was predicted; many scorers of tasks in YAML do not."""
        return any(
            one.prediction is not None for pair in self.examples for side in pair for one in side.repeats
        )

    @property
    def changed(self) -> list[ExamplePair]:
        return [differing for pair in self.examples if (differing := _differing(*pair))]


def outcomes_of(examples: Sequence[BoardExample]) -> Outcomes:
    """Read them off a board, which does not tell what rules leave out from what an evaluator skips."""
    counts = [Counter(map(_outcome, example.repeats)) for example in examples]
    failed, skipped = ([count[name] for count in counts] for name in ("failed", "skipped"))
    return Outcomes(
        means=[math.nan if example.score is None else float(example.score) for example in examples],
        lows=[_with_failures_as(0.0, example) for example in examples],
        highs=[_with_failures_as(1.0, example) for example in examples],
        failed=sum(failed),
        skipped=sum(skipped),
        numbers=[count["scored"] for count in counts],
        failed_calls=failed,
        skipped_calls=skipped,
        ruled_calls=[0] * len(examples),
        whole=None,
        is_ruled_by_outcome=False,
    )


def _outcome(repeat: Prediction | BoardExample) -> str:
    if repeat.skip:
        return "skipped"
    return "failed" if repeat.score is None else "scored"


def _with_failures_as(end: float, example: BoardExample) -> float:
    scores = [end if one.score is None else one.score for one in example.repeats if not one.skip]
    return math.fsum(scores) / len(scores) if scores else math.nan


def common_tasks(before: ModelScores, after: ModelScores) -> list[TaskPair]:
    had, has = by_name(before.tasks), by_name(after.tasks)
    return [
        TaskPair(name=name, before=had[name], after=task, examples=list(_pairs(had[name], task)))
        for name, task in has.items()
        if name in had
    ]


def _pairs(before: TaskScores, after: TaskScores) -> Iterator[ExamplePair]:
    """Match examples of one file by their lines, others by their ids, the k-th of a kind with the k-th."""
    is_one_file = are_of_one_file(before, after)
    has_lines = all(example.line is not None for example in (*before.per_example, *after.per_example))
    by_line = is_one_file and has_lines
    unmatched: dict[Any, list[BoardExample]] = {}
    for example in reversed(before.per_example):
        unmatched.setdefault(example.line if by_line else example.id, []).append(example)
    for example in after.per_example:
        if there := unmatched.get(example.line if by_line else example.id):
            yield there.pop(), example


def _differing(before: BoardExample, after: BoardExample) -> ExamplePair | None:
    """Find the first prediction of an example that is another now, among those that both boards have.

    An example that was repeated has one for each repeat.
    """
    for a, b in zip(before.repeats, after.repeats, strict=False):
        if a.prediction != b.prediction:
            return (
                replace(before, prediction=a.prediction, score=a.score, error=a.error or before.error),
                replace(after, prediction=b.prediction, score=b.score, error=b.error or after.error),
            )
    return None
