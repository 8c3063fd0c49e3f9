"""Two candidates on the same examples: the mean difference, its interval, one p value and its test."""

import math
from collections.abc import Sequence

from optimize_eval.base.frozen import frozen
from optimize_eval.statistics import student
from optimize_eval.statistics.exact import MOST_COMPARED, all_alike, all_flips, drawn_flips, mcnemar
from optimize_eval.statistics.intervals import Interval, around
from optimize_eval.statistics.units import Clusters, centre, spread, unit_count, unit_sums

MOST_EXACT = 14  # units up to which all sign flips are counted
MOST_FLIPPED = 1000  # units up to which flips are drawn
MOST_FLIPPED_AMONG_MANY = 50  # the same among so many comparisons that 10,000 flips confirm none


@frozen
class PairedDifference:
    """Candidate B against A on the same examples; where all pairs differ alike there is no interval."""

    diff: float | None
    se: float | None
    ci: Interval | None
    df: float | None
    p: float | None
    test: str | None
    n_pairs: int
    units: int  # independent ones: pairs, or clusters of pairs
    wins: int
    ties: int
    losses: int
    skew: float | None = None  # of the differences by unit

    @property
    def is_share(self) -> bool:
        return self.test == "mcnemar"

    @property
    def at_most(self) -> float | None:
        """The share of examples that may differ, at most (95 %), where none of these does."""
        return 1 - 0.05 ** (1 / self.units) if self.n_pairs and self.ties == self.n_pairs else None


def difference_of(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Clusters = None,
    *,
    seed: int = 0,
    may_flip: bool = True,
    comparisons: int = 1,
) -> PairedDifference:
    """Compare pairs: the mean of second minus first, its interval, one p value and the test it is from.

    `comparisons` is the number that will be corrected together.
    """
    pairs = [b - a for a, b in zip(first, second, strict=True)]
    n = len(pairs)
    counts = {
        "n_pairs": n,
        "units": unit_count(n, clusters),
        "wins": _positive(pairs),
        "ties": pairs.count(0),
        "losses": _negative(pairs),
    }
    diff = centre(pairs)
    found = None if diff is None else spread(pairs, diff, clusters)
    if diff is None or found is None:
        return PairedDifference(diff=diff, se=None, ci=None, df=None, p=None, test=None, **counts)
    se, df = found
    may_flip = may_flip and unit_count(n, clusters) <= _most_flipped(comparisons)
    p, test = _test(
        (*first, *second), pairs, clusters, (diff, se, df), draws=(seed, comparisons) if may_flip else None
    )
    ci = around(diff, se, df) if se else None
    skew = _skew(unit_sums(pairs, clusters))
    return PairedDifference(diff=diff, se=se, ci=ci, df=df, p=p, test=test, skew=skew, **counts)


def _test(
    scores: Sequence[float],
    pairs: Sequence[float],
    clusters: Clusters,
    estimate: tuple[float, float, int],
    *,
    draws: tuple[int, int] | None,
) -> tuple[float, str]:
    """Give p and its test; `draws` are the seed and the number of comparisons of flips that may be drawn."""
    diff, se, df = estimate
    if clusters is None and all(value in {0, 1} for value in scores):
        return mcnemar(_positive(pairs), _negative(pairs)), "mcnemar"
    if not se:  # all differ alike: every sign flip but two is less extreme
        return all_alike(df + 1) if diff else 1.0, "flip_exact"
    units = unit_sums(pairs, clusters)
    if len(units) <= MOST_EXACT:
        return all_flips(units), "flip_exact"
    if draws:
        return drawn_flips(units, *draws), "flip"
    return student.two_sided_p(diff / se, df), "t"


def _most_flipped(comparisons: int) -> int:
    return MOST_FLIPPED if comparisons <= MOST_COMPARED else MOST_FLIPPED_AMONG_MANY


def _positive(pairs: Sequence[float]) -> int:
    return len([d for d in pairs if d > 0])


def _negative(pairs: Sequence[float]) -> int:
    return len([d for d in pairs if d < 0])


def _skew(units: Sequence[float]) -> float | None:
    """Compute how lopsided the differences are (the third standardised moment)."""
    mean = centre(units)
    try:
        deviations = [] if mean is None else [unit - mean for unit in units]
        square = math.fsum([d * d for d in deviations]) / len(deviations)
        skew = math.fsum([d * d * d for d in deviations]) / len(deviations) / float(square**1.5)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    return skew if math.isfinite(skew) else None
