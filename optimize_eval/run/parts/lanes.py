"""The lane of each part of a plan: its units, and how many calls at once its evaluator or model can take."""

from collections.abc import Sequence
from functools import partial

from optimize_eval.engines import Lane, begun_apart
from optimize_eval.run.live import LiveEvaluators
from optimize_eval.run.parts.shares import Share
from optimize_eval.run.plan import Plan


def lane_of(plan: Plan, place: int, share: Share, owed: Sequence[int], live: LiveEvaluators) -> Lane:
    """Give an evaluator a lane of its own; in a bench each model, whatever evaluators it is for."""
    if plan.by_model:
        return Lane(units=owed, capacity=partial(live.capacity_of, share.name))
    return Lane(
        units=begun_apart(owed, place, len(plan.specs)) if plan.models else owed,
        capacity=partial(live.capacity, place),
        weight=plan.specs[place].weight,
    )
