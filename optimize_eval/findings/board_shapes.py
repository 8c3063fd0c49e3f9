"""`leaderboard.v1`: its documents, what makes a value none, whether two compare, whose files they are.

How a file is read that another tool wrote is stored's.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from optimize_eval.base import documents
from optimize_eval.base.documents import FLAT, IF_ANY, JsonDict, JsonMapping, from_dict
from optimize_eval.base.frozen import frozen
from optimize_eval.base.names import distinct
from optimize_eval.base.spent import SpendingTotals
from optimize_eval.findings.summary_parts import CorpusBleu, PassRates
from optimize_eval.findings.summary_shape import Conclusion
from optimize_eval.statistics.differences import ScoreDifference
from optimize_eval.statistics.estimates import Interval

SCHEMA = "leaderboard.v1"


@frozen
class Prediction:
    """What a model said in one call and its score, or why there is none."""

    prediction: str | float | None
    score: float | None
    error: Annotated[str | None, IF_ANY] = None
    skip: Annotated[str | None, IF_ANY] = None


@frozen
class BoardExample:
    """One example of a task; `predictions` are those of its repeats, where there are several."""

    id: str | float
    prompt: str
    prediction: str | float | None
    targets: tuple[Any, ...]
    score: float | None
    line: int | None
    error: Annotated[str | None, IF_ANY] = None
    skip: Annotated[str | None, IF_ANY] = None
    predictions: Annotated[tuple[Prediction, ...], IF_ANY] = ()

    @property
    def repeats(self) -> "tuple[Prediction | BoardExample, ...]":
        """List what was said in each call; that of the only one is the example's own."""
        return self.predictions or (self,)

    @property
    def is_skipped(self) -> bool:
        """Return True if its metric skipped it, in each call."""
        return self.score is None and all(repeat.skip for repeat in self.repeats)


@frozen
class TaskScores:
    """How a model did on one task."""

    task: str
    metric: str | None
    score: float | None
    correct: int
    total: int
    latency_ms: float | None
    metric_id: str | None
    category: str | None
    path: str | None
    sha256: str | None
    se: float | None
    ci: Interval | None
    method: str | None
    n: int
    df: Annotated[float | None, IF_ANY] = None  # on boards of other tools
    lower_bound: float | None  # with failures as 0
    perfect: int
    scored: int
    failed: int
    skipped: Annotated[int, IF_ANY] = 0
    skipped_examples: Annotated[int, IF_ANY] = 0  # in all of their calls: they do not apply
    timeouts: int
    errors: Mapping[str, int]
    passes: Annotated[tuple[PassRates, ...], IF_ANY] = ()
    corpus_bleu: Annotated[CorpusBleu | None, IF_ANY] = None
    display_name: Annotated[str, IF_ANY] = ""  # of tasks in YAML: the task's, and below its scorer's
    scorer_name: Annotated[str, IF_ANY] = ""
    evaluator: Annotated[str, IF_ANY] = ""  # of the run, as gates name it: TASK.SCORER
    measures: Annotated[str, IF_ANY] = ""  # a digest of the scorer, the solver and the samples
    per_example: Annotated[tuple[BoardExample, ...], IF_ANY] = ()

    @property
    def mean(self) -> float | None:
        return self.score

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """Give the score with failures as 0; what it would be at most is not on a board."""
        return self.lower_bound, None

    @property
    def name(self) -> str:
        """Give what people call the task."""
        return self.display_name or self.task

    @property
    def metric_name(self) -> str:
        """Give what people call who scored it."""
        return self.scorer_name or self.metric_id or ""


@frozen
class TasksLikeThese:
    """What other tasks of this kind could make of a mean over tasks."""

    se: float | None
    ci: Interval | None
    method: str | None
    tasks: int


@frozen
class CategoryScores:
    """How a model did on the tasks of a category."""

    category: str
    score: float | None
    se: float | None
    ci: Interval | None
    method: str | None
    n: int
    on_tasks_like_these: TasksLikeThese | None
    tasks: int


@frozen
class ModelScores:
    """How a model did, overall and by task."""

    adapter: str
    overall_score: float | None
    se: float | None
    ci: Interval | None
    method: str | None
    n: int
    df: float | None
    on_tasks_like_these: TasksLikeThese | None
    lower_bound: float | None  # with failures as 0
    correct: int
    perfect: int
    total: int
    scored: int
    failed: int
    skipped: Annotated[int, IF_ANY] = 0
    skipped_examples: Annotated[int, IF_ANY] = 0
    coverage: float  # 1 where nothing was called but to be skipped
    timeouts: int
    errors: Mapping[str, int]
    latency_ms: float | None
    not_run: tuple[str, ...]  # tasks
    passes: Annotated[tuple[PassRates, ...], IF_ANY] = ()
    cut_off: Annotated[int, IF_ANY] = 0
    with_thoughts: Annotated[int, IF_ANY] = 0
    refused: Annotated[int, IF_ANY] = 0
    empty: Annotated[int, IF_ANY] = 0
    answered_by: Annotated[Mapping[str, int] | None, IF_ANY] = None
    categories: tuple[CategoryScores, ...]
    tasks: tuple[TaskScores, ...]
    win_rate: float | None

    @property
    def mean(self) -> float | None:
        return self.overall_score

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """Give the score with failures as 0; what it would be at most is not on a board."""
        return self.lower_bound, None

    @property
    def applying(self) -> int:
        """Count the examples that were not skipped in all of their calls."""
        return self.total - self.skipped_examples


@frozen
class ModelPair:
    """Model b against model a."""

    a: str
    b: str
    difference: Annotated[ScoreDifference, FLAT]
    holds_at_lower_bound: bool  # with all failures, and many skips of one side, as 0
    holds_at_worst: bool | None  # with those of the one that is ahead as 0 and the other's as 1

    @property
    def holds(self) -> bool:
        """Return True if failures, skips of one side and rules leave a lead what it is."""
        rows = self.difference.over_all_rows
        return bool(self.holds_at_worst) and (rows is None or rows.mark == self.difference.mark)


@frozen
class ScoredFile:
    """A task file, as it was read."""

    path: str | None
    sha256: str | None
    dialect: str
    tasks: int
    errors: int


@frozen
class TaskLeftOut:
    """A task that is not on the board, as its scorer ranks nobody."""

    task: str
    evaluator: str
    why: str
    display_name: Annotated[str, IF_ANY] = ""


@frozen
class Board:
    """A leaderboard; `adapter`, `overall_score` and `tasks` are those of the model that was named first."""

    # The tasks are in JSON twice, and with all examples they are large: they are read and written once.

    schema: str
    timestamp: str
    overall_score: float | None
    adapter: str
    tasks: tuple[TaskScores, ...]
    verdict: Conclusion
    changed: tuple[str, ...]  # models whose programs changed while they were called
    models: tuple[ModelScores, ...]  # as they are ranked
    pairs: tuple[ModelPair, ...]
    files: tuple[ScoredFile, ...]
    left_out: Annotated[tuple[TaskLeftOut, ...], IF_ANY] = ()  # of these files
    task_errors: tuple[JsonMapping, ...]  # lines that are no tasks
    settings: JsonMapping
    spent: SpendingTotals | None  # None where no model was called

    @property
    def has_examples(self) -> bool:
        return all(task.per_example for model in self.models for task in model.tasks)

    @property
    def has_some_examples(self) -> bool:
        return any(task.per_example for model in self.models for task in model.tasks)

    def to_dict(self) -> JsonDict:
        made = documents.to_dict(replace(self, tasks=()))
        return made | {"tasks": _first_named(made["models"], self.adapter)["tasks"]}

    @classmethod
    def from_dict(cls, value: JsonMapping) -> "Board":
        """Read what `bench` wrote; raises as documents.from_dict does for all else."""
        board = from_dict(cls, {**value, "tasks": ()})
        first = next((model for model in board.models if model.adapter == board.adapter), None)
        return replace(board, tasks=first.tasks if first else ())

    @classmethod
    def of_what_is_known(cls, value: JsonMapping) -> "Board":
        """Read what there is of a board: fields that it has not are empty."""
        return from_dict(cls, {"verdict": _NO_VERDICT, **value}, is_partial=True)


def scorers_on(boards: Mapping[str, Board]) -> set[str]:
    """Name the scorers whose means a bench's own board has; those of tasks in YAML alone are known."""
    return {task.evaluator for task in boards[""].tasks} if "" in boards else set()


_NO_VERDICT: JsonMapping = {"text": "", "points": ()}


def _first_named(models: Sequence[JsonMapping], name: str) -> JsonMapping:
    return next((model for model in models if model["adapter"] == name), {"tasks": []})


_MOST_LISTED = 10
_SHOWN = 8
_DIGEST = re.compile(r"[0-9a-f]{64}")


def differences(a: Board, b: Board) -> list[str]:
    """Say why the scores of two boards are not of the same: other metrics, other task files."""
    before, after = by_name(a.models[0].tasks), by_name(b.models[0].tasks)
    common = [name for name in after if name in before]
    if not common:
        return ["they have no task in common"]
    reasons = [
        f"task {name} {words}: {_short(in_a)} in A, {_short(in_b)} in B"
        for values_of, words in _CHECKS
        for name in common
        for in_a, in_b in [values_of(before[name], after[name])]
        if in_a != in_b
    ]
    more = len(reasons) - _MOST_LISTED
    return [*reasons[:_MOST_LISTED], *([f"and {more:,} more"] if more > 0 else [])]


def by_name(tasks: Sequence[TaskScores]) -> dict[str, TaskScores]:
    """Name tasks apart: those of one name in several files by the file, too."""
    many = Counter(task.task for task in tasks)
    named = [f"{task.task} ({task.path})" if many[task.task] > 1 else task.task for task in tasks]
    return dict(zip(distinct(named), tasks, strict=True))


def are_of_one_file(a: TaskScores, b: TaskScores) -> bool:
    """Return True if tasks are known to have the same examples at the same lines."""
    files = _measured(a, b) if _are_in_yaml(a, b) else _files(a, b)
    return files[0] is not None and files[0] == files[1]


def _metrics(*tasks: TaskScores) -> list[str | None]:
    """Name the metrics as exactly as boards do: those of other tools have no ids."""
    return [task.metric_id or task.metric for task in tasks]


def _files(*tasks: TaskScores) -> list[str | None]:
    return [None if _are_in_yaml(*tasks) else task.sha256 for task in tasks]


def _measured(*tasks: TaskScores) -> list[str | None]:
    return [task.measures if _are_in_yaml(*tasks) else None for task in tasks]


def _are_in_yaml(*tasks: TaskScores) -> bool:
    """Return True if boards know what is measured; a file of YAML also says what is made of scores."""
    return all(task.measures for task in tasks)


_CHECKS = (
    (_metrics, "has another metric"),
    (_files, "is of another file"),
    (_measured, "has other samples, sends models something else, or scores in another way"),
)


def _short(value: str | None) -> str:
    """Shorten a digest; a metric is told whole, for two may differ in their last letters."""
    if value is None:
        return "unknown"
    return f"{value[:_SHOWN]}…" if _DIGEST.fullmatch(value) else value
