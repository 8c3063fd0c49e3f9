"""Gates on leaderboards: what models have to reach, and that none is worse than on an earlier board.

Pure: boards and their comparison in, gates out. What a gate is, and how a mean is held against a bound, is
gates'; how two boards compare is boards_compared's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optimize_eval.errors import UsageError
from optimize_eval.findings.board.stored import Board, by_name
from optimize_eval.findings.diff.boards import sentence
from optimize_eval.findings.diff.gates import ONE_SIDED, judged
from optimize_eval.findings.summary.compare import HINT_WORSE, TOO_FEW
from optimize_eval.findings.summary.gates import BoundAxes, Gate, bound_gate, read_bound
from optimize_eval.findings.wording import count
from optimize_eval.statistics.families import can_decide, fewest_units
from optimize_eval.statistics.intervals import Interval

_OF_A_BENCH = BoundAxes("bench", "model", "task")

Model = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardBound:
    """The lowest score that a model may have, overall or on a task."""

    model: str
    task: str | None
    least: float


def parse_bound(text: str, models: Sequence[str], tasks: Sequence[str]) -> BoardBound:
    """Read MODEL=LEAST or MODEL@TASK=LEAST."""
    model, task, least = read_bound(text, _OF_A_BENCH, models, tasks)
    return BoardBound(model=model, task=task, least=least)


def bound_gates(models: Mapping[str, Model], bounds: Sequence[BoardBound]) -> Iterator[Gate]:
    """Hold models, each by its name, against their bounds."""
    for bound in bounds:
        where = f"{bound.model}, overall" if bound.task is None else f"{bound.model} on {bound.task}"
        told = _score_of(models.get(bound.model), bound.task)
        if told is None:
            text = f"{where}: it is not on the board: {bound.least:g} is not shown to be met"
            yield Gate(name=f"fail-under {where}", is_met=False, text=text)
        else:
            yield bound_gate(where, _as_of_a_split(told), bound.least)


def _score_of(model: Model | None, task: str | None) -> Mapping[str, Any] | None:
    if model is None:
        return None
    if task is None:
        return {**model, "score": model.get("overall_score")}
    return by_name(model["tasks"]).get(task)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounded:
    """A score as summaries have a mean."""

    mean: float | None
    ci: Interval | None
    scored: int
    failed: int
    bounds: tuple[float | None, float | None]


def _as_of_a_split(told: Mapping[str, Any]) -> _Bounded:
    """Make of a score what summaries have; boards of other tools have no more than the score."""
    return _Bounded(
        mean=told["score"],
        ci=told.get("ci"),
        scored=told.get("scored") or 0,
        failed=told.get("failed") or 0,
        bounds=(told.get("lower_bound"), None),
    )


def unchanged(board: Board, where: str) -> Iterator[Gate]:
    """Demand that a board's programs stayed what they were."""
    if names := ", ".join(map(str, board.get("changed") or ())):
        text = f"{names} changed while being called{where}: its scores are not of one program"
        yield Gate(name=f"unchanged{where}", is_met=False, text=text)


def regression_gates(found: Mapping[str, Any], before: Board, against: str) -> Iterator[Gate]:
    """Hold a comparison with an earlier board against the demand that no model is worse overall.

    What that board has and this one has not may be worse.
    """
    yield from unchanged(before, f" in {against}")
    for axis, names in found["only_in_a"].items():
        for name in names:
            what = f"{axis.removesuffix('s')} {name}"
            text = f"against {against}: {what} is on that board and not on this one"
            yield Gate(name=f"no-regression {what}", is_met=False, text=text)
    for model in found["models"]:
        is_met, why = _held_in_pairs(model) if model["paired"] else (_holds_apart(model), "")
        text = f"against {against}: {sentence(model)}{why}"
        yield Gate(name=f"no-regression {model['model']}, overall", is_met=is_met, text=text)


def check_can_decide(before: Board, expected: Board) -> None:
    """Refuse, before anything is called, a gate that so few examples in pairs could never be held against."""
    is_paired = all(task.get("per_example") for model in before["models"] for task in model["tasks"])
    examples = sum(task["total"] for task in expected["models"][0]["tasks"])
    if is_paired and not can_decide(examples, alpha=ONE_SIDED):
        raise UsageError(
            f"--no-regression-against cannot be decided on {count(examples, 'example')}: "
            f"it takes at least {fewest_units(alpha=ONE_SIDED)}; nothing was called",
            hint="add tasks or examples",
        )


def _held_in_pairs(model: Model) -> tuple[bool, str]:
    return judged({**model, **model["overall"], "newly_failing_in_part": 0, "margin": None})


def _holds_apart(model: Model) -> bool:
    """Return True if nothing got worse as far as two means can tell; what they leave open is a loss."""
    fails_more = model["failed_calls"]["b"] > model["failed_calls"]["a"]
    told = [model["overall"], *([model["at_lower_bound"]] if fails_more else [])]
    return not any(_is_loss(one) for one in told)


def _is_loss(apart: Mapping[str, Any]) -> bool:
    if apart["diff"] is None:
        return True
    return bool(apart["mark"] == HINT_WORSE or (apart["mark"] == TOO_FEW and apart["diff"] < 0))
