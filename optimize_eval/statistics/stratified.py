"""The mean over tasks that count alike, as estimated from each task's own examples.

The tasks are fixed: only which examples they have is chance, so that a task's scores vary around the task's
own mean. What would come out on other tasks is a mean of task means, which needs nothing of its own.
"""

import math
from collections.abc import Sequence

from optimize_eval.base.frozen import frozen

FEWEST = 2  # scores of a task that tell anything of how they vary


@frozen
class Stratified:
    """A mean over tasks; `worth` is how many examples of equal weight would be as good."""

    mean: float
    se: float
    df: float
    worth: float


def stratified(tasks: Sequence[Sequence[float]]) -> Stratified | None:
    """Estimate the mean of task means; None where a task has too few scores to tell how they vary."""
    if not tasks or any(len(scores) < FEWEST for scores in tasks):
        return None
    try:
        estimate = _estimated(tasks)
    except OverflowError:  # numbers near the end of what a float holds
        return None
    return estimate if math.isfinite(estimate.se) else None


def _estimated(tasks: Sequence[Sequence[float]]) -> Stratified:
    sizes = [len(scores) for scores in tasks]
    means = [math.fsum(scores) / len(scores) for scores in tasks]
    errors = [_squared_error(scores, mean) for scores, mean in zip(tasks, means, strict=True)]
    return Stratified(
        mean=math.fsum(means) / len(tasks),
        se=math.sqrt(math.fsum(errors)) / len(tasks),
        df=_freedom(errors, sizes) or _freedom([1 / size for size in sizes], sizes),
        worth=len(tasks) ** 2 / math.fsum(1 / size for size in sizes),
    )


def _squared_error(scores: Sequence[float], mean: float) -> float:
    n = len(scores)
    return 0.0 if max(scores) == min(scores) else math.fsum((x - mean) ** 2 for x in scores) / (n - 1) / n


def _freedom(errors: Sequence[float], sizes: Sequence[int]) -> float:
    """Give Satterthwaite's degrees of freedom of a sum of independent estimates; 0 where nothing varies."""
    scale = max(errors)
    if not scale:
        return 0.0
    shares = [error / scale for error in errors]  # or their squares could leave the floats
    parts = math.fsum(share**2 / (size - 1) for share, size in zip(shares, sizes, strict=True))
    return math.fsum(shares) ** 2 / parts
