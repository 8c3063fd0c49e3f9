"""Student's t distribution, as far as intervals and p values need it.

The standard library has the normal distribution only, and importing scipy costs over a second.
"""

import math
from functools import lru_cache

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
        place = a + 2 * m
        even = m * (b - m) * x / ((place - 1) * place)
        odd = -(a + m) * (a + b + m) * x / (place * (place + 1))
        for term in (even, odd):
            d = 1 + term * d
            d = 1 / (d if d > _TINY or d < -_TINY else _TINY)
            c = 1 + term / c
            c = c if c > _TINY or c < -_TINY else _TINY
            value *= c * d
        if -_PRECISION < c * d - 1 < _PRECISION:
            break
    return value
