"""Candidates against each other on the same examples, and what a comparison may be called."""

from collections.abc import Sequence
from dataclasses import replace

from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.scores import Values
from optimize_eval.statistics.bounds import Tolerance, WithinMargin, highest, within_margin
from optimize_eval.statistics.estimates import Clusters
from optimize_eval.statistics.paired import PairedDifference, difference_of
from optimize_eval.statistics.power import ALPHA, can_decide, detectable, detectable_share, holm

FEWEST_PAIRS = 10  # independent ones, below which nothing is called a hint
MOST_FLIPPED_PAIRS = 50  # pairs of candidates, above which no flips are drawn
MOST_PAIRS = 2000  # pairs of candidates, above which only those with the baseline are compared

BETTER, WORSE, HINT_BETTER, HINT_WORSE, NO_DIFFERENCE, TOO_FEW = (
    "better",
    "worse",
    "hint_better",
    "hint_worse",
    "no_difference",
    "too_few",
)


@frozen
class Comparison:
    """Candidate b against candidate a, one of so many comparisons that are corrected together."""

    difference: PairedDifference
    dropped: int  # examples that one of the two, or both, have no score for
    p_holm: float | None = None
    comparisons: int = 1
    held: WithinMargin | None = None  # against the margin, where there is one
    can_confirm: bool = True  # False where results of these examples steered who is compared

    @property
    def mark(self) -> str:
        """Say what the difference may be called."""
        d = self.difference
        if d.p is None or d.diff is None or not can_decide(d.units, self.comparisons):
            return TOO_FEW
        if d.ci is None:
            return self._mark_of_the_same()
        if d.ci[0] <= 0 <= d.ci[1]:
            return NO_DIFFERENCE
        if self.is_confirmed:
            return BETTER if d.diff > 0 else WORSE
        if d.units < FEWEST_PAIRS:
            return NO_DIFFERENCE
        return HINT_BETTER if d.diff > 0 else HINT_WORSE

    @property
    def is_confirmed(self) -> bool:
        return self.can_confirm and self.p_holm is not None and self.p_holm < ALPHA

    def _mark_of_the_same(self) -> str:
        """Mark pairs that all differ by the same amount: there the test alone decides."""
        if not self.is_confirmed or not self.difference.diff:
            return NO_DIFFERENCE
        return BETTER if self.difference.diff > 0 else WORSE

    @property
    def mde(self) -> float | None:
        """The difference that would be found in 80 of 100 runs; None where none ever is."""
        d = self.difference
        if d.is_share:
            share = (d.wins + d.losses) / d.n_pairs
            return detectable_share(pairs=d.n_pairs, discordance=share, comparisons=self.comparisons)
        return detectable(se=d.se, units=d.units, comparisons=self.comparisons) if d.se else None


def compare(
    a: Values,
    b: Values,
    clusters: Clusters,
    *,
    seed: int,
    may_flip: bool,
    places: Sequence[int] | None = None,
    tolerance: Tolerance | None = None,
    comparisons: int = 1,
) -> Comparison:
    """Compare on the examples that both have a score for; `places` are those that take part at all.

    `comparisons` is the number that will be corrected together.
    """
    among = range(len(a)) if places is None else places
    before, after, units = _paired(a, b, clusters, among)
    difference = difference_of(before, after, units, seed=seed, may_flip=may_flip, comparisons=comparisons)
    held = None
    if tolerance:
        pairs = [y - x for x, y in zip(before, after, strict=True)]
        held = within_margin(difference, pairs, units, tolerance, seed=seed)
    return Comparison(difference=difference, dropped=len(among) - len(before), held=held)


def highest_difference(a: Values, b: Values, clusters: Clusters, *, seed: int, least: float) -> float:
    """Give what the mean of b - a is not above, one-sided at 5 %; `least` where that is less."""
    before, after, units = _paired(a, b, clusters, range(len(a)))
    difference = difference_of(before, after, units, seed=seed, may_flip=False)
    pairs = [y - x for x, y in zip(before, after, strict=True)]
    return highest(difference, pairs, units, seed=seed, least=least)


def _paired(
    a: Values, b: Values, clusters: Clusters, among: Sequence[int]
) -> tuple[list[float], list[float], Clusters]:
    """Take the examples that both have a score for."""
    both = [place for place in among if a[place] == a[place] and b[place] == b[place]]  # NaN is not itself
    units = None if clusters is None else [clusters[place] for place in both]
    return [a[place] for place in both], [b[place] for place in both], units


def tolerance_of(margin: float | None, *ranges: ScoreRange) -> Tolerance | None:
    """Say what a margin is held against: scores of one range, or of those of two runs."""
    if margin is None:
        return None
    return Tolerance(margin=margin, is_unit=all(one is ScoreRange.UNIT for one in ranges))


@frozen
class AlsoTried:
    """How many others comparisons are corrected for besides each other."""

    others: int = 0
    can_confirm: bool = True


NO_OTHERS = AlsoTried()


def corrected(family: Sequence[Comparison], also: AlsoTried = NO_OTHERS) -> list[Comparison]:
    """Correct the p values of comparisons that were made together."""
    known = [one.difference.p for one in family if one.difference.p is not None]
    p_values, comparisons = iter(holm(known, also.others)), len(known) + also.others
    return [
        replace(one, p_holm=next(p_values), comparisons=comparisons, can_confirm=also.can_confirm)
        if one.difference.p is not None
        else one
        for one in family
    ]
