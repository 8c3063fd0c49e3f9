"""Means and paired differences where examples weigh unequally, as when tasks of unequal size count alike.

Weights are relative. Equal weights give exactly what statistics gives; else the interval is that of the
weighted mean by its residuals, so that equal scores have no spread whatever they weigh. Scores of 0 and 1
have Wilson's, for as many examples as the weights are worth.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from optimize_eval.statistics.intervals import wilson
from optimize_eval.statistics.means import Mean, mean_of
from optimize_eval.statistics.paired import Difference, difference_of

_ROUNDING = 1e-9


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> Mean:
    """Estimate a weighted mean."""
    share = _shares(weights)
    if share is None:
        return mean_of(values)
    found = mean_of(_around_mean(values, share))
    if found.mean is None or any(value not in {0, 1} for value in values):
        return found
    mean = min(1.0, max(0.0, found.mean))
    worth = len(values) ** 2 / math.fsum(weight**2 for weight in share)
    return replace(found, mean=mean, ci=wilson(mean, worth), method="wilson")


def weighted_difference(
    first: Sequence[float], second: Sequence[float], weights: Sequence[float], *, seed: int, may_flip: bool
) -> Difference:
    """Compare pairs: the weighted mean of second minus first, its interval, one p value."""
    share = _shares(weights)
    if share is None:
        return difference_of(first, second, seed=seed, may_flip=may_flip)
    plain = difference_of(first, second, may_flip=False)  # for its counts
    pairs = [b - a for a, b in zip(first, second, strict=True)]
    nothing = [0.0] * len(pairs)
    found = difference_of(nothing, _around_mean(pairs, share), may_flip=False)
    flipped = difference_of(
        nothing,
        [weight * pair for weight, pair in zip(share, pairs, strict=True)],
        seed=seed,
        may_flip=may_flip,
    )
    told = replace(found, wins=plain.wins, ties=plain.ties, losses=plain.losses)
    return replace(told, p=flipped.p, test=flipped.test)


def _shares(weights: Sequence[float]) -> list[float] | None:
    """Scale weights to 1 on average; None where they are all alike."""
    if not weights or max(weights) - min(weights) <= _ROUNDING * max(weights):
        return None
    scale = len(weights) / math.fsum(weights)
    return [weight * scale for weight in weights]


def _around_mean(values: Sequence[float], share: Sequence[float]) -> list[float]:
    """Move each value to where the plain mean is the weighted one, and the spread that of its residuals."""
    mean = math.fsum(weight * value for weight, value in zip(share, values, strict=True)) / len(values)
    return [mean + weight * (value - mean) for weight, value in zip(share, values, strict=True)]
