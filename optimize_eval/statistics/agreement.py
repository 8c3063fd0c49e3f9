"""Agreement: of a judge with people, of people with each other, of judges on a panel.

Cohen's kappa (1960), for ordered levels with quadratic weights (1968), is of pairs; Krippendorff's alpha is
of any number of raters, of whom any may be missing. Both are 1 where all agree, and 0 where they agree as
often as chance would. None where nobody differs from anybody in anything, so that chance would do as well.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from optimize_eval.base.frozen import frozen
from optimize_eval.statistics.estimates import Clusters, Interval, quantile, spread

NOMINAL, ORDINAL, INTERVAL = "nominal", "ordinal", "interval"
DRAWS = 2000

_MOST_DRAWN = 2_000_000  # examples, in all draws together
_FEWEST_DRAWS = 200
_TAIL = 0.025

Ratings = Sequence[Any]  # of an example, names or numbers; None where somebody said nothing
_Part = TypeVar("_Part")


def kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Give Cohen's kappa of two who name one of several things.

    >>> kappa([("a", "a"), ("a", "b"), ("b", "b"), ("b", "b")])
    0.5
    """
    n, agreed = len(pairs), sum(a == b for a, b in pairs)
    firsts, seconds = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    by_chance = sum(many * seconds[name] for name, many in firsts.items())
    return (n * agreed - by_chance) / (n * n - by_chance) if n * n > by_chance else None


def quadratic_kappa(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Give Cohen's kappa of two who place on levels, where being two levels apart is four times as bad."""
    firsts, seconds = [a for a, _ in pairs], [b for _, b in pairs]
    apart = math.fsum((a - b) ** 2 for a, b in pairs) * len(pairs)
    by_chance = _apart_by_chance(firsts, seconds)
    return 1 - apart / by_chance if by_chance > 0 else None


def _apart_by_chance(firsts: Sequence[float], seconds: Sequence[float]) -> float:
    """Add up the squared distances of every first one to every second one."""
    if not firsts or min(*firsts, *seconds) == max(*firsts, *seconds):
        return 0.0
    squares = math.fsum(a * a for a in firsts) + math.fsum(b * b for b in seconds)
    return len(firsts) * squares - 2 * math.fsum(firsts) * math.fsum(seconds)


def alpha(units: Sequence[Ratings], level: str = NOMINAL) -> float | None:
    """Give Krippendorff's alpha; numbers where the level is not nominal."""
    rated = [[value for value in unit if value is not None] for unit in units]
    rated = [unit for unit in rated if len(unit) > 1]
    values = [value for unit in rated for value in unit]
    if level == ORDINAL:
        ranks = _ranks(values)
        rated = [[ranks[value] for value in unit] for unit in rated]
        values = [ranks[value] for value in values]
    if len(set(values)) < 2:  # noqa: PLR2004  nobody differs
        return None
    apart = _names_apart if level == NOMINAL else _squares_apart
    within = math.fsum(apart(unit) / (len(unit) - 1) for unit in rated)
    return 1 - (len(values) - 1) * within / apart(values)


def _names_apart(values: Sequence[Hashable]) -> float:
    """Count the ordered pairs that differ."""
    return len(values) ** 2 - sum(many * many for many in Counter(values).values())


def _squares_apart(values: Sequence[float]) -> float:
    """Add up the squared distances of all ordered pairs, from their centre, where the squares are small."""
    centre = math.fsum(values) / len(values)
    off = [value - centre for value in values]
    return 2 * len(off) * math.fsum(x * x for x in off) - 2 * math.fsum(off) ** 2


def _ranks(values: Sequence[float]) -> Mapping[float, float]:
    """Give each value the middle of its ranks; their distances are what alpha takes for ordered ones."""
    ranks: dict[float, float] = {}
    before = 0
    for value, many in sorted(Counter(values).items()):
        ranks[value] = before + many / 2
        before += many
    return ranks


def bootstrap(
    clusters: Sequence[Sequence[_Part]],
    statistic: Callable[[Sequence[_Part]], float | None],
    *,
    seed: int,
) -> Interval | None:
    """Give the middle 95 % of what a statistic is of examples that are drawn again; whole clusters are drawn.

    Of many examples fewer draws are made. None where fewer than half of the draws have one.
    """
    size = sum(map(len, clusters))
    draws = max(_FEWEST_DRAWS, min(DRAWS, _MOST_DRAWN // max(1, size)))
    draw = random.Random(seed)  # noqa: S311  a statistic, no secret
    drawn = (
        [part for cluster in draw.choices(clusters, k=len(clusters)) for part in cluster]
        for _ in range(draws if clusters else 0)
    )
    values = sorted(value for parts in drawn if (value := statistic(parts)) is not None)
    if len(values) * 2 < draws:
        return None
    cut = int(_TAIL * len(values))
    return values[cut], values[-1 - cut]


class LabelledError(NamedTuple):
    """How far people are from a judge on an example, which was as likely to be labelled as 1 / weight."""

    example: int
    error: float  # what people say minus what the judge says
    weight: float = 1.0


@frozen
class CorrectedMean:
    """What people would say on average, by a judge of all examples and by people of some."""

    mean: float
    se: float
    ci: Interval


def corrected_mean(
    judged: Sequence[float],
    sides: Sequence[tuple[float, Sequence[LabelledError]]],
    clusters: Clusters = None,
    *,
    step: float = 0.0,
    times: float = 1,
) -> CorrectedMean | None:
    """Add to a judge's mean its mean error on labelled examples (prediction-powered inference, 2023).

    Each side has a sign: a mean has one side, a difference that of its second part and, with -1, that of its
    first. Its error weighs what was labelled by how unlikely that was. `step` is the least by which labels
    differ: an error by one of them, up and down, is added to each side where examples are without a label
    (Bonett and Price 2012), so that a few labels without an error do not show that there is none. The
    interval holds for `times` as many comparisons. None where a side has fewer than two labels.
    """
    units = [len({clusters[row.example] if clusters else row.example for row in rows}) for _, rows in sides]
    if min(units) < 2:  # noqa: PLR2004  one label tells nothing of how errors vary
        return None
    whole, n = math.fsum(judged) / len(judged), len(judged)
    values, centre, mean, extra = list(judged), whole, whole, 0.0
    for (sign, rows), many in zip(sides, units, strict=True):
        weight = math.fsum(row.weight for row in rows)
        error = math.fsum(row.weight * row.error for row in rows) / weight
        added = 2 * (1 - len(rows) / n) if step else 0.0
        kept = many / (many + added)
        stretch = n / weight * math.sqrt(many / (many - 1) if len(rows) < n else 1) * kept
        for row in rows:
            values[row.example] += sign * (row.error - error) * row.weight * stretch
        mean, centre = mean + sign * error, centre + sign * error * kept
        extra += added * (step / (many + added)) ** 2
    around = math.fsum(values) / n
    se_and_df = spread(values, around, clusters)
    if se_and_df is None:
        return None
    se = math.hypot(se_and_df[0], math.sqrt(extra))
    reach = quantile(1 - _TAIL / times, min(units) - 1) * se
    return CorrectedMean(mean=mean, se=se, ci=(centre - reach, centre + reach))
