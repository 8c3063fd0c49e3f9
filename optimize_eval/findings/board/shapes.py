"""`leaderboard.v1` as `bench` writes it: models in their order, their tasks, how they compare in pairs.

How a file is read that another tool wrote, or an earlier version, is stored's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from optimize_eval.base.frozen import frozen
from optimize_eval.findings import documents
from optimize_eval.findings.documents import FLAT, IF_ANY, from_dict
from optimize_eval.findings.shapes.conclusion import Conclusion
from optimize_eval.findings.shapes.difference import ScoreDifference
from optimize_eval.findings.shapes.measured import CorpusBleu, PassRates
from optimize_eval.findings.shapes.summary import SpendingTotals
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
        return self.score is None and all(one.skip for one in self.repeats)


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
    task_errors: tuple[Mapping[str, Any], ...]  # lines that are no tasks
    settings: Mapping[str, Any]
    spent: SpendingTotals | None  # None where no model was called

    def to_dict(self) -> dict[str, Any]:
        made = documents.to_dict(replace(self, tasks=()))
        return made | {"tasks": _first_named(made["models"], self.adapter)["tasks"]}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> "Board":
        """Read what `bench` wrote, today or earlier; raises as documents.from_dict does for all else."""
        board = from_dict(cls, {**_as_of_today(value), "tasks": ()})
        first = next((model for model in board.models if model.adapter == board.adapter), None)
        return replace(board, tasks=first.tasks if first else ())

    @classmethod
    def of_what_is_known(cls, value: Mapping[str, Any]) -> "Board":
        """Read what there is of a board: fields that it has not are empty."""
        return from_dict(cls, {"verdict": _NO_VERDICT, **value}, is_older=True)


def scorers_on(boards: Mapping[str, Board]) -> set[str]:
    """Name the scorers whose means a bench's own board has; those of tasks in YAML alone are known."""
    return {task.evaluator for task in boards[""].tasks} if "" in boards else set()


_NO_VERDICT: Mapping[str, Any] = {"text": "", "points": ()}


def _first_named(models: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    return next((model for model in models if model["adapter"] == name), {"tasks": []})


# What boards of earlier versions lack, and what it is where it was not told.
_LATER_ON_A_BOARD = {"changed": (), "spent": None}
_LATER_OF_A_MODEL = {"df": None, "on_tasks_like_these": None}
_LATER_OF_A_CATEGORY = {"on_tasks_like_these": None}
_LATER_OF_A_PAIR = {"comparisons": 1, "at_most": None, "skew": None, "holds_at_worst": None}


def _as_of_today(board: Mapping[str, Any]) -> Mapping[str, Any]:
    models = [
        {
            **_LATER_OF_A_MODEL,
            **model,
            "categories": [{**_LATER_OF_A_CATEGORY, **one} for one in model["categories"]],
        }
        for model in board["models"]
    ]
    pairs = [{**_LATER_OF_A_PAIR, "units": pair["n_pairs"], **pair} for pair in board["pairs"]]
    return {**_LATER_ON_A_BOARD, **board, "models": models, "pairs": pairs}
