"""What the best of several candidates gains, without the flattery of having been chosen: cross-fitting.

The examples (or whole clusters) are halved at random: the candidate with the highest mean gain on one half
is measured on the other, and the other way round; over 20 seeded halvings each example gets the average of
what was measured on it. The standard error is that of these averages, but never below the one of the
candidate that all examples choose.
"""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optimize_eval.frozen import frozen
from optimize_eval.statistics.intervals import Interval, around
from optimize_eval.statistics.units import Clusters, centre, spread

HALVINGS = 20

_FEWEST_UNITS = 4
_MOST_BLOCKS = 1000  # that are drawn: more units are put together at random, which changes no chance


@frozen
class CrossFitted:
    """The gain of the candidates that would have been chosen; `chosen` says how often each candidate was."""

    diff: float
    se: float
    df: int
    n_pairs: int
    chosen: Mapping[str, float]

    @property
    def ci(self) -> Interval | None:
        return around(self.diff, self.se, self.df) if self.se else None


@dataclass(slots=True)
class _Candidate:
    """One candidate's gains, summed by unit, so that halves are added up quickly."""

    gains: Sequence[float]  # by example, NaN where there is none
    sums: list[float]  # by unit
    counts: list[int]


def cross_fitted(
    gains: Mapping[str, Sequence[float]], clusters: Clusters, *, seed: int, naive_se: float
) -> CrossFitted | None:
    """Estimate from each candidate's gains over the baseline, by example; None with fewer than 4 units."""
    size = len(next(iter(gains.values())))
    units = _blocks(_units(size, clusters), seed)
    count = max(units, default=-1) + 1
    if count < _FEWEST_UNITS:
        return None
    candidates = {name: _candidate(values, units, count) for name, values in gains.items()}
    influence, chosen = _influence(candidates, units, count, seed)
    at = [place for place, value in enumerate(influence) if value == value]  # noqa: PLR0124  NaN is not itself
    values = [influence[place] for place in at]
    diff = centre(values)
    found = None if diff is None else spread(values, diff, clusters and [clusters[place] for place in at])
    if diff is None or found is None:
        return None
    se, df = found
    return CrossFitted(diff=diff, se=max(se, naive_se), df=df, n_pairs=len(at), chosen=chosen)


def mixture(gains: Mapping[str, Sequence[float]], chosen: Mapping[str, float]) -> list[float]:
    """Average candidates' gains by how often each was chosen, example by example."""
    names = [name for name, share in chosen.items() if share]
    rows = zip(*(gains[name] for name in names), strict=True)
    return [math.fsum(chosen[name] * value for name, value in zip(names, row, strict=True)) for row in rows]


def _units(size: int, clusters: Clusters) -> list[int]:
    """Give each example the number of its unit."""
    if clusters is None:
        return list(range(size))
    order = {cluster: place for place, cluster in enumerate(dict.fromkeys(clusters))}
    return [order[cluster] for cluster in clusters]


def _blocks(units: Sequence[int], seed: int) -> Sequence[int]:
    count = max(units, default=-1) + 1
    if count <= _MOST_BLOCKS:
        return units
    order = list(range(count))
    random.Random(seed).shuffle(order)  # noqa: S311  see _influence
    return [order[unit] % _MOST_BLOCKS for unit in units]


def _candidate(gains: Sequence[float], units: Sequence[int], count: int) -> _Candidate:
    sums, counts = [0.0] * count, [0] * count
    for unit, gain in zip(units, gains, strict=True):
        if gain == gain:  # noqa: PLR0124  only NaN is not itself
            sums[unit] += gain
            counts[unit] += 1
    return _Candidate(gains=gains, sums=sums, counts=counts)


def _influence(
    candidates: Mapping[str, _Candidate], units: Sequence[int], count: int, seed: int
) -> tuple[list[float], dict[str, float]]:
    """Measure each example by what the other half chose; average over the halvings."""
    draw = random.Random(seed)  # noqa: S311  halving examples, no secret
    order = list(range(count))
    times = {name: ([0] * count) for name in candidates}  # how often each was measured on a unit
    for _ in range(HALVINGS):
        draw.shuffle(order)
        halves = order[: count // 2], order[count // 2 :]
        first = _best(candidates, halves[0], draw)
        second = _best(candidates, halves[1], draw)
        for name, half in ((first, halves[1]), (second, halves[0])):
            measured = times[name]
            for unit in half:
                measured[unit] += 1
    chosen = {name: sum(measured) / (HALVINGS * count) for name, measured in times.items()}
    return [_average(candidates, times, place, unit) for place, unit in enumerate(units)], chosen


def _best(candidates: Mapping[str, _Candidate], half: Sequence[int], draw: random.Random) -> str:
    """Choose the highest mean on a half; among equals by lot, so that no order is favoured."""
    means = {name: _mean(candidate, half) for name, candidate in candidates.items()}
    highest = max(means.values())
    best = [name for name, mean in means.items() if mean == highest]
    return best[0] if len(best) == 1 else draw.choice(best)


def _mean(candidate: _Candidate, half: Sequence[int]) -> float:
    count = sum(map(candidate.counts.__getitem__, half))
    return _added([candidate.sums[unit] for unit in half]) / count if count else -math.inf


def _added(values: Sequence[float]) -> float:
    """Add up exactly: rounded sums depend on the version of Python, and with them the choice among equals."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):  # beyond what a float holds
        return sum(values)


def _average(
    candidates: Mapping[str, _Candidate], times: Mapping[str, Sequence[int]], place: int, unit: int
) -> float:
    total, weight = 0.0, 0
    for name, measured in times.items():
        if (many := measured[unit]) and (gain := candidates[name].gains[place]) == gain:
            total += many * gain
            weight += many
    return total / weight if weight else math.nan
