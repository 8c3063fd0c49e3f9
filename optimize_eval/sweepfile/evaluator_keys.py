"""The keys of [[evaluator]] in a sweep file, and the check of each."""

from typing import Any

from optimize_eval.sweepfile import checks
from optimize_eval.sweepfile.checks import Keys


def evaluator_keys(folder: str) -> Keys:
    """List what [[evaluator]] takes; from `objective` on, what a judge takes."""

    def path(value: Any) -> str:
        return checks.beside(folder, checks.text(value))

    return {
        "name": checks.name,
        "command": checks.command,
        "url": checks.url,
        "use": checks.metric,
        "judge": checks.model,
        "task": checks.text,
        "timeout": checks.timeout,
        "cwd": path,
        "env": checks.environment,
        "headers": checks.header_pairs,
        "retries": checks.whole,
        "persistent": checks.boolean,
        "workers": checks.count,
        "score_range": checks.score_range,
        "weight": checks.weight,
        "objective": checks.text,
        "rubric": path,
        "api_base": checks.url,
        "temperature": checks.temperature,
        "max_tokens": checks.count,
        "seed": checks.whole,
        "shows": checks.fields,
        "hides": checks.fields,
        "human": checks.fields,
    }
