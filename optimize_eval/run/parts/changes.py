"""Which programs are other ones by the end of a session: of evaluators that were called, and of models."""

from collections.abc import Collection, Sequence

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.evaluators.kinds import has_changed
from optimize_eval.models.model_kinds import model_has_changed
from optimize_eval.run.plan import Plan


def changed_evaluators(plan: Plan, specs: Sequence[EvaluatorSpec], called: Collection[int]) -> list[str]:
    """Name those among the called ones, which are given by their places."""
    known = zip(specs, plan.identities, strict=True)
    return [
        spec.name
        for place, (spec, identity) in enumerate(known)
        if place in called and has_changed(spec, identity)
    ]


def changed_models(plan: Plan, called: Collection[str]) -> list[str]:
    """Name those among the called ones."""
    return [spec.name for spec in plan.model_specs if spec.name in called and model_has_changed(spec)]
