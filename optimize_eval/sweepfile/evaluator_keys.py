"""The keys of [[evaluator]] in a sweep file, and the check of each: common ones, and those of each kind."""

from typing import Any

from optimize_eval import checks
from optimize_eval.checks import Check, Keys
from optimize_eval.kinds.table import kinds


def evaluator_keys(folder: str) -> Keys:
    """List what [[evaluator]] takes."""

    def path(value: Any) -> str:
        return checks.beside(folder, checks.text(value))

    common = {
        "timeout": checks.timeout,
        "cwd": path,
        "env": checks.environment,
        "headers": checks.header_pairs,
        "retries": checks.whole,
        "persistent": checks.boolean,
        "workers": checks.count,
        "score_range": checks.score_range,
        "weight": checks.weight,
    }
    return {"name": checks.name, **_target_keys(), **common, **_settings(folder)}


def _target_keys() -> dict[str, Check]:
    return {key: target.check for kind in kinds() for key, target in kind.targets().items()}


def _settings(folder: str) -> dict[str, Check]:
    return {key: check for kind in kinds() for key, check in kind.settings(folder).items()}
