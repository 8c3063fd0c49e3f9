"""Exact tests of paired differences: McNemar's for scores of 0 and 1, sign flips for all others."""

import math
import operator
import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

from optimize_eval.statistics.units import ROUNDING

FLIPS = 10_000
MOST_COMPARED = 100  # comparisons that so many flips can confirm one of: their smallest p is 1 in 10,001
_FEW = 20  # extreme flips: with more of them p is far above what further flips could confirm
_MOST_BYTES = 1 << 18  # of signs that are drawn at once


def mcnemar(wins: int, losses: int) -> float:
    """Exact: the discordant pairs are tosses of a fair coin if nothing is different."""
    n, fewer = wins + losses, min(wins, losses)
    ways = term = 1
    for k in range(fewer):
        term = term * (n - k) // (k + 1)  # each binomial coefficient from the one before
        ways += term
    return min(1.0, float(Fraction(2 * ways, 1 << n)))  # exact, and no number is too large for it


def all_alike(units: int) -> float:
    """Give the p of units that all differ by the same amount: two of all sign flips are as extreme."""
    return 2.0 ** (1 - units)


def all_flips(units: Sequence[float]) -> float:
    """Count all sign flips of the units whose sum is as extreme as the one that was observed."""
    first, *others = units
    sums = [first]  # the other half are the same sums with every sign turned
    for unit in others:
        sums = [total + unit for total in sums] + [total - unit for total in sums]
    return sum(map(_least(units).__le__, map(abs, sums))) / len(sums)


def drawn_flips(units: Sequence[float], seed: int, comparisons: int = 1) -> float:
    """Draw sign flips of the units, and count those whose sum is as extreme as the one that was observed.

    Among many comparisons, flips of which hardly any is extreme are followed by as many as it takes for the
    smallest p to survive the correction; to stop early where p is large makes no p too small.
    """
    return _drawn_flips(tuple(unit for unit in units if unit), seed, comparisons)  # a tie changes no sum


@lru_cache(maxsize=64)  # a report looks at most of its pairs twice or more
def _drawn_flips(units: tuple[float, ...], seed: int, comparisons: int) -> float:
    """Draw signs eight at a time: for each eight units a table of the 256 sums that a byte of signs gives."""
    if not units:
        return 1.0
    eights = [units[start : start + 8] for start in range(0, len(units), 8)]
    tables = [_sums_by_byte(eight) for eight in eights]
    at_least, draw = _least(units).__le__, random.Random(seed)  # noqa: S311  a test statistic, no secret
    extreme, flips = _extremes(tables, at_least, draw, FLIPS), FLIPS
    more = FLIPS // MOST_COMPARED * comparisons - FLIPS
    if more > 0 and extreme < _FEW:
        extreme, flips = extreme + _extremes(tables, at_least, draw, more), flips + more
    return (1 + extreme) / (1 + flips)


def _extremes(
    tables: Sequence[Sequence[float]], at_least: Callable[[float], bool], draw: random.Random, flips: int
) -> int:
    extreme = 0
    for columns in _columns_of_signs(len(tables), draw, flips):
        sums = [0.0] * len(columns[0])
        for table, column in zip(tables, columns, strict=True):
            sums = list(map(operator.add, sums, map(table.__getitem__, column)))
        extreme += sum(map(at_least, map(abs, sums)))
    return extreme


def _columns_of_signs(size: int, draw: random.Random, flips: int) -> Iterator[list[bytes]]:
    """Give what so many calls of randbytes(size) give, some at a time: all first bytes, then all second ones.

    Each call takes whole words of 32 bits, of the last one the upper bytes; drawn at once they cost a third.
    """
    width = -(-size // 4) * 4
    places = [*range(size - size % 4), *range(width - size % 4, width)]
    step = max(1, _MOST_BYTES // width)
    for start in range(0, flips, step):
        rows = min(step, flips - start)
        drawn = draw.getrandbits(8 * width * rows).to_bytes(width * rows, "little")
        yield [drawn[place::width] for place in places]


def _least(units: Sequence[float]) -> float:
    """Give the sum from which on flips are as extreme as what was observed, but for rounding."""
    return abs(math.fsum(units)) - ROUNDING * math.fsum(map(abs, units))


def _sums_by_byte(eight: Sequence[float]) -> list[float]:
    """Double the table with each value: first all signs minus, then the same with this one plus."""
    sums = [-math.fsum(eight)]
    for value in eight:
        sums += [total + 2 * value for total in sums]
    return sums * (256 // len(sums))
