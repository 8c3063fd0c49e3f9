"""Two leaderboards against each other: which tasks moved, by how much, which predictions changed.

Where both have their examples, differences are paired; else they are those of independent means, and what
has no spread has no interval. Metrics are of all rows that count in each run, be these in the other or not.
Pure: boards in, one value out.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.names import apart
from optimize_eval.findings import comparison
from optimize_eval.findings.board_shapes import (
    Board,
    BoardExample,
    ModelScores,
    Prediction,
    TaskScores,
    are_of_one_file,
    by_name,
    differences,
)
from optimize_eval.findings.cells import Outcomes, joined_outcomes
from optimize_eval.findings.comparison import (
    Compared,
    Held,
    compare_by_task,
    corrected,
    corrected_held,
    corrected_together,
    held_difference,
    with_mark,
)
from optimize_eval.findings.diff_shapes import (
    BOARDS_SCHEMA,
    BoardDiff,
    ChangedPrediction,
    CountedRows,
    MetricDiff,
    MetricOfRun,
    ModelDiff,
    OnlyOnBoard,
    OverallDiff,
    PredictionOfBoard,
    ScorerMetricsDiff,
    Sides,
    TaskDiff,
    UnpairedDifference,
)
from optimize_eval.findings.diff_verdict import judge_boards
from optimize_eval.findings.metric_rows import metrics_of
from optimize_eval.findings.stored_boards import is_bench_folder
from optimize_eval.findings.summary_shape import ScorerMetrics
from optimize_eval.statistics.differences import ScoreDifference, difference_over, gap_of
from optimize_eval.statistics.estimates import Spread
from optimize_eval.store.opened_run import StoredRun, open_stored

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
            repeat.prediction is not None
            for pair in self.examples
            for side in pair
            for repeat in side.repeats
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
    scores = [end if repeat.score is None else repeat.score for repeat in example.repeats if not repeat.skip]
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


_MOST_CHANGED = 100


def compare_boards(a: Board, b: Board, *, force: bool = False) -> BoardDiff:
    """Compare, a before and b after; raises UsageError where their scores are not of the same."""
    reasons = differences(a, b)
    if reasons and not force:
        raise _not_the_same(reasons, a)
    models = tuple(_model(before, after) for before, after in _couples(a, b))
    return BoardDiff(
        schema=BOARDS_SCHEMA,
        caveats=(*reasons, *_note_changes(a, "A"), *_note_changes(b, "B"), *_note_unpaired(models)),
        verdict=judge_boards(models),
        models=models,
        only_in_a=_only(a, b),
        only_in_b=_only(b, a),
    )


def check_comparable(a: Board, b: Board) -> None:
    """Refuse boards that cannot be compared; of the second no more than names has to be known."""
    if reasons := differences(a, b):
        raise _not_the_same(reasons, a)
    _couples(a, b)


def _not_the_same(reasons: Sequence[str], board: Board) -> UsageError:
    same = "run `optimize-eval bench` on the same files for both"
    prompts = "run -e task:FILE compares prompts as candidates of one run, which stand at {{ candidate }}"
    is_in_yaml = any(task.measures for task in board.models[0].tasks)
    return UsageError(
        "\n".join(["the two boards do not measure the same:", *(f"  {reason}" for reason in reasons)]),
        hint=f"{prompts if is_in_yaml else same}; diff --force compares what is common",
    )


def _couples(a: Board, b: Board) -> list[tuple[ModelScores, ModelScores]]:
    """Pair models by name; the only one of each board with each other, whatever they are called."""
    before, after = ({model.adapter: model for model in board.models} for board in (a, b))
    if common := [name for name in after if name in before]:
        return [(before[name], after[name]) for name in common]
    if len(before) == len(after) == 1:
        return list(zip(before.values(), after.values(), strict=True))
    shown = apart([*before, *after])
    first, second = (", ".join(shown[name] for name in names) for names in (before, after))
    raise UsageError(
        f"no model is on both boards: {first} on the first, {second} on the second",
        hint="compare boards of the same models, or of one model each",
    )


def _model(before: ModelScores, after: ModelScores) -> ModelDiff:
    tasks = common_tasks(before, after)
    comparisons = _correct([_compare_tasks([task], len(tasks)) for task in tasks])
    changed = [(task.name, pair) for task in tasks for pair in task.changed]
    is_paired = bool(tasks) and all(task.examples for task in tasks)
    return ModelDiff(
        model=after.adapter,
        model_in_a=before.adapter,
        paired=is_paired,
        overall=_overall(before, after, tasks, is_paired=is_paired),
        tasks=tuple(_task(task, d) for task, d in zip(tasks, comparisons, strict=True)),
        at_lower_bound=_at_zero(tasks)
        if is_paired
        else _apart((before.lower_bound, before), (after.lower_bound, after)),
        newly_failing=sum(task.newly_failing for task in tasks) if is_paired else None,
        fixed=sum(task.fixed for task in tasks) if is_paired else None,
        failed_calls=Sides(a=before.failed, b=after.failed),
        predictions_changed=len(changed)
        if is_paired and any(task.has_predictions for task in tasks)
        else None,
        changed=tuple(_change(*change) for change in sorted(changed, key=_gain)[:_MOST_CHANGED]),
    )


def _overall(
    before: ModelScores, after: ModelScores, tasks: Sequence[TaskPair], *, is_paired: bool
) -> OverallDiff:
    is_whole = len(tasks) == len(before.tasks) == len(after.tasks)
    return OverallDiff(
        a=before.overall_score if is_whole else None,
        b=after.overall_score if is_whole else None,
        difference=_together(tasks)
        if is_paired
        else _apart((before.overall_score, before), (after.overall_score, after)),
    )


def _together(tasks: Sequence[TaskPair]) -> ScoreDifference:
    (held,) = _correct([_compare_tasks(tasks)])
    return held_difference(held)


def _correct(held: Sequence[Held]) -> list[Held]:
    """Correct what is compared together."""
    return list(corrected_held(dict(enumerate(held)), corrected_together).values())


def _compare_tasks(tasks: Sequence[TaskPair], comparisons: int = 1) -> Held:
    """Compare on the examples that both have a score for; tasks count alike."""
    sizes = [len(task.examples) for task in tasks]
    between = partial(compare_by_task, sizes=sizes, comparisons=comparisons)
    a, b = map(joined_outcomes, zip(*(task.outcomes for task in tasks), strict=True))
    return Held.of(between(a.means, b.means), Compared(a=a, b=b, between=between, is_unit=True))


def _at_zero(tasks: Sequence[TaskPair]) -> ScoreDifference:
    """Compare on all examples with failures as 0."""
    difference = difference_over([[(_low(a), _low(b)) for a, b in task.applying] for task in tasks])
    examples = sum(len(task.examples) for task in tasks)
    (difference_at_zero,) = corrected([with_mark(difference, examples - difference.n_pairs)])
    return difference_at_zero


def _low(example: BoardExample) -> float:
    """Give an example's score with what failed, of its repeats too, as 0; what was skipped is left out."""
    scores = [
        repeat.score or 0.0 for repeat in example.repeats if repeat.score is not None or not repeat.skip
    ]
    return math.fsum(scores) / len(scores)


def _task(task: TaskPair, held: Held) -> TaskDiff:
    before, after, is_paired = task.before, task.after, bool(task.examples)
    return TaskDiff(
        task=task.name,
        display_name=after.display_name,
        metric_id=after.metric_id,
        a=before.score,
        b=after.score,
        difference=held_difference(held)
        if is_paired
        else _apart((before.score, before), (after.score, after)),
        predictions_changed=len(task.changed) if is_paired and task.has_predictions else None,
        newly_failing=task.newly_failing if is_paired else None,
        fixed=task.fixed if is_paired else None,
    )


_Measured = tuple[float | None, ModelScores | TaskScores]  # a mean, and who has its spread


def _apart(before: _Measured, after: _Measured) -> UnpairedDifference:
    """Subtract two means whose examples are not known; what has no spread has no interval."""
    a, b = before[0], after[0]
    if a is None or b is None:
        return UnpairedDifference(diff=None, ci=None, p_holm=None, mark=comparison.TOO_FEW)
    estimates = _estimate(b, after[1]), _estimate(a, before[1])
    if not all(se and df > 0 for _, se, df in estimates):
        return UnpairedDifference(diff=b - a, ci=None, p_holm=None, mark=comparison.TOO_FEW)
    gap, mark = gap_of(*estimates), comparison.NO_DIFFERENCE
    if gap.excludes_zero:
        mark = comparison.HINT_BETTER if gap.value > 0 else comparison.HINT_WORSE
    return UnpairedDifference(diff=b - a, ci=gap.ci, p_holm=None, mark=mark)


def _estimate(mean: float, spread: ModelScores | TaskScores) -> Spread:
    return mean, spread.se or 0.0, spread.df or spread.n - 1


def _change(task: str, pair: ExamplePair) -> ChangedPrediction:
    a, b = (
        PredictionOfBoard(prediction=side.prediction, score=side.score, error=side.error) for side in pair
    )
    return ChangedPrediction(task=task, id=pair[1].id, a=a, b=b)


def _gain(change: tuple[str, ExamplePair]) -> float:
    """Sort what lost most first; what fails now before all, what was failing last."""
    before, after = (example.score for example in change[1])
    if after is None:
        return -math.inf
    return math.inf if before is None else float(after - before)


def _note_changes(board: Board, side: str) -> Iterator[str]:
    if names := ", ".join(board.changed):
        yield f"{names} changed while being called in {side}: its scores come from different programs"


def _note_unpaired(models: Sequence[ModelDiff]) -> Iterator[str]:
    if not all(model.paired for model in models):
        yield "nothing is paired: a board has no examples (`bench --include-per-example` keeps them)"


def _only(board: Board, other: Board) -> OnlyOnBoard:
    """List the models and tasks that only one of the boards has."""
    names = [[model.adapter for model in side.models] for side in (board, other)]
    tasks = [by_name(side.models[0].tasks) for side in (board, other)]
    models = [] if len(names[0]) == len(names[1]) == 1 else [n for n in names[0] if n not in names[1]]
    return OnlyOnBoard(models=tuple(models), tasks=tuple(name for name in tasks[0] if name not in tasks[1]))


_Key = tuple[str, str, str | None, str]  # evaluator, candidate, model, split


@frozen
class Names:
    """What candidates and models of B are called in A."""

    candidates: Mapping[str, str]
    models: Mapping[str | None, str | None]


def metrics_between(a: StoredRun, b: StoredRun, names: Names) -> tuple[ScorerMetricsDiff, ...]:
    """Compare the metrics of what both runs have; most have none."""
    before = {_key(entry): entry for entry in metrics_of(a, a.layout)}
    after = {_key(entry): entry for entry in metrics_of(b, b.layout)}
    return tuple(_between(before, after, names))


def with_metrics(diff: BoardDiff, a: str, b: str) -> BoardDiff:
    """Put the metrics of two benches into the comparison of their boards; a board alone has none."""
    if not (is_bench_folder(a) and is_bench_folder(b)):
        return diff
    before, after = open_stored(a), open_stored(b)
    models: dict[str | None, str | None] = {model.model: model.model_in_a for model in diff.models}
    names = Names(candidates={name: name for name in after.layout.candidates}, models=models)
    return replace(diff, metrics=metrics_between(before, after, names))


def _between(
    before: Mapping[_Key, ScorerMetrics], after: Mapping[_Key, ScorerMetrics], names: Names
) -> Iterator[ScorerMetricsDiff]:
    in_a = {key: _key_in_a(key, names) for key in after}
    for key, entry in after.items():
        if (former := in_a[key]) is not None:
            yield _diff(key, former, before.get(former), entry)
    candidates = {name: here for here, name in names.candidates.items()}
    models = {name: here for here, name in names.models.items()}
    for former, entry in before.items():
        evaluator, candidate, model, split = former
        if former not in in_a.values() and candidate in candidates and model in models:
            yield _diff((evaluator, candidates[candidate], models[model], split), former, entry, None)


def _key(entry: ScorerMetrics) -> _Key:
    return entry.evaluator, entry.candidate, entry.task_model, entry.split


def _key_in_a(key: _Key, names: Names) -> _Key | None:
    evaluator, candidate, model, split = key
    if candidate not in names.candidates or model not in names.models:
        return None
    return evaluator, names.candidates[candidate], names.models[model], split


def _diff(
    key: _Key, former: _Key, before: ScorerMetrics | None, after: ScorerMetrics | None
) -> ScorerMetricsDiff:
    evaluator, candidate, model, split = key
    named = after or before
    return ScorerMetricsDiff(
        evaluator=evaluator,
        display_name=named.display_name if named else "",
        candidate=candidate,
        candidate_in_a=former[1],
        task_model=model,
        task_model_in_a=former[2],
        split=split,
        a=_count_rows(before),
        b=_count_rows(after),
        metrics=tuple(_metrics(_numbers(before), _numbers(after))),
    )


def _count_rows(entry: ScorerMetrics | None) -> CountedRows | None:
    if entry is None:
        return None
    table = entry.table
    problems = [entry.problem, *(measured.problem for measured in table.metrics)]
    return CountedRows(
        n_total=table.n_total,
        n_scored=table.n_scored,
        n_excluded=table.n_excluded,
        n_failed=table.n_failed,
        excluded_by=dict(table.excluded_by),
        problems=tuple(filter(None, problems)),
        rule_faults=tuple(fault.told(entry.split) for fault in entry.rule_faults),
    )


def _numbers(entry: ScorerMetrics | None) -> dict[str, MetricOfRun]:
    """Name each number; of those that several metrics call alike, the later ones are counted."""
    numbers: dict[str, MetricOfRun] = {}
    for metric in entry.table.metrics if entry else ():
        names = {name: _free(name, numbers) for name in metric.values}
        numbers |= {
            names[name]: MetricOfRun(value=value, n=metric.n) for name, value in metric.values.items()
        }
    return numbers


def _free(name: str, taken: Collection[str]) -> str:
    others = (f"{name} ({number})" for number in count(2))
    return name if name not in taken else next(other for other in others if other not in taken)


def _metrics(a: Mapping[str, MetricOfRun], b: Mapping[str, MetricOfRun]) -> Iterator[MetricDiff]:
    for name in dict.fromkeys((*b, *a)):
        before, after = a.get(name), b.get(name)
        yield MetricDiff(name=name, a=before, b=after, diff=_difference(before, after))


def _difference(before: MetricOfRun | None, after: MetricOfRun | None) -> float | None:
    values: Sequence[float | None] = [side.value if side else None for side in (before, after)]
    a, b = values
    return None if a is None or b is None else b - a
