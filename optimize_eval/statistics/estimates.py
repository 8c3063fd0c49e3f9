"""Estimates: units, Student's t, means with their intervals, and what an interval is wide from.

The unit of analysis is the example: repeats are averaged before anything here sees them. Clusters are
groups of examples that belong together (one document, say); they widen intervals. Miller 2024
(arXiv 2411.00640), Bowyer et al. 2025 (arXiv 2503.01747). Repeats average an example's noise away and nothing
else: the most that any number of them can gain is known before they are made.

Means of zeros and ones have Wilson's interval (1927). Where scores are no plain zeros and ones, or come in
clusters, its n is the number of zeros and ones that would have the same standard error, so that no interval
leaves the range. Student's t is computed here: importing scipy costs over a second.

Over tasks, the tasks are fixed: only which examples they have is chance, so that a task's scores vary around
the task's own mean; a mean of a task with too few scores to tell that has no interval. What other tasks could
make of it is told apart, where there are tasks enough.
"""

import math
import operator
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import field
from functools import lru_cache
from itertools import groupby
from typing import Annotated

from optimize_eval.base.documents import IF_ANY, UNSAID
from optimize_eval.base.frozen import frozen

ROUNDING = 1e-12

Clusters = Sequence[Hashable] | None
Spread = tuple[float, float, float]  # value, standard error, degrees of freedom


def centre(values: Sequence[float]) -> float | None:
    """Average; None where there is nothing, or numbers near the end of what a float holds."""
    try:
        mean = math.fsum(values) / len(values)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    return mean if math.isfinite(mean) else None


def spread(values: Sequence[float], mean: float, clusters: Clusters) -> tuple[float, int] | None:
    """Compute the standard error of a mean and its degrees of freedom, by clusters where there are some."""
    return spread_around(values, [value - mean for value in values], clusters)


def spread_around(
    values: Sequence[float], deviations: Sequence[float], clusters: Clusters
) -> tuple[float, int] | None:
    """Compute the same of values whose deviations from their mean are known."""
    n = len(values)
    try:
        sums = unit_sums(deviations, clusters)
        squares = math.fsum([total**2 for total in sums])
    except (OverflowError, ValueError):
        return None
    units = len(sums)
    if units < 2:  # noqa: PLR2004  one value tells nothing of how values vary
        return None
    se = math.sqrt(units / (units - 1) * squares) / n
    if not math.isfinite(se):
        return None
    is_noise = se <= ROUNDING * max(map(abs, values))  # of summing the same number again and again
    return 0.0 if is_noise else se, units - 1


def unit_sums(values: Sequence[float], clusters: Clusters) -> Sequence[float]:
    """Sum by cluster; without clusters each value is a unit of its own."""
    if clusters is None:
        return values
    order = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    rows = sorted(
        zip((order[cluster] for cluster in clusters), values, strict=True), key=operator.itemgetter(0)
    )
    return [math.fsum(value for _, value in rows) for _, rows in groupby(rows, key=operator.itemgetter(0))]


def unit_count(n: int, clusters: Clusters) -> int:
    """Count the independent units among n values."""
    return n if clusters is None else len(set(clusters))


_TINY = 1e-300
_MOST_TERMS = 500
_PRECISION = 1e-15
_MOST_STEPS = 200
_CLOSE = 1e-13


def two_sided_p(t: float, df: float) -> float:
    """Tell how probable a value at least as far from zero as `t` is."""
    if math.isinf(df):
        return math.erfc(abs(t) / math.sqrt(2))
    near = t * t / (df + t * t)
    if near < 1 / (df + 2):  # taken from 1 as it is, or its digits are lost
        return 1 - incomplete_beta(0.5, df / 2, near)
    return incomplete_beta(df / 2, 0.5, df / (df + t * t))


@lru_cache(maxsize=4096)
def quantile(share: float, df: float) -> float:
    """Find t with P(T ≤ t) = share, for shares above one half; infinite df are the normal distribution's.

    Newton's method from the normal distribution's: the tail is convex, so steps stay short of the answer.
    """
    tail = 2 * (1 - share)
    t = _nearly_normal(tail)
    for _ in range(_MOST_STEPS):
        step = (two_sided_p(t, df) - tail) / (2 * _density(t, df))
        t += step
        if abs(step) <= _CLOSE * t:
            break
    return t


def _nearly_normal(tail: float) -> float:
    """Approximate the normal quantile to 0.0005 (Abramowitz and Stegun 26.2.23)."""
    u = math.sqrt(-2 * math.log(tail / 2))
    over = 2.515517 + u * (0.802853 + u * 0.010328)
    return max(0.0, u - over / (1 + u * (1.432788 + u * (0.189269 + u * 0.001308))))


def _density(t: float, df: float) -> float:
    if math.isinf(df):
        return math.exp(-t * t / 2) / math.sqrt(2 * math.pi)
    ratio = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    return ratio * math.exp(-(df + 1) / 2 * math.log1p(t * t / df))


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Compute the regularised incomplete beta function by its continued fraction (Lentz's method)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) / a * _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """Compute it term by term; nothing is called within the loop, which summaries go through most."""
    d = 1 - (a + b) * x / (a + 1)
    c, d = 1.0, 1 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, _MOST_TERMS):
        shifted = a + 2 * m
        even = m * (b - m) * x / ((shifted - 1) * shifted)
        odd = -(a + m) * (a + b + m) * x / (shifted * (shifted + 1))
        # Lentz's way of a continued fraction: c and d divide in the next step, so what cancels to 0
        # becomes tiny instead, which goes out again in their product.
        for term in (even, odd):
            d = 1 + term * d
            d = 1 / (d if d > _TINY or d < -_TINY else _TINY)
            c = 1 + term / c
            c = c if c > _TINY or c < -_TINY else _TINY
            value *= c * d
        if -_PRECISION < c * d - 1 < _PRECISION:
            break
    return value


LEVEL = 0.975  # of a two-sided 95 % interval
Z = 1.959963984540054

_MOST_WORTH = 1e15  # zeros and ones: beyond, an interval has no width that a float could hold

Interval = tuple[float, float]
STUDENT, BETTING, TANGO = "t", "betting", "tango"  # how one was made


def around(value: float, se: float, df: float) -> Interval:
    """Reach out from a value by Student's t."""
    reach = (Z if math.isinf(df) else quantile(LEVEL, df)) * se
    return value - reach, value + reach


def around_the_best(value: float, se: float, df: float, tried: int) -> Interval:
    """Reach out from the best of several; the lower end holds for all that were tried, whichever it is."""
    _, high = around(value, se, df)
    return value - quantile(1 - (1 - LEVEL) / tried, df) * se, high


def wilson(mean: float, n: float, z: float = Z) -> Interval:
    """Give the interval of a share of n examples; n is not a whole number where examples weigh unequally."""
    centre = (mean + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * math.sqrt(mean * (1 - mean) / n + z**2 / (4 * n**2))
    return max(0.0, centre - reach), min(1.0, centre + reach)


def wilson_effective(mean: float, se: float, *, units: int, df: float, most: float | None = None) -> Interval:
    """Give the interval of a mean of scores between 0 and 1 with any standard error.

    `units` are the examples or clusters that count where nothing varies; `most` is the number that zeros and
    ones may be worth.
    """
    mean = min(1.0, max(0.0, mean))
    variance = se**2
    worth = min(_MOST_WORTH, mean * (1 - mean) / variance) if variance else float(units)
    if most is not None:
        worth = min(worth, most)
    low, high = wilson(mean, worth or float(units), quantile(LEVEL, df))
    return min(low, mean), max(high, mean)  # the ends of the range are means, too


@frozen
class Estimate:
    """A mean over examples, or over tasks; what too few examples cannot tell is None, never 0."""

    mean: float | None
    se: float | None = None
    ci: Interval | None = None
    method: str | None = None
    n: int
    df: Annotated[float | None, UNSAID] = field(default=None, compare=False)  # of the standard error
    tasks: Annotated[int | None, IF_ANY] = None


def mean_of(values: Sequence[float], clusters: Clusters = None, *, is_unit: bool = False) -> Estimate:
    """Estimate the mean of what the examples were drawn from; `is_unit` where scores are from 0 to 1."""
    n = len(values)
    mean = centre(values)
    if mean is None:
        return Estimate(mean=None, se=None, ci=None, method=None, n=n)
    se_and_df = spread(values, mean, clusters)
    if se_and_df is None:
        return Estimate(mean=mean, n=n)
    se, df = se_and_df
    ci, method = _interval(values, mean, se, df, is_clustered=clusters is not None, is_unit=is_unit)
    return Estimate(mean=mean, se=se, ci=ci, method=method, n=n, df=df)


def within_sd(repeats: Sequence[Sequence[float]]) -> float | None:
    """Estimate how much one example's score varies when it is called again: the noise floor."""
    freedom = sum(max(0, len(scores) - 1) for scores in repeats)
    try:
        sd = math.sqrt(math.fsum(map(_squares, repeats)) / freedom)
    except (ZeroDivisionError, OverflowError):
        return None
    return sd if math.isfinite(sd) else None


def spread_of(values: Sequence[float]) -> float | None:
    """Compute a standard deviation; None where there is none."""
    return within_sd([values])


def pooled_sd(spreads: Iterable[tuple[float, int]]) -> float:
    """Put standard deviations, each with how much it counts, together to one."""
    estimates = list(spreads)
    total = sum(weight for _, weight in estimates)
    return math.sqrt(math.fsum(weight * sd**2 for sd, weight in estimates) / total) if total else 0.0


def _interval(
    values: Sequence[float], mean: float, se: float, df: int, *, is_clustered: bool, is_unit: bool
) -> tuple[Interval | None, str | None]:
    n = len(values)
    is_share = all(value in {0, 1} for value in values)
    if is_share and not is_clustered:
        return wilson(mean, n), "wilson"
    if is_unit:
        most = float(n) if is_share else None
        return wilson_effective(mean, se, units=df + 1, df=df, most=most), "wilson_effective"
    if not se:
        return None, None  # nothing varies, and the range has no ends to reach for
    return around(mean, se, df), "cluster_t" if is_clustered else "t"


def _squares(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values) if values else 0.0
    return math.fsum((value - mean) ** 2 for value in values)


@frozen
class Components:
    """The squared standard error of a mean or difference of n examples, in its two parts."""

    noise: float  # of the repeats that there are
    examples: float

    @property
    def gain_of_repeats(self) -> float | None:
        """Tell by which share the interval would shrink, at most, however many repeats there were."""
        total = self.noise + self.examples
        return 1 - math.sqrt(self.examples / total) if total else None

    def se(self, *, repeats: float = 1, examples: float = 1) -> float:
        """Predict the standard error with so many times the repeats, and so many times the examples."""
        return math.sqrt((self.noise / repeats + self.examples) / examples)


def components_of(se: float, n: int, repeats: int, *within_sd: float | None) -> Components | None:
    """Split a standard error; `within_sd` is how repeats vary, for each side of a difference.

    None where repeats tell nothing of it: there is one each, or none were scored.
    """
    if repeats < 2 or n < 1:  # noqa: PLR2004  one repeat does not vary
        return None
    sds = [sd for sd in within_sd if sd is not None]
    if len(sds) < len(within_sd):
        return None
    noise = math.fsum(sd**2 for sd in sds) / (repeats * n)
    return Components(noise=min(noise, se**2), examples=max(0.0, se**2 - noise))


FEWEST_TASKS = 10  # from which on other tasks are spoken of
FEWEST = 2  # scores of a task that tell anything of how they vary


def estimate_stratified(tasks: Sequence[Sequence[float]]) -> tuple[Spread, float] | None:
    """Estimate the mean of task means, and how many examples of equal weight would be as good.

    None where a task has too few scores to tell how they vary.
    """
    if not tasks or any(len(scores) < FEWEST for scores in tasks):
        return None
    try:
        spread, worth = _estimate_stratified(tasks)
    except OverflowError:  # numbers near the end of what a float holds
        return None
    return (spread, worth) if math.isfinite(spread[1]) else None


def _estimate_stratified(tasks: Sequence[Sequence[float]]) -> tuple[Spread, float]:
    sizes = [len(scores) for scores in tasks]
    means = [math.fsum(scores) / len(scores) for scores in tasks]
    errors = [_squared_error(scores, mean) for scores, mean in zip(tasks, means, strict=True)]
    se = math.sqrt(math.fsum(errors)) / len(tasks)
    df = _freedom(errors, sizes) or _freedom([1 / size for size in sizes], sizes)
    worth = len(tasks) ** 2 / math.fsum(1 / size for size in sizes)
    return (math.fsum(means) / len(tasks), se, df), worth


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


def mean_over(tasks: Sequence[Sequence[float]]) -> Estimate:
    """Estimate the mean of these tasks' means, of scores from 0 to 1; empty tasks do not count."""
    there = [scores for scores in tasks if scores]
    n = sum(map(len, there))
    stratified = estimate_stratified(there)
    if stratified is None:
        return Estimate(mean=centre(_centres(there)), n=n)
    (mean, se, df), worth = stratified
    ci = wilson_effective(mean, se, units=round(worth), df=df)
    return Estimate(mean=mean, se=se, ci=ci, method="wilson_effective", n=n, df=df)


def on_tasks_like_these(tasks: Sequence[Sequence[float]]) -> Estimate | None:
    """Estimate the same for all tasks that these could have been drawn from."""
    there = [scores for scores in tasks if scores]
    return mean_of(_centres(there), is_unit=True) if len(there) >= FEWEST_TASKS else None


def _centres(tasks: Sequence[Sequence[float]]) -> list[float]:
    return [math.fsum(scores) / len(scores) for scores in tasks]
