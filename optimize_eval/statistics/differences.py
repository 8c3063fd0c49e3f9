"""Differences: candidates on the same examples, exact tests, gaps between splits, and over tasks.

Over tasks, a difference is one of the same tasks; where a task has too few scores to tell how they vary, it
takes the task as its unit.
"""

import math
import operator
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated

from optimize_eval.base.documents import FLAT, IF_ANY, UNSAID
from optimize_eval.base.frozen import frozen
from optimize_eval.statistics import estimates
from optimize_eval.statistics.estimates import (
    LEVEL,
    ROUNDING,
    STUDENT,
    Clusters,
    Interval,
    Spread,
    around,
    centre,
    estimate_stratified,
    spread_around,
    unit_count,
    unit_sums,
)

if TYPE_CHECKING:
    from optimize_eval.base.documents import JsonDict


@frozen
class DifferenceInShort:
    """The same comparison with failures counted as scores."""

    diff: float | None
    ci: Interval | None
    p: float | None
    p_holm: float | None


@frozen
class DespiteFailures:
    """What becomes of a difference if failures and skips of one side count: as 0 and as 1, or all as 0."""

    despite_failures: str  # surely, if_both_count_as_zero, no, unbounded
    at_worst: DifferenceInShort | None
    at_zero: DifferenceInShort | None


@frozen
class OverAllRows(DifferenceInShort):
    """The same comparison with the rows that rules leave out."""

    mark: str


@frozen
class Margin:
    """What a margin says of a difference."""

    margin: float
    ci90: Interval
    method: str  # betting; tango for scores of 0 and 1; t for those without a range
    no_worse: bool
    equivalent: bool

    @property
    def is_by_t(self) -> bool:
        return self.method == STUDENT


@frozen
class ScoreDifference:
    """A candidate against another one on the same examples; where all pairs differ alike, without interval.

    It is born with what the pairs say; who compares adds what it is corrected for, and what it may be called.
    """

    diff: float | None
    se: float | None = None
    ci: Interval | None = None
    df: Annotated[float | None, UNSAID] = field(default=None, compare=False)
    p: float | None = None
    p_holm: float | None = None
    test: str | None = None
    n_pairs: int
    units: int  # independent ones: pairs, or clusters
    comparisons: int = 1  # that were corrected together
    dropped: int = 0  # examples that one of the two, or both, have no score for
    wins: int
    ties: int
    losses: int
    at_most: float | None = None  # the share of examples that may differ, where none of these does
    skew: float | None = None  # of the differences by unit
    mde: float | None = None  # found in 80 of 100 runs; known of comparisons with the baseline that decide
    mark: str = ""
    over_all_rows: Annotated[OverAllRows | None, IF_ANY] = None  # where rules may favour one of the two
    skipped_for_one: Annotated[int, IF_ANY] = 0  # examples, where they are too many for a lead to ignore
    with_failures: Annotated[DespiteFailures | None, FLAT] = None  # where calls failed
    margin: Annotated[Margin | None, IF_ANY] = None

    @property
    def is_share(self) -> bool:
        """Return True if all scores are 0 or 1, and stand for themselves."""
        return self.test == "mcnemar"

    @property
    def despite_failures(self) -> str | None:
        """Say whether a lead holds although calls failed; None where none did."""
        return self.with_failures.despite_failures if self.with_failures else None

    @property
    def at_worst(self) -> DifferenceInShort | None:
        """Give the difference with its own failures as 0 and the other's as 1."""
        return self.with_failures.at_worst if self.with_failures else None

    @property
    def at_zero(self) -> DifferenceInShort | None:
        """Give the difference with all failures as 0."""
        return self.with_failures.at_zero if self.with_failures else None


@frozen
class ScoreGap:
    """How much lower an estimate is on val than on train; where neither varies, without an interval."""

    value: float
    se: float
    ci: Interval | None
    df: float | None  # None where there are more than any number
    flag: bool = False
    p: Annotated[float | None, UNSAID] = field(default=None, compare=False)

    @property
    def excludes_zero(self) -> bool:
        return self.ci is not None and (self.ci[0] > 0 or self.ci[1] < 0)


@frozen
class CarriedShare:
    """The share of a train gain that is there on val; no interval where nothing varies."""

    share: float
    ci: Interval | None


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
        # As randbytes does it, the lowest byte first: in another order of bytes, every p that is drawn
        # would be another number for the same seed.
        drawn = draw.getrandbits(8 * width * rows).to_bytes(width * rows, "little")
        yield [drawn[column::width] for column in places]


def _least(units: Sequence[float]) -> float:
    """Give the sum from which on flips are as extreme as what was observed, but for rounding."""
    return abs(math.fsum(units)) - ROUNDING * math.fsum(map(abs, units))


def _sums_by_byte(eight: Sequence[float]) -> list[float]:
    """Double the table with each value: first all signs minus, then the same with this one plus."""
    sums = [-math.fsum(eight)]
    for value in eight:
        sums += [total + 2 * value for total in sums]
    return sums * (256 // len(sums))


MOST_EXACT = 14  # units up to which all sign flips are counted
MOST_FLIPPED = 1000  # units up to which flips are drawn
MOST_FLIPPED_AMONG_MANY = 50  # the same among so many comparisons that 10,000 flips confirm none


def difference_of(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Clusters = None,
    *,
    seed: int = 0,
    may_flip: bool = True,
    comparisons: int = 1,
) -> ScoreDifference:
    """Compare pairs: the mean of second minus first, its interval, one p value and the test it is from.

    `comparisons` is the number that will be corrected together.
    """
    pairs = [b - a for a, b in zip(first, second, strict=True)]
    n, wins, ties = len(pairs), len([pair for pair in pairs if pair > 0]), pairs.count(0)
    counts: JsonDict = {
        "n_pairs": n,
        "units": unit_count(n, clusters),
        "wins": wins,
        "ties": ties,
        "losses": n - wins - ties,
        "at_most": share_at_most(unit_count(n, clusters), n, ties),
    }
    diff = centre(pairs)
    deviations = [] if diff is None else [pair - diff for pair in pairs]
    se_and_df = spread_around(pairs, deviations, clusters)
    if diff is None or se_and_df is None:
        return ScoreDifference(diff=diff, **counts)
    se, df = se_and_df
    may_flip = may_flip and unit_count(n, clusters) <= _most_flipped(comparisons)
    draws = (seed, comparisons) if may_flip else None
    if clusters is None and all(value in {0, 1} for value in chain(first, second)):
        p, test = mcnemar(wins, n - wins - ties), "mcnemar"
    else:
        p, test = _test(unit_sums(pairs, clusters), (diff, se, df), draws=draws)
    ci = around(diff, se, df) if se else None
    skew = _skew(deviations if clusters is None else _deviations(unit_sums(pairs, clusters)))
    return ScoreDifference(diff=diff, se=se, ci=ci, df=df, p=p, test=test, skew=skew, **counts)


def _test(
    units: Sequence[float], estimate: tuple[float, float, int], *, draws: tuple[int, int] | None
) -> tuple[float, str]:
    """Give p and its test; `draws` are the seed and the number of comparisons of flips that may be drawn."""
    diff, se, df = estimate
    if not se:  # all differ alike: every sign flip but two is less extreme
        return all_alike(df + 1) if diff else 1.0, "flip_exact"
    if len(units) <= MOST_EXACT:
        return all_flips(units), "flip_exact"
    if draws:
        return drawn_flips(units, *draws), "flip"
    return estimates.two_sided_p(diff / se, df), "t"


def share_at_most(units: int, n_pairs: int, ties: int) -> float | None:
    """Give the share of examples that may differ, at most (95 %), where none of these does."""
    return 1 - 0.05 ** (1 / units) if n_pairs and ties == n_pairs else None


def _most_flipped(comparisons: int) -> int:
    return MOST_FLIPPED if comparisons <= MOST_COMPARED else MOST_FLIPPED_AMONG_MANY


def _deviations(units: Sequence[float]) -> Sequence[float]:
    mean = centre(units)
    return [] if mean is None else [unit - mean for unit in units]


def _skew(deviations: Sequence[float]) -> float | None:
    """Compute how lopsided differences are that deviate so (the third standardised moment)."""
    try:
        square = math.fsum([d * d for d in deviations]) / len(deviations)
        skew = math.fsum([d * d * d for d in deviations]) / len(deviations) / float(square**1.5)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    return skew if math.isfinite(skew) else None


def gap_of(first: Spread, second: Spread, comparisons: int = 1) -> ScoreGap:
    """Subtract two independent estimates (value, se, df), second from first.

    With `comparisons` the intervals of as many candidates hold together.
    """
    (a, se_a, df_a), (b, se_b, df_b) = first, second
    se = math.hypot(se_a, se_b)
    df = satterthwaite(se_a**2, df_a, se_b**2, df_b)
    if not se:
        return ScoreGap(value=a - b, se=0.0, ci=None, df=_finite(df))
    p = estimates.two_sided_p((a - b) / se, df)
    reach = estimates.quantile(1 - (1 - LEVEL) / comparisons, df) * se
    return ScoreGap(value=a - b, se=se, ci=(a - b - reach, a - b + reach), df=_finite(df), p=p)


def _finite(df: float) -> float | None:
    return df if math.isfinite(df) else None


def satterthwaite(variance_a: float, df_a: float, variance_b: float, df_b: float) -> float:
    """Give the degrees of freedom of the sum of two variances."""
    total = variance_a + variance_b
    parts = (variance_a / total) ** 2 / df_a + (variance_b / total) ** 2 / df_b if total else 0.0
    return 1 / parts if parts else math.inf


ALPHA = 0.05


def carry_over(train: Spread, val: Spread, comparisons: int = 1) -> CarriedShare | None:
    """Divide the val gain by the train gain; None where the train gain is not clearly above 0.

    With `comparisons` the intervals of as many candidates hold together.
    """
    (gain, se_t, df_t), (kept, se_v, df_v) = train, val
    if gain <= 0:
        return None
    share = kept / gain
    if not se_t and not se_v:
        return CarriedShare(share=share, ci=None)
    df = satterthwaite(se_v**2, df_v, (share * se_t) ** 2, df_t)
    t = estimates.quantile(1 - ALPHA / comparisons / 2, df)
    a, c = gain**2 - (t * se_t) ** 2, kept**2 - (t * se_v) ** 2
    if a <= 0:
        return None  # a gain that may be 0 has no share
    reach = math.sqrt(max(0.0, (gain * kept) ** 2 - a * c))
    return CarriedShare(share=share, ci=((gain * kept - reach) / a, (gain * kept + reach) / a))


ScorePair = tuple[float, float]


def difference_over(
    tasks: Sequence[Sequence[ScorePair]], *, seed: int = 0, may_flip: bool = True, comparisons: int = 1
) -> ScoreDifference:
    """Compare pairs by task: the mean over tasks of second minus first, its interval, one p value.

    `comparisons` is the number that will be corrected together.
    """
    compared = partial(_between, seed=seed, may_flip=may_flip, comparisons=comparisons)
    there = [pairs for pairs in tasks if pairs]
    every = [pair for pairs in there for pair in pairs]
    plain = _between(every)  # for its counts
    stratified = estimate_stratified([[b - a for a, b in pairs] for pairs in there])
    if stratified is None:
        whole = compared([_centre(pairs) for pairs in there])
    else:
        whole = _among_fixed_tasks(there, stratified[0], compared)
    return replace(
        whole,
        ci=_possible(whole.ci, every),
        n_pairs=plain.n_pairs,
        wins=plain.wins,
        ties=plain.ties,
        losses=plain.losses,
        at_most=share_at_most(whole.units, plain.n_pairs, plain.ties),
    )


def _among_fixed_tasks(
    tasks: Sequence[Sequence[ScorePair]],
    spread: Spread,
    compared: Callable[[Sequence[ScorePair]], ScoreDifference],
) -> ScoreDifference:
    """Flip pairs, each with the weight that it has in its task."""
    if len({len(pairs) for pairs in tasks}) == 1:
        flipped = compared([pair for pairs in tasks for pair in pairs])
    else:
        flipped = compared([(a / len(pairs), b / len(pairs)) for pairs in tasks for a, b in pairs])
    diff, se, df = spread
    return replace(flipped, diff=diff, se=se, ci=around(diff, se, df) if se else None, df=df)


def _possible(ci: Interval | None, pairs: Sequence[ScorePair]) -> Interval | None:
    """Leave out what two scores from 0 to 1 cannot differ by; a board of another tool may have others."""
    if ci is None or not all(0 <= score <= 1 for pair in pairs for score in pair):
        return ci
    return max(-1.0, ci[0]), min(1.0, ci[1])


def _between(
    pairs: Sequence[ScorePair], *, seed: int = 0, may_flip: bool = False, comparisons: int = 1
) -> ScoreDifference:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    return difference_of(first, second, seed=seed, may_flip=may_flip, comparisons=comparisons)


def _centre(pairs: Sequence[ScorePair]) -> ScorePair:
    return math.fsum(a for a, _ in pairs) / len(pairs), math.fsum(b for _, b in pairs) / len(pairs)
