"""Whether a lead survives its failures: what failed could have scored anything between the range's ends."""

from collections.abc import Callable

from optimize_eval.findings.scores import Scores, Values
from optimize_eval.findings.summary.compare import BETTER, Comparison, compare
from optimize_eval.frozen import frozen
from optimize_eval.statistics.units import Clusters

SURELY, IF_ALIKE, NOT, UNBOUNDED = "surely", "if_both_count_as_zero", "no", "unbounded"

Ends = Callable[[Scores], Values | None]


@frozen
class WithFailures:
    """The comparison once more, with failures as scores; None where scores have no ends."""

    at_worst: Comparison | None  # its own failures as 0, the other's as 1
    at_zero: Comparison | None  # all failures as 0

    @property
    def ahead(self) -> str:
        """Say under which of the two it is still ahead."""
        if self.at_worst is None or self.at_zero is None:
            return UNBOUNDED
        if _is_ahead(self.at_worst):
            return SURELY
        return IF_ALIKE if _is_ahead(self.at_zero) else NOT


def lower_bounds(scores: Scores) -> Values | None:
    """Give the scores with failures counted as 0; None where they have no such end."""
    return scores.lows if scores.failed else scores.means


def upper_bounds(scores: Scores) -> Values | None:
    return scores.highs if scores.failed else scores.means


def with_failures(a: Scores, b: Scores, clusters: Clusters, *, seed: int, may_flip: bool) -> WithFailures:
    """Compare b with a both ways."""

    def against(ends: Ends) -> Comparison | None:
        before, after = ends(a), lower_bounds(b)
        if before is None or after is None:
            return None
        return compare(before, after, clusters, seed=seed, may_flip=may_flip)

    return WithFailures(at_worst=against(upper_bounds), at_zero=against(lower_bounds))


def _is_ahead(comparison: Comparison) -> bool:
    return comparison.mark == BETTER
