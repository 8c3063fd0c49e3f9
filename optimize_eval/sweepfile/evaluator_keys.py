"""The keys of [[evaluator]] in a sweep file, and the check of each: common ones, and those of each kind.

Most common ones are options of evaluators; the others have no flag.
"""

from optimize_eval.base import checks
from optimize_eval.base.checks import Check, Keys
from optimize_eval.evaluators.kinds import kinds
from optimize_eval.options.declared import declared
from optimize_eval.options.evaluators import ReachOptions


def evaluator_keys(folder: str) -> Keys:
    """List what [[evaluator]] takes."""
    options = {
        one.key: one.option.value.key(folder)
        for one in declared(ReachOptions).values()
        if one.option.value is not None
    }
    common = {"name": checks.name, "env": checks.environment, "weight": checks.weight}
    return {**common, **_target_keys(), **options, **_settings(folder)}


def _target_keys() -> dict[str, Check]:
    return {key: target.check for kind in kinds() for key, target in kind.targets().items()}


def _settings(folder: str) -> dict[str, Check]:
    return {key: check for kind in kinds() for key, check in kind.settings(folder).items()}
