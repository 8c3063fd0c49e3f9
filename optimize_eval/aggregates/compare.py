"""Candidates against each other on the same examples, and what a comparison is called."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from optimize_eval.aggregates.scores import Scores, Values
from optimize_eval.aggregates.statistics import Clusters, Difference, difference_of, holm

FEWEST_PAIRS = 10  # below, nothing is called better or worse
ALPHA = 0.05
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Candidate b against candidate a."""

    difference: Difference
    dropped: int  # examples that one of the two, or both, have no score for
    p_holm: float | None = None

    @property
    def mark(self) -> str:
        """Say what the difference may be called."""
        ci = self.difference.ci
        if ci is None or not self.difference.se or self.difference.n_pairs < FEWEST_PAIRS:
            return TOO_FEW
        if ci[0] <= 0 <= ci[1]:
            return NO_DIFFERENCE
        is_confirmed = self.p_holm is not None and self.p_holm < ALPHA
        if ci[0] > 0:
            return BETTER if is_confirmed else HINT_BETTER
        return WORSE if is_confirmed else HINT_WORSE


def compare(
    a: Values,
    b: Values,
    clusters: Clusters,
    *,
    seed: int,
    may_flip: bool,
    places: Sequence[int] | None = None,
) -> Comparison:
    """Compare on the examples that both have a score for; `places` are those that take part at all."""
    among = range(len(a)) if places is None else places
    both = [place for place in among if a[place] == a[place] and b[place] == b[place]]  # NaN is not itself
    difference = difference_of(
        [a[place] for place in both],
        [b[place] for place in both],
        None if clusters is None else [clusters[place] for place in both],
        seed=seed,
        may_flip=may_flip,
    )
    return Comparison(difference=difference, dropped=len(among) - len(both))


def corrected(family: Sequence[Comparison]) -> list[Comparison]:
    """Correct the p values of comparisons that were made together."""
    known = [one for one in family if one.difference.p is not None]
    p_values = iter(holm([one.difference.p for one in known if one.difference.p is not None]))
    return [replace(one, p_holm=next(p_values)) if one.difference.p is not None else one for one in family]


def lower_bounds(scores: Scores) -> Values | None:
    """Give the scores with failures counted as 0; None where they have no such end."""
    return scores.lows if scores.failed else scores.means


def holds_at_the_lower_bound(a: Scores, b: Scores, clusters: Clusters) -> bool | None:
    """Tell whether b is ahead of a with all failures counted as 0; None where failures have no such end."""
    lows = lower_bounds(a), lower_bounds(b)
    if lows[0] is None or lows[1] is None:
        return None
    low = compare(lows[0], lows[1], clusters, seed=0, may_flip=False).difference
    return low.ci is not None and low.ci[0] > 0
