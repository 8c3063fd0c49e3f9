"""Means and paired differences of tasks that count alike, however many examples each has.

The tasks are fixed: an interval says how far other examples of the same tasks could move the mean. Where a
task has too few scores to tell that, a mean has no interval, and a difference takes the task as its unit.
What other tasks could make of it is a question of its own, answered where there are tasks enough.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate

from optimize_eval.findings.scores import Values
from optimize_eval.findings.summary.compare import Comparison
from optimize_eval.statistics.estimates import Interval, Mean, around, mean_of, wilson_effective
from optimize_eval.statistics.paired import PairedDifference, Stratified, difference_of, stratified

FEWEST_TASKS = 10  # from which on other tasks are spoken of

ScorePair = tuple[float, float]


def mean_over(tasks: Sequence[Sequence[float]]) -> Mean:
    """Estimate the mean of these tasks' means, of scores from 0 to 1; empty tasks do not count."""
    there = [scores for scores in tasks if scores]
    n = sum(map(len, there))
    estimate = stratified(there)
    if estimate is None:
        return replace(mean_of(_centres(there)), se=None, ci=None, method=None, n=n, df=None)
    ci = wilson_effective(estimate.mean, estimate.se, units=round(estimate.worth), df=estimate.df)
    return Mean(mean=estimate.mean, se=estimate.se, ci=ci, method="wilson_effective", n=n, df=estimate.df)


def on_tasks_like_these(tasks: Sequence[Sequence[float]]) -> Mean | None:
    """Estimate the same for all tasks that these could have been drawn from."""
    there = [scores for scores in tasks if scores]
    return mean_of(_centres(there), is_unit=True) if len(there) >= FEWEST_TASKS else None


def compare_by_task(
    a: Values,
    b: Values,
    sizes: Sequence[int],
    *,
    seed: int = 0,
    may_flip: bool = True,
    comparisons: int = 1,
) -> Comparison:
    """Compare on the examples that both have a score for, which are those of tasks of these sizes in turn."""
    both = list(zip(a, b, strict=True))
    starts = accumulate(sizes, initial=0)
    pairs = [
        [(x, y) for x, y in both[start : start + size] if not math.isnan(y - x)]
        for start, size in zip(starts, sizes, strict=False)
    ]
    difference = difference_over(pairs, seed=seed, may_flip=may_flip, comparisons=comparisons)
    return Comparison(difference=difference, dropped=len(both) - difference.n_pairs)


def difference_over(
    tasks: Sequence[Sequence[ScorePair]], *, seed: int = 0, may_flip: bool = True, comparisons: int = 1
) -> PairedDifference:
    """Compare pairs by task: the mean over tasks of second minus first, its interval, one p value.

    `comparisons` is the number that will be corrected together.
    """
    compared = partial(_compared, seed=seed, may_flip=may_flip, comparisons=comparisons)
    there = [pairs for pairs in tasks if pairs]
    every = [pair for pairs in there for pair in pairs]
    plain = _compared(every)  # for its counts
    estimate = stratified([[b - a for a, b in pairs] for pairs in there])
    if estimate is None:
        whole = compared([_centre(pairs) for pairs in there])
    else:
        whole = _among_fixed_tasks(there, estimate, compared)
    return replace(
        whole,
        ci=_possible(whole.ci, every),
        n_pairs=plain.n_pairs,
        wins=plain.wins,
        ties=plain.ties,
        losses=plain.losses,
    )


def _among_fixed_tasks(
    tasks: Sequence[Sequence[ScorePair]],
    estimate: Stratified,
    compared: Callable[[Sequence[ScorePair]], PairedDifference],
) -> PairedDifference:
    """Flip pairs, each with the weight that it has in its task."""
    if len({len(pairs) for pairs in tasks}) == 1:
        flipped = compared([pair for pairs in tasks for pair in pairs])
    else:
        flipped = compared([(a / len(pairs), b / len(pairs)) for pairs in tasks for a, b in pairs])
    ci = around(estimate.mean, estimate.se, estimate.df) if estimate.se else None
    return replace(flipped, diff=estimate.mean, se=estimate.se, ci=ci, df=estimate.df)


def _possible(ci: Interval | None, pairs: Sequence[ScorePair]) -> Interval | None:
    """Leave out what two scores from 0 to 1 cannot differ by; a board of another tool may have others."""
    if ci is None or not all(0 <= score <= 1 for pair in pairs for score in pair):
        return ci
    return max(-1.0, ci[0]), min(1.0, ci[1])


def _compared(
    pairs: Sequence[ScorePair], *, seed: int = 0, may_flip: bool = False, comparisons: int = 1
) -> PairedDifference:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    return difference_of(first, second, seed=seed, may_flip=may_flip, comparisons=comparisons)


def _centre(pairs: Sequence[ScorePair]) -> ScorePair:
    return math.fsum(a for a, _ in pairs) / len(pairs), math.fsum(b for _, b in pairs) / len(pairs)


def _centres(tasks: Sequence[Sequence[float]]) -> list[float]:
    return [math.fsum(scores) / len(scores) for scores in tasks]
