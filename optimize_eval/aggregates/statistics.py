"""The numbers of a summary: means with intervals, paired differences with p values, gaps.

The unit of analysis is the example: repeats are averaged before anything here sees them. Clusters are
groups of examples that belong together (one document, say); they widen intervals and flip together.
What the numbers mean in words is decided in verdict. Sources: Miller 2024 (arXiv 2411.00640), Bowyer et
al. 2025 (arXiv 2503.01747), Wilson 1927, Holm 1979.
"""

import math
import operator
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, product

from optimize_eval.statistics import student

LEVEL = 0.975  # of a two-sided 95 % interval
FLIPS = 10_000
MOST_EXACT = 14  # units up to which all sign flips are counted
MOST_FLIPPED = 1000  # units up to which flips are drawn
DETECTABLE = 2.8  # standard errors: 80 % power at the 5 % level

_Z = 1.959963984540054
_ROUNDING = 1e-12

Clusters = Sequence[Hashable] | None
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean over examples; what too few examples cannot tell is None, never 0."""

    mean: float | None
    se: float | None
    ci: Interval | None
    method: str | None
    n: int
    df: float | None = None  # of the standard error


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Candidate B against A on the same examples."""

    diff: float | None
    se: float | None
    ci: Interval | None
    df: float | None
    p: float | None
    test: str | None
    n_pairs: int
    wins: int
    ties: int
    losses: int

    @property
    def mde(self) -> float | None:
        """The smallest difference that so many pairs can be expected to show."""
        return None if self.se is None else DETECTABLE * self.se


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """The difference of two independent estimates."""

    value: float
    se: float
    ci: Interval
    df: float

    @property
    def excludes_zero(self) -> bool:
        return self.ci[0] > 0 or self.ci[1] < 0


def mean_of(values: Sequence[float], clusters: Clusters = None) -> Mean:
    """Estimate the mean of what the examples were drawn from."""
    n = len(values)
    mean = _centre(values)
    if mean is None:
        return Mean(mean=None, se=None, ci=None, method=None, n=n)
    spread = _spread(values, mean, clusters)
    if spread is None:
        return Mean(mean=mean, se=None, ci=None, method=None, n=n)
    se, df = spread
    if clusters is None and all(value in {0, 1} for value in values):
        return Mean(mean=mean, se=se, ci=wilson(mean, n), method="wilson", n=n, df=df)
    ci = _around(mean, se, df)
    return Mean(mean=mean, se=se, ci=ci, method="t" if clusters is None else "cluster_t", n=n, df=df)


def within_sd(repeats: Sequence[Sequence[float]]) -> float | None:
    """Estimate how much one example's score varies when it is asked again: the noise floor."""
    freedom = sum(max(0, len(scores) - 1) for scores in repeats)
    try:
        sd = math.sqrt(math.fsum(map(_squares, repeats)) / freedom)
    except (ZeroDivisionError, OverflowError):
        return None
    return sd if math.isfinite(sd) else None


def spread_of(values: Sequence[float]) -> float | None:
    """Compute a standard deviation; None where there is none."""
    return within_sd([values])


def difference_of(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Clusters = None,
    *,
    seed: int = 0,
    may_flip: bool = True,
) -> Difference:
    """Compare pairs: the mean of second minus first, its interval, one p value and the test it is from."""
    pairs = [b - a for a, b in zip(first, second, strict=True)]
    n = len(pairs)
    counts = {
        "n_pairs": n,
        "wins": sum(d > 0 for d in pairs),
        "ties": sum(d == 0 for d in pairs),
        "losses": sum(d < 0 for d in pairs),
    }
    diff = _centre(pairs)
    spread = None if diff is None else _spread(pairs, diff, clusters)
    if diff is None or spread is None:
        return Difference(diff=diff, se=None, ci=None, df=None, p=None, test=None, **counts)
    se, df = spread
    p, test = _test(first, second, pairs, clusters, (diff, se, df), seed=seed, may_flip=may_flip)
    return Difference(diff=diff, se=se, ci=_around(diff, se, df), df=df, p=p, test=test, **counts)


def gap_of(first: tuple[float, float, float], second: tuple[float, float, float]) -> Gap:
    """Subtract two independent estimates (value, se, df), second from first (Welch, Satterthwaite)."""
    (a, se_a, df_a), (b, se_b, df_b) = first, second
    se = math.hypot(se_a, se_b)
    parts = (se_a / se) ** 4 / df_a + (se_b / se) ** 4 / df_b if se else 0.0
    df = 1 / parts if parts else math.inf
    return Gap(value=a - b, se=se, ci=_around(a - b, se, df), df=df)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct for having made so many comparisons, step by step from the smallest p."""
    corrected = [0.0] * len(p_values)
    worst = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        worst = max(worst, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = worst
    return corrected


def needed_pairs(se: float, n_pairs: int, difference: float) -> int:
    """Tell how many examples it takes to see a difference, from how much the pairs vary now."""
    return math.ceil(DETECTABLE**2 * se**2 * n_pairs / difference**2)


def _squares(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values) if values else 0.0
    return math.fsum((value - mean) ** 2 for value in values)


def _centre(values: Sequence[float]) -> float | None:
    """Average; None where there is nothing, or numbers near the end of what a float holds."""
    try:
        mean = math.fsum(values) / len(values)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    return mean if math.isfinite(mean) else None


def _spread(values: Sequence[float], mean: float, clusters: Clusters) -> tuple[float, float] | None:
    """Compute the standard error of a mean and its degrees of freedom, by clusters where there are some."""
    n = len(values)
    try:
        sums = _unit_sums([value - mean for value in values], clusters)
        squares = math.fsum(total**2 for total in sums)
    except (OverflowError, ValueError):
        return None
    units = len(sums)
    if units < 2:  # noqa: PLR2004  one value tells nothing of how values vary
        return None
    se = math.sqrt(units / (units - 1) * squares) / n
    if not math.isfinite(se):
        return None
    is_noise = se <= _ROUNDING * max(map(abs, values))  # of summing the same number again and again
    return 0.0 if is_noise else se, units - 1


def _unit_sums(values: Sequence[float], clusters: Clusters) -> list[float]:
    """Sum by cluster; without clusters each value is a unit of its own."""
    if clusters is None:
        return list(values)
    order = {cluster: place for place, cluster in enumerate(dict.fromkeys(clusters))}
    rows = sorted(
        zip((order[cluster] for cluster in clusters), values, strict=True), key=operator.itemgetter(0)
    )
    return [math.fsum(value for _, value in rows) for _, rows in groupby(rows, key=operator.itemgetter(0))]


def _around(value: float, se: float, df: float) -> Interval:
    reach = (_Z if math.isinf(df) else student.quantile(LEVEL, df)) * se
    return value - reach, value + reach


def wilson(mean: float, n: float) -> Interval:
    """Give the interval of a share of n examples; n is no whole number where examples weigh unequally."""
    centre = (mean + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    reach = _Z / (1 + _Z**2 / n) * math.sqrt(mean * (1 - mean) / n + _Z**2 / (4 * n**2))
    return max(0.0, centre - reach), min(1.0, centre + reach)


def _test(
    first: Sequence[float],
    second: Sequence[float],
    pairs: Sequence[float],
    clusters: Clusters,
    estimate: tuple[float, float, float],
    *,
    seed: int,
    may_flip: bool,
) -> tuple[float, str]:
    if clusters is None and all(value in {0, 1} for value in (*first, *second)):
        return _mcnemar(sum(d > 0 for d in pairs), sum(d < 0 for d in pairs)), "mcnemar"
    units = _unit_sums(pairs, clusters)
    if len(units) <= MOST_EXACT:
        return _all_flips(units), "flip_exact"
    if may_flip and len(units) <= MOST_FLIPPED:
        return _drawn_flips(units, seed), "flip"
    diff, se, df = estimate
    return (student.two_sided_p(diff / se, df) if se else float(diff == 0)), "t"


def _mcnemar(wins: int, losses: int) -> float:
    """Exact: the discordant pairs are tosses of a fair coin if nothing is different."""
    n, fewer = wins + losses, min(wins, losses)
    ways = sum(math.comb(n, k) for k in range(fewer + 1))
    return min(1.0, float(Fraction(2 * ways, 1 << n)))  # exact, and no number is too large for it


def _all_flips(units: Sequence[float]) -> float:
    least = _least(units)
    sums = (abs(math.fsum(map(operator.mul, signs, units))) for signs in product((1, -1), repeat=len(units)))
    return sum(total >= least for total in sums) / (1 << len(units))


def _least(units: Sequence[float]) -> float:
    """Say from which sum on flips are as extreme as what was observed, but for rounding."""
    return abs(math.fsum(units)) - _ROUNDING * math.fsum(map(abs, units))


def _drawn_flips(units: Sequence[float], seed: int) -> float:
    """Draw signs eight at a time: for each eight units a table of the 256 sums that a byte of signs gives."""
    units = [unit for unit in units if unit]  # a tie changes no sum
    eights = [units[start : start + 8] for start in range(0, len(units), 8)]
    tables = [_sums_by_byte(eight) for eight in eights]
    least = _least(units)
    draw = random.Random(seed).randbytes  # noqa: S311  a test statistic, no secret
    extreme = sum(abs(sum(map(operator.getitem, tables, draw(len(tables))))) >= least for _ in range(FLIPS))
    return (1 + extreme) / (1 + FLIPS)


def _sums_by_byte(eight: Sequence[float]) -> list[float]:
    """Double the table with each value: first all signs minus, then the same with this one plus."""
    sums = [-math.fsum(eight)]
    for value in eight:
        sums += [total + 2 * value for total in sums]
    return sums * (256 // len(sums))
