"""The formulas, by other means than the rest of the program: tails by quadrature, flips by plain sums."""

import math
import random
from collections.abc import Hashable, Iterable, Sequence
from functools import cache
from itertools import accumulate
from statistics import NormalDist
from typing import Any

Labels = Sequence[Hashable]
Pair = tuple[float, float]

ALPHA = 0.05
_Z = NormalDist().inv_cdf(0.975)
_STEP = 1 / 32


def total(values: Iterable[float]) -> float:
    """Add up without rounding; what leaves the floats is infinite."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return math.inf


def average(values: Sequence[float]) -> float | None:
    mean = total(values) / len(values) if values else math.inf
    return mean if math.isfinite(mean) else None


def by_label(values: Sequence[float], labels: Labels) -> list[float]:
    """Add up the values of each label."""
    parts: dict[Hashable, list[float]] = {}
    for value, label in zip(values, labels, strict=True):
        parts.setdefault(label, []).append(value)
    return [total(part) for part in parts.values()]


def spread(values: Sequence[float], mean: float, labels: Labels) -> tuple[float, int] | None:
    """Give the standard error of a mean, and how many independent units there are."""
    sums = by_label([value - mean for value in values], labels)
    units = len(sums)
    try:
        se = math.sqrt(total(part * part for part in sums) * units / (units - 1)) / len(values)
    except (OverflowError, ZeroDivisionError):
        return None
    if not math.isfinite(se):
        return None
    is_noise = se <= 1e-12 * max(map(abs, values))  # of adding the same number again and again
    return 0.0 if is_noise else se, units


def deviation(groups: Iterable[Sequence[float]]) -> float | None:
    """Pool the standard deviation within groups."""
    squares, freedom = [], 0
    for values in groups:
        mean = average(values)
        if mean is not None:
            squares += [(value - mean) ** 2 for value in values if abs(value - mean) < 1e150]  # noqa: PLR2004
            freedom += len(values) - 1
    return math.sqrt(total(squares) / freedom) if freedom > 0 else None


@cache
def tail(t: float, df: float) -> float:
    """Integrate Student's density from t on: exp-sinh quadrature, which likes heavy tails."""
    scale = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(df * math.pi) / 2
    parts = []
    for step in range(-140, 141):
        u = step * _STEP
        y = math.exp(math.pi / 2 * math.sinh(u))
        x = t + y
        density = math.exp(scale - (df + 1) / 2 * math.log1p(x / df * x))
        parts.append(density * y * math.pi / 2 * math.cosh(u) * _STEP)
    return math.fsum(parts)


@cache
def quantile(share: float, df: float) -> float:
    """Find t with so much below it, by Newton's method from the normal distribution's."""
    if math.isinf(df):
        return NormalDist().inv_cdf(share)
    t = NormalDist().inv_cdf(share)
    scale = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(df * math.pi) / 2
    for _ in range(200):
        step = (tail(t, df) - (1 - share)) / math.exp(scale - (df + 1) / 2 * math.log1p(t * t / df))
        t += step
        if abs(step) < 1e-13 * abs(t):
            break
    return t


def two_sided(t: float, df: float) -> float:
    if math.isinf(df):
        return math.erfc(abs(t) / math.sqrt(2))
    return min(1.0, 2 * tail(abs(t), df))


def around(value: float, se: float, df: float, share: float = 0.975) -> Pair | None:
    """Give an interval; None where nothing varies."""
    reach = quantile(share, df) * se
    return (value - reach, value + reach) if se else None


def wilson(mean: float, n: float, z: float = _Z) -> Pair:
    """Solve (m - p)² = z² p (1 - p) / n for p."""
    a, b, c = 1 + z * z / n, -(2 * mean + z * z / n), mean * mean
    root = math.sqrt(max(0.0, b * b - 4 * a * c))
    return max(0.0, (-b - root) / 2 / a), min(1.0, (-b + root) / 2 / a)


def wilson_effective(mean: float, se: float, units: float, df: float, most: float = math.inf) -> Pair:
    """Give Wilson's interval for as many zeros and ones as have this standard error, with t for z."""
    mean = min(1.0, max(0.0, mean))
    worth = min(most, mean * (1 - mean) / (se * se) if se else units) or units
    low, high = wilson(mean, worth, quantile(0.975, df))
    return min(low, mean), max(high, mean)


def score_ends(wins: int, losses: int, n: int) -> Pair:
    """Give the differences of two shares that a one-sided score test at 5 % leaves open (Tango)."""
    return _score_low(wins, losses, n), -_score_low(losses, wins, n)


def _score_low(wins: int, losses: int, n: int) -> float:
    z, low, high = NormalDist().inv_cdf(0.95), -1.0, (wins - losses) / n
    for _ in range(60):
        delta = (low + high) / 2
        lost = _likeliest(delta, wins, losses, n)
        variance = n * (2 * lost + delta - delta * delta)
        is_rejected = variance <= 0 or wins - losses - n * delta >= z * math.sqrt(variance)
        low, high = (delta, high) if is_rejected else (low, delta)
    return low


def _likeliest(delta: float, wins: int, losses: int, n: int) -> float:
    """Find the share of losses under which these counts are likeliest, where wins are more by delta."""
    low, high = max(0.0, -delta), (1 - delta) / 2
    for _ in range(100):
        q = (low + high) / 2
        shares = (losses, q), (wins, q + delta), (2 * (wins + losses - n), 1 - 2 * q - delta)
        slope = sum(count / max(share, 1e-300) for count, share in shares)
        low, high = (q, high) if slope > 0 else (low, q)
    return (low + high) / 2


def bet_low(values: Sequence[float], seed: int) -> float:
    """Find the highest mean of numbers from -1 to 1 against which bets end with 20 for 1, averaged.

    Each stake is made of the numbers before it: sqrt(2 log 20 / n) over their standard deviation, which
    starts with a quarter as its square (Waudby-Smith and Ramdas 2023), and at most .99 over the mean.
    """
    draw, shares, orders = random.Random(seed), [0.5 + 0.5 * value for value in values], []  # noqa: S311
    for _ in range(min(32, max(4, 128_000 // len(values)))):
        draw.shuffle(shares)
        orders.append([(share, stake) for share, stake in zip(shares, _stakes(shares), strict=True)])
    low, high = -1.0, 1.0
    for _ in range(42):
        middle = (low + high) / 2
        low, high = (middle, high) if _has_paid(orders, (1 + middle) / 2) else (low, middle)
    return low


def _stakes(shares: Sequence[float]) -> list[float]:
    n, squares, stakes = len(shares), [0.25], []
    sums = list(accumulate(shares, initial=0.5))
    for index, share in enumerate(shares):
        variance = squares[-1] / (index + 1)
        stakes.append(math.sqrt(2 * math.log(20) / n / variance))
        squares.append(squares[-1] + (share - sums[index + 1] / (index + 2)) ** 2)
    return stakes


def _has_paid(orders: Sequence[Sequence[Pair]], mean: float) -> bool:
    most = 0.99 / mean if mean else math.inf
    logs = [
        math.fsum(math.log1p(min(stake, most) * (share - mean)) for share, stake in order) for order in orders
    ]
    return math.fsum(math.exp(min(log, 700.0)) for log in logs) >= 20 * len(logs)


def mcnemar(wins: int, losses: int) -> float:
    """Toss a fair coin for each pair that differs: both tails."""
    n = wins + losses
    ways = tosses = 1
    for k in range(min(wins, losses)):
        ways = ways * (n - k) // (k + 1)
        tosses += ways
    return min(1.0, 2 * tosses / (1 << n))


def flips(units: Sequence[float], seed: int, comparisons: int = 1) -> float:
    """Count sign flips that are as extreme: all of them up to 14 units, else 10,000 by the seed.

    Where less than 20 of them are, 100 are drawn for each comparison that is corrected together.
    """
    least = abs(math.fsum(units)) - 1e-12 * math.fsum(map(abs, units))
    if len(units) <= 14:  # noqa: PLR2004
        sums = [0.0]
        for unit in units:
            sums = [so_far + sign * unit for sign in (1, -1) for so_far in sums]
        return sum(abs(so_far) >= least for so_far in sums) / len(sums)
    moving = [unit for unit in units if unit]
    signs = random.Random(seed)  # noqa: S311
    tables = [
        [
            math.fsum(v if byte >> k & 1 else -v for k, v in enumerate(moving[at : at + 8]))
            for byte in range(256)
        ]
        for at in range(0, len(moving), 8)
    ]
    extreme = drawn = 0
    while drawn < 10_000 or (extreme < 20 and drawn < 100 * comparisons):  # noqa: PLR2004
        for _ in range(10_000 if not drawn else 100 * comparisons - drawn):
            row = signs.randbytes(len(tables))
            extreme += abs(sum(table[byte] for table, byte in zip(tables, row, strict=True))) >= least
            drawn += 1
    return (1 + extreme) / (1 + drawn)


def holm(p_values: Sequence[float], others: int = 0) -> list[float]:
    """Multiply the smallest p by their number, the next by one less, and let none fall below another."""
    ranked = sorted(range(len(p_values)), key=lambda place: p_values[place])
    steps = [min(1.0, p_values[index] * (len(ranked) + others - rank)) for rank, index in enumerate(ranked)]
    corrected = dict(zip(ranked, accumulate(steps, max), strict=True))
    return [corrected[index] for index in range(len(p_values))]


def is_decidable(units: int, comparisons: int) -> bool:
    """Return True if the smallest p there is could survive so many comparisons."""
    return units > 1 and comparisons * 2.0 ** (1 - min(units, 1000)) <= ALPHA


def satterthwaite(parts: Iterable[Pair]) -> float:
    """Give the degrees of freedom of a sum of squared errors, each with its own."""
    there = [(square, df) for square, df in parts if square]
    if not there:
        return math.inf
    largest = max(square for square, _ in there)
    shares = [(square / largest, df) for square, df in there]
    return sum(share for share, _ in shares) ** 2 / sum(share * share / df for share, df in shares)


def fieller(
    train: tuple[float, float, float], val: tuple[float, float, float], comparisons: int = 1
) -> tuple[float, Pair | None] | None:
    """Divide the val gain by the train gain, and give the ratios that t does not exclude."""
    (gain, se_t, df_t), (kept, se_v, df_v) = train, val
    if gain <= 0:
        return None
    if not se_t and not se_v:
        return kept / gain, None
    df = satterthwaite([(se_v * se_v, df_v), ((kept / gain * se_t) ** 2, df_t)])
    t = quantile(1 - ALPHA / comparisons / 2, df)
    a, c = gain * gain - (t * se_t) ** 2, kept * kept - (t * se_v) ** 2
    if a <= 0:
        return None
    root = math.sqrt(max(0.0, (gain * kept) ** 2 - a * c))
    return kept / gain, ((gain * kept - root) / a, (gain * kept + root) / a)


def join_labels(labels: list[Any], texts: list[str]) -> list[Any]:
    """Give one label to all that are linked by an equal text, however many steps away."""
    group = {label: label for label in labels}

    def head(label: object) -> Any:
        while group[label] != label:
            label = group[label]
        return label

    first: dict[str, Any] = {}
    for label, text in zip(labels, texts, strict=True):
        other = head(first.setdefault(text, label))
        mine = head(label)
        group[max(mine, other)] = min(mine, other)
    return [head(label) for label in labels]
