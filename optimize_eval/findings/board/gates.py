"""Gates on leaderboards: what models have to reach, and that none is worse than on an earlier board.

Pure: boards and their comparison in, gates out. What a gate is, and how a mean is held against a bound, is
summary.gates'; how two boards compare is diff.boards'.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.findings.board.comparable import by_name
from optimize_eval.findings.board.shapes import Board, ModelScores, TaskScores
from optimize_eval.findings.diff.board_words import sentence
from optimize_eval.findings.diff.gates import ONE_SIDED, judged
from optimize_eval.findings.diff.shapes import BoardDiff, ModelDiff, UnpairedDifference
from optimize_eval.findings.shapes.difference import ScoreDifference
from optimize_eval.findings.summary.compare import HINT_WORSE, TOO_FEW
from optimize_eval.findings.summary.gates import BoundAxes, Gate, bound_gate, check_reachable, read_bound
from optimize_eval.findings.wording import count
from optimize_eval.statistics.estimates import Interval
from optimize_eval.statistics.power import can_decide, fewest_units

_OF_A_BENCH = BoundAxes("bench", "model", "task")


@frozen
class BoardBound:
    """The lowest score that a model may have, overall or on a task, or that all models may have on a task."""

    model: str | None
    task: str | None
    least: float


def parse_bound(
    text: str, models: Sequence[str], tasks: Sequence[str], scorers: Sequence[str] = ()
) -> BoardBound:
    """Read MODEL=LEAST, MODEL@TASK=LEAST or, where no model is called so, TASK=LEAST.

    `scorers` are those of tasks in YAML, which other gates are about.
    """
    named = text.rpartition("=")[0]
    if named in tasks and named not in models:
        *_, least = read_bound(text, _OF_A_BENCH, tasks, ())
        check_reachable(text, least)
        return BoardBound(model=None, task=named, least=least)
    also = f"; a scorer's gate is TASK.SCORER[.METRIC]=0.8, such as {scorers[0]}=0.8" if scorers else ""
    model, task, least = read_bound(text, _OF_A_BENCH._replace(also=also), models, tasks)
    check_reachable(text, least)
    return BoardBound(model=model, task=task, least=least)


def bound_gates(models: Mapping[str, ModelScores], bounds: Sequence[BoardBound]) -> Iterator[Gate]:
    """Hold models, each by its name, against their bounds."""
    for bound in (own for one in bounds for own in _each(one, models)):
        where = f"{bound.model}, overall" if bound.task is None else f"{bound.model} on {bound.task}"
        scores = _scores_of(models.get(bound.model or ""), bound.task)
        if scores is None:
            text = f"{where}: it is not on the board: {bound.least:g} is not shown to be met"
            yield Gate(name=f"fail-under {where}", is_met=False, text=text)
        else:
            yield bound_gate(where, _as_of_a_split(scores), bound.least)


def _each(bound: BoardBound, models: Mapping[str, ModelScores]) -> Iterator[BoardBound]:
    """Take a bound of all models apart; those scored by an own metric have another name than on the board."""
    if bound.model is not None:
        yield bound
        return
    for name, model in models.items():
        if name == model.adapter:
            yield replace(bound, model=name)


def _scores_of(model: ModelScores | None, task: str | None) -> ModelScores | TaskScores | None:
    if model is None or task is None:
        return model
    return by_name(model.tasks).get(task)


@frozen
class BoundedScore:
    """A score as summaries have a mean."""

    mean: float | None
    ci: Interval | None
    scored: int
    failed: int
    skipped: int
    bounds: tuple[float | None, float | None]


def _as_of_a_split(scores: ModelScores | TaskScores) -> BoundedScore:
    return BoundedScore(
        mean=scores.overall_score if isinstance(scores, ModelScores) else scores.score,
        ci=scores.ci,
        scored=scores.scored,
        failed=scores.failed,
        skipped=scores.skipped,
        bounds=(scores.lower_bound, None),
    )


def unchanged(board: Board, where: str) -> Iterator[Gate]:
    """Demand that a board's programs stayed what they were."""
    if names := ", ".join(board.changed):
        text = f"{names} changed while being called{where}: its scores are not of one program"
        yield Gate(name=f"unchanged{where}", is_met=False, text=text)


def regression_gates(diff: BoardDiff, before: Board, against: str) -> Iterator[Gate]:
    """Hold a comparison with an earlier board against the demand that no model is worse overall.

    What that board has and this one has not may be worse.
    """
    yield from unchanged(before, f" in {against}")
    for what, names in (("model", diff.only_in_a.models), ("task", diff.only_in_a.tasks)):
        for name in names:
            text = f"against {against}: {what} {name} is on that board and not on this one"
            yield Gate(name=f"no-regression {what} {name}", is_met=False, text=text)
    for model in diff.models:
        is_met, why = _judged(model)
        text = f"against {against}: {sentence(model)}{why}"
        yield Gate(name=f"no-regression {model.model}, overall", is_met=is_met, text=text)


def check_can_decide(before: Board, expected: Board) -> None:
    """Refuse, before anything is called, a gate that so few examples in pairs could never be held against."""
    is_paired = all(task.per_example for model in before.models for task in model.tasks)
    examples = sum(task.total for task in expected.models[0].tasks)
    if is_paired and not can_decide(examples, alpha=ONE_SIDED):
        raise UsageError(
            f"--no-regression-against cannot be decided on {count(examples, 'example')}: "
            f"it takes at least {fewest_units(alpha=ONE_SIDED)}; nothing was called",
            hint="add tasks or examples",
        )


def _judged(model: ModelDiff) -> tuple[bool, str]:
    evidence = model.evidence
    return (_holds_apart(model), "") if evidence is None else judged(evidence)


def _holds_apart(model: ModelDiff) -> bool:
    """Return True if nothing got worse as far as two means can tell; what they leave open is a loss."""
    fails_more = model.failed_calls.b > model.failed_calls.a
    compared = [model.overall.difference, *([model.at_lower_bound] if fails_more else [])]
    return not any(map(_is_loss, compared))


def _is_loss(apart: ScoreDifference | UnpairedDifference) -> bool:
    if apart.diff is None:
        return True
    return apart.mark == HINT_WORSE or (apart.mark == TOO_FEW and apart.diff < 0)
