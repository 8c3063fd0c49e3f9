"""Two leaderboards against each other: which tasks moved, by how much, and which predictions changed.

Where both have their examples, differences are paired; else they are those of independent means, and what
has no spread has no interval. Pure: boards in, one value out. Which examples belong together is pairing's.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from optimize_eval.base.errors import UsageError
from optimize_eval.base.names import apart
from optimize_eval.findings.board.by_task import compare_by_task, difference_over
from optimize_eval.findings.board.comparable import by_name, differences
from optimize_eval.findings.board.shapes import Board, BoardExample, ModelScores, TaskScores
from optimize_eval.findings.claims.held import Held, corrected_held
from optimize_eval.findings.claims.held import Sides as ComparedSides
from optimize_eval.findings.diff.board_words import judge
from optimize_eval.findings.diff.pairing import ExamplePair, TaskPair, common_tasks
from optimize_eval.findings.diff.shapes import (
    BOARDS_SCHEMA,
    BoardDiff,
    ChangedPrediction,
    ModelDiff,
    OnlyOnBoard,
    OverallDiff,
    PredictionOfBoard,
    Sides,
    TaskDiff,
    UnpairedDifference,
)
from optimize_eval.findings.scores import joined_outcomes
from optimize_eval.findings.shapes.difference import ScoreDifference
from optimize_eval.findings.shaping import held_difference, score_difference
from optimize_eval.findings.summary import compare
from optimize_eval.findings.summary.compare import Comparison, corrected
from optimize_eval.statistics.paired import Estimate, gap_of

_MOST_CHANGED = 100


def compare_boards(a: Board, b: Board, *, force: bool = False) -> BoardDiff:
    """Compare, a before and b after; raises UsageError where their scores are not of the same."""
    reasons = differences(a, b)
    if reasons and not force:
        raise _not_the_same(reasons, a)
    models = tuple(_model(before, after) for before, after in _couples(a, b))
    return BoardDiff(
        schema=BOARDS_SCHEMA,
        caveats=(*reasons, *_changed(a, "A"), *_changed(b, "B"), *_unpaired(models)),
        verdict=judge(models),
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
    comparisons = _corrected([_held([task], len(tasks)) for task in tasks])
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
        changed=tuple(_change(*one) for one in sorted(changed, key=_gain)[:_MOST_CHANGED]),
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
    (held,) = _corrected([_held(tasks)])
    return held_difference(held)


def _corrected(found: Sequence[Held]) -> list[Held]:
    """Correct what is compared together."""

    def correct(kind: Mapping[int, Comparison]) -> dict[int, Comparison]:
        return dict(zip(kind, corrected(list(kind.values())), strict=True))

    return list(corrected_held(dict(enumerate(found)), correct).values())


def _held(tasks: Sequence[TaskPair], comparisons: int = 1) -> Held:
    """Compare on the examples that both have a score for; tasks count alike."""
    sizes = [len(task.examples) for task in tasks]
    between = partial(compare_by_task, sizes=sizes, comparisons=comparisons)
    a, b = map(joined_outcomes, zip(*(task.outcomes for task in tasks), strict=True))
    return Held.of(between(a.means, b.means), ComparedSides(a=a, b=b, between=between, is_unit=True))


def _at_zero(tasks: Sequence[TaskPair]) -> ScoreDifference:
    """Compare on all examples with failures as 0."""
    difference = difference_over([[(_low(a), _low(b)) for a, b in task.applying] for task in tasks])
    examples = sum(len(task.examples) for task in tasks)
    (one,) = corrected([Comparison(difference=difference, dropped=examples - difference.n_pairs)])
    return score_difference(one)


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
        return UnpairedDifference(diff=None, ci=None, p_holm=None, mark=compare.TOO_FEW)
    estimates = _estimate(b, after[1]), _estimate(a, before[1])
    if not all(se and df > 0 for _, se, df in estimates):
        return UnpairedDifference(diff=b - a, ci=None, p_holm=None, mark=compare.TOO_FEW)
    gap, mark = gap_of(*estimates), compare.NO_DIFFERENCE
    if gap.excludes_zero:
        mark = compare.HINT_BETTER if gap.value > 0 else compare.HINT_WORSE
    return UnpairedDifference(diff=b - a, ci=gap.ci, p_holm=None, mark=mark)


def _estimate(mean: float, spread: ModelScores | TaskScores) -> Estimate:
    return mean, spread.se or 0.0, spread.df or spread.n - 1


def _change(task: str, pair: ExamplePair) -> ChangedPrediction:
    a, b = (PredictionOfBoard(prediction=one.prediction, score=one.score, error=one.error) for one in pair)
    return ChangedPrediction(task=task, id=pair[1].id, a=a, b=b)


def _gain(change: tuple[str, ExamplePair]) -> float:
    """Sort what lost most first; what fails now before all, what was failing last."""
    before, after = (example.score for example in change[1])
    if after is None:
        return -math.inf
    return math.inf if before is None else float(after - before)


def _changed(board: Board, side: str) -> Iterator[str]:
    if names := ", ".join(board.changed):
        yield f"{names} changed while being called in {side}: its scores come from different programs"


def _unpaired(models: Sequence[ModelDiff]) -> Iterator[str]:
    if not all(model.paired for model in models):
        yield "nothing is paired: a board has no examples (`bench --include-per-example` keeps them)"


def _only(one: Board, other: Board) -> OnlyOnBoard:
    """List the models and tasks that only one of the boards has."""
    names = [[model.adapter for model in board.models] for board in (one, other)]
    tasks = [by_name(board.models[0].tasks) for board in (one, other)]
    models = [] if len(names[0]) == len(names[1]) == 1 else [n for n in names[0] if n not in names[1]]
    return OnlyOnBoard(models=tuple(models), tasks=tuple(name for name in tasks[0] if name not in tasks[1]))
