"""What `diff` tells: two runs (`diff.v1`) or two leaderboards (`board-diff.v1`), A before and B after."""

from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum
from itertools import chain
from typing import Annotated, Generic, TypeVar

from optimize_eval.base import documents
from optimize_eval.base.documents import FLAT, IF_ANY, JsonDict
from optimize_eval.base.frozen import frozen
from optimize_eval.base.names import apart
from optimize_eval.findings import comparison
from optimize_eval.findings.difference_words import lead_holds
from optimize_eval.findings.summary_shape import Conclusion
from optimize_eval.statistics.differences import Margin, ScoreDifference
from optimize_eval.statistics.estimates import Interval
from optimize_eval.statistics.power import ALPHA
from optimize_eval.store.beside import OnlyIn


@frozen
class MetricOfRun:
    """A number of a metric in one run; None where it is not defined, such as 0/0."""

    value: float | None
    n: int  # rows that it is of


@frozen
class MetricDiff:
    """A number of a metric in both runs; a run that does not have it has None."""

    name: str
    a: MetricOfRun | None
    b: MetricOfRun | None
    diff: float | None

    @property
    def has_moved(self) -> bool:
        return self.a != self.b


@frozen
class CountedRows:
    """The rows of a scorer in one run: those that metrics are of, and why the others are not among them."""

    n_total: int
    n_scored: int
    n_excluded: Annotated[int, IF_ANY] = 0
    n_failed: Annotated[int, IF_ANY] = 0
    excluded_by: Annotated[Mapping[str, int], IF_ANY] = field(default_factory=dict)
    problems: Annotated[tuple[str, ...], IF_ANY] = ()  # of metrics that have no numbers
    rule_faults: Annotated[tuple[str, ...], IF_ANY] = ()  # rules that cannot be applied to some rows


@frozen
class ScorerMetricsDiff:
    """The metrics of a scorer in both runs, for one candidate and model; a run without it has no rows."""

    evaluator: str
    display_name: Annotated[str, IF_ANY] = ""
    candidate: str
    candidate_in_a: str
    task_model: str | None
    task_model_in_a: str | None
    split: str
    a: CountedRows | None
    b: CountedRows | None
    metrics: tuple[MetricDiff, ...]

    @property
    def has_moved(self) -> bool:
        return self.a != self.b or any(metric.has_moved for metric in self.metrics)


class Standing(StrEnum):
    """What one amounts to, the most severe first."""

    WORSE = "worse"
    WORSE_AS_ZEROS = "worse_as_zeros"
    FAILS_UNBOUNDED = "fails_unbounded"
    NOT_BETTER_AS_ZEROS = "not_better_as_zeros"
    AHEAD_AMONG_SOME = "ahead_among_some"
    BETTER = "better"
    MAY_BE_WORSE = "may_be_worse"
    MAY_BE_BETTER = "may_be_better"
    OPEN = "open"
    SAME = "same"

    @property
    def severity(self) -> int:
        """Order them; 0 is the most severe."""
        return _MOST_SEVERE_FIRST.index(self)


_MOST_SEVERE_FIRST = tuple(Standing)
REGRESSIONS = frozenset({Standing.WORSE, Standing.WORSE_AS_ZEROS, Standing.FAILS_UNBOUNDED})
_HINTS = {comparison.HINT_WORSE: Standing.MAY_BE_WORSE, comparison.HINT_BETTER: Standing.MAY_BE_BETTER}


@frozen
class Change:
    """What a standing, and a gate, hang on; `low` has failures as the lowest score, if there is one."""

    difference: ScoreDifference
    margin: Margin | None
    low: ScoreDifference | None
    low_margin: Margin | None
    newly_failing: int
    newly_failing_in_part: int
    fixed: int
    more_failed: bool  # calls than before

    @property
    def fails_more(self) -> bool:
        return bool(self.newly_failing or self.more_failed)


def is_shown_lower(change: Change) -> bool:
    """Return True if a one-sided test at 5 % shows a loss: what a gate on regressions demands."""
    low = change.low
    is_failing = low is not None and change.fails_more and _is_lower(low)
    return standing(change) in REGRESSIONS or _is_lower(change.difference) or is_failing


def standing(change: Change) -> Standing:
    """Say what it amounts to.

    Where more fails, what fails counts as the lowest score; where there is no lowest, it could be any.
    """
    d, low = change.difference, change.low
    newly_failing = change.newly_failing + change.newly_failing_in_part
    if d.mark == comparison.WORSE:
        return Standing.WORSE
    if low is None and newly_failing:
        return Standing.FAILS_UNBOUNDED
    if low is not None and change.fails_more and low.mark == comparison.WORSE:
        return Standing.WORSE_AS_ZEROS
    if d.mark == comparison.BETTER:
        return _standing_of_lead(change)
    if d.n_pairs and d.ties == d.n_pairs and not newly_failing + change.fixed:
        return Standing.SAME
    return _HINTS.get(d.mark, Standing.OPEN)


def _standing_of_lead(change: Change) -> Standing:
    if not lead_holds(change.difference):
        return Standing.AHEAD_AMONG_SOME
    low = change.low
    is_sure = low is None or not change.fails_more or low.mark == comparison.BETTER
    return Standing.BETTER if is_sure else Standing.NOT_BETTER_AS_ZEROS


def _is_lower(d: ScoreDifference) -> bool:
    """Halve the two-sided p, as the tests are symmetric."""
    p = d.p_holm if d.p_holm is not None else d.p
    return d.diff is not None and d.diff < 0 and p is not None and p / 2 < ALPHA


RUNS_SCHEMA, BOARDS_SCHEMA = "optimize-eval.diff.v1", "optimize-eval.board-diff.v1"

_Side = TypeVar("_Side")


@frozen
class Sides(Generic[_Side]):
    """The same of both."""

    a: _Side
    b: _Side


@frozen
class ExampleOfRun:
    """One example in one run: its score, or why it has none; and the reason that the evaluator gave."""

    line: int | None
    score: float | None
    kind: str | None
    message: str | None
    reason: str | None


@frozen
class WorseExample:
    """An example that lost, in both runs."""

    split: str
    a: ExampleOfRun
    b: ExampleOfRun


@frozen
class LowerDifference:
    """The same comparison with failures as the lowest score."""

    difference: Annotated[ScoreDifference, FLAT]
    margin: Margin | None


@frozen
class ForGates:
    """What gates go by where a row is corrected for what was tried, or confirms nothing."""

    comparisons: int
    p_holm: float | None
    mark: str
    p_holm_at_lower_bound: float | None
    mark_at_lower_bound: str | None


@frozen
class NotCompared:
    """How many examples are not compared, by what became of them."""

    fixed: int
    newly_failing: int
    failing_in_both: int
    not_asked: int
    newly_skipped: Annotated[int, IF_ANY] = (
        0  # of those that are not asked, as are the others that one of the two skipped
    )
    skipped: Annotated[int, IF_ANY] = 0
    newly_failing_in_part: int  # of those that are: some repeats fail now, and none did


@frozen
class RowDiff:
    """One cell of both runs; examples that are not compared are counted by what became of them."""

    evaluator: str
    candidate: str
    candidate_in_a: str
    task_model: str | None
    split: str
    difference: Annotated[ScoreDifference, FLAT]
    margin: Margin | None
    means: Sides[float | None]
    improved: int
    regressed: int
    unchanged: int
    not_compared: Annotated[NotCompared, FLAT]
    failed_calls: Sides[int]
    worst: tuple[WorseExample, ...]
    at_lower_bound: LowerDifference | None
    is_regression: bool  # as gates see it: they correct for nothing that was tried
    for_gates: Annotated[ForGates | None, IF_ANY] = None

    @property
    def as_gates_see_it(self) -> "RowDiff":
        """Give the row as if nothing else had been tried, and nothing made it doubtful."""
        plain, low = self.for_gates, self.at_lower_bound
        if plain is None:
            return self
        if low and plain.mark_at_lower_bound:
            p_holm, mark = plain.p_holm_at_lower_bound, plain.mark_at_lower_bound
            low = replace(low, difference=replace(low.difference, p_holm=p_holm, mark=mark))
        d = replace(self.difference, comparisons=plain.comparisons, p_holm=plain.p_holm, mark=plain.mark)
        return replace(self, difference=d, at_lower_bound=low, for_gates=None)

    @property
    def change(self) -> Change:
        low = self.at_lower_bound
        return Change(
            difference=self.difference,
            margin=self.margin,
            low=low.difference if low else None,
            low_margin=low.margin if low else None,
            newly_failing=self.not_compared.newly_failing,
            newly_failing_in_part=self.not_compared.newly_failing_in_part,
            fixed=self.not_compared.fixed,
            more_failed=self.failed_calls.b > self.failed_calls.a,
        )

    @property
    def standing(self) -> Standing:
        return standing(self.change)


@frozen
class RunOfDiff:
    """One of the two runs."""

    run: str
    plan: str
    created_at: str | None
    owed: int
    changed: tuple[str, ...]


@frozen
class RunDiff:
    """Two runs against each other."""

    schema: str
    a: RunOfDiff
    b: RunOfDiff
    decided_on: str
    verdict: Conclusion
    rows: tuple[RowDiff, ...]
    only_in_a: OnlyIn
    only_in_b: OnlyIn
    caveats: tuple[str, ...]
    metrics: Annotated[tuple[ScorerMetricsDiff, ...], IF_ANY] = ()  # of tasks in YAML

    def with_names_apart(self) -> "RunDiff":
        """Write the names for people; a name that nothing looks like stays as it is."""
        only, rows = (self.only_in_a, self.only_in_b), self.rows
        runs = apart([self.a.run, self.b.run])
        pairs = chain.from_iterable((row.candidate_in_a, row.candidate) for row in rows)
        candidates = apart([*pairs, *chain.from_iterable(side.candidates for side in only)])
        evaluators = apart(
            [*(row.evaluator for row in rows), *chain.from_iterable(side.evaluators for side in only)]
        )
        models = [row.task_model for row in rows], *(side.task_models for side in only)
        task_models = apart(filter(None, chain.from_iterable(models)))

        def written(side: OnlyIn) -> OnlyIn:
            return replace(
                side,
                evaluators=tuple(evaluators[name] for name in side.evaluators),
                candidates=tuple(candidates[name] for name in side.candidates),
                task_models=tuple(name and task_models[name] for name in side.task_models),
            )

        return replace(
            self,
            a=replace(self.a, run=runs[self.a.run]),
            b=replace(self.b, run=runs[self.b.run]),
            rows=tuple(
                replace(
                    row,
                    evaluator=evaluators[row.evaluator],
                    candidate=candidates[row.candidate],
                    candidate_in_a=candidates[row.candidate_in_a],
                    task_model=row.task_model and task_models[row.task_model],
                )
                for row in rows
            ),
            only_in_a=written(only[0]),
            only_in_b=written(only[1]),
        )

    def to_dict(self) -> JsonDict:
        return documents.to_dict(self)


@frozen
class UnpairedDifference:
    """A difference of two means whose examples are not known."""

    diff: float | None
    ci: Interval | None
    p_holm: float | None
    mark: str

    @property
    def p(self) -> None:
        """Give no p: nothing was tested."""


@frozen
class OverallDiff:
    """A model's overall scores on both boards, where these have the same tasks."""

    a: float | None
    b: float | None
    difference: Annotated[ScoreDifference | UnpairedDifference, FLAT]


@frozen
class TaskDiff:
    """One task of both boards; what needs its examples is None without them."""

    task: str
    display_name: Annotated[str, IF_ANY] = ""  # of a task in YAML
    metric_id: str | None
    a: float | None
    b: float | None
    difference: Annotated[ScoreDifference | UnpairedDifference, FLAT]
    predictions_changed: int | None
    newly_failing: int | None
    fixed: int | None

    @property
    def name(self) -> str:
        """Give what people call the task, and the key that gates take, where that is another."""
        return f"{self.display_name} ({self.task})" if self.display_name else self.task

    @property
    def has_moved(self) -> bool:
        return self.a != self.b


@frozen
class PredictionOfBoard:
    """What a model said on one of the boards."""

    prediction: str | float | None
    score: float | None
    error: str | None


@frozen
class ChangedPrediction:
    """An example whose prediction is another now."""

    task: str
    id: str | float
    a: PredictionOfBoard
    b: PredictionOfBoard


@frozen
class ModelDiff:
    """A model on both boards; what needs examples is None where they are not paired."""

    model: str
    model_in_a: str
    paired: bool
    overall: OverallDiff
    tasks: tuple[TaskDiff, ...]
    at_lower_bound: ScoreDifference | UnpairedDifference
    newly_failing: int | None
    fixed: int | None
    failed_calls: Sides[int]
    predictions_changed: int | None
    changed: tuple[ChangedPrediction, ...]

    @property
    def has_moved(self) -> bool:
        return any(task.has_moved for task in self.tasks)

    @property
    def change(self) -> Change | None:
        """Give what a gate hangs on; None where nothing is paired."""
        overall, low = self.overall.difference, self.at_lower_bound
        if isinstance(overall, UnpairedDifference) or isinstance(low, UnpairedDifference):
            return None
        return Change(
            difference=overall,
            margin=None,
            low=low,
            low_margin=None,
            newly_failing=self.newly_failing or 0,
            newly_failing_in_part=0,
            fixed=self.fixed or 0,
            more_failed=self.failed_calls.b > self.failed_calls.a,
        )


@frozen
class OnlyOnBoard:
    """What one of the boards has and the other has not."""

    models: tuple[str, ...]
    tasks: tuple[str, ...]


@frozen
class BoardDiff:
    """Two leaderboards against each other."""

    schema: str
    caveats: tuple[str, ...]
    verdict: Conclusion
    models: tuple[ModelDiff, ...]
    only_in_a: OnlyOnBoard
    only_in_b: OnlyOnBoard
    metrics: Annotated[tuple[ScorerMetricsDiff, ...], IF_ANY] = ()  # of tasks in YAML, of benches' folders

    def with_names_apart(self) -> "BoardDiff":
        """Write the names of models for people."""
        only = self.only_in_a, self.only_in_b
        pairs = chain.from_iterable((model.model_in_a, model.model) for model in self.models)
        names = apart([*pairs, *chain.from_iterable(side.models for side in only)])
        models = tuple(
            replace(model, model=names[model.model], model_in_a=names[model.model_in_a])
            for model in self.models
        )
        written = [replace(side, models=tuple(names[name] for name in side.models)) for side in only]
        return replace(self, models=models, only_in_a=written[0], only_in_b=written[1])

    def to_dict(self) -> JsonDict:
        return documents.to_dict(self)
