"""What a comparison of two runs amounts to for one cell, the worst first; and whether it is a regression."""

from enum import StrEnum

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.rows import lead_holds
from optimize_eval.findings.shapes.difference import Margin, ScoreDifference
from optimize_eval.findings.summary import compare
from optimize_eval.statistics.power import ALPHA


class Standing(StrEnum):
    """What one amounts to, the most severe first."""

    WORSE = "worse"
    WORSE_AS_ZEROS = "worse_as_zeros"
    FAILS_UNBOUNDED = "fails_unbounded"
    NOT_BETTER_AS_ZEROS = "not_better_as_zeros"
    AHEAD_AMONG_SOME = "ahead_among_some"
    BETTER = "better"
    MAY_BE_WORSE = "may_be_worse"
    MAY_BE_BETTER = "may_be_better"
    OPEN = "open"
    SAME = "same"

    @property
    def severity(self) -> int:
        """Order them; 0 is the most severe."""
        return _MOST_SEVERE_FIRST.index(self)


_MOST_SEVERE_FIRST = tuple(Standing)
REGRESSIONS = frozenset({Standing.WORSE, Standing.WORSE_AS_ZEROS, Standing.FAILS_UNBOUNDED})
_HINTS = {compare.HINT_WORSE: Standing.MAY_BE_WORSE, compare.HINT_BETTER: Standing.MAY_BE_BETTER}


@frozen
class Evidence:
    """What a standing, and a gate, hang on; `low` has failures as the lowest score, if there is one."""

    difference: ScoreDifference
    margin: Margin | None
    low: ScoreDifference | None
    low_margin: Margin | None
    newly_failing: int
    newly_failing_in_part: int
    fixed: int
    more_failed: bool  # calls than before

    @property
    def fails_more(self) -> bool:
        return bool(self.newly_failing or self.more_failed)


def is_shown_lower(evidence: Evidence) -> bool:
    """Return True if a one-sided test at 5 % shows a loss: what a gate on regressions demands."""
    low = evidence.low
    is_failing = low is not None and evidence.fails_more and _is_lower(low)
    return standing(evidence) in REGRESSIONS or _is_lower(evidence.difference) or is_failing


def standing(evidence: Evidence) -> Standing:
    """Say what it amounts to.

    Where more fails, what fails counts as the lowest score; where there is no lowest, it could be any.
    """
    d, low = evidence.difference, evidence.low
    newly_failing = evidence.newly_failing + evidence.newly_failing_in_part
    if d.mark == compare.WORSE:
        return Standing.WORSE
    if low is None and newly_failing:
        return Standing.FAILS_UNBOUNDED
    if low is not None and evidence.fails_more and low.mark == compare.WORSE:
        return Standing.WORSE_AS_ZEROS
    if d.mark == compare.BETTER:
        return _standing_of_lead(evidence)
    if d.n_pairs and d.ties == d.n_pairs and not newly_failing + evidence.fixed:
        return Standing.SAME
    return _HINTS.get(d.mark, Standing.OPEN)


def _standing_of_lead(evidence: Evidence) -> Standing:
    if not lead_holds(evidence.difference):
        return Standing.AHEAD_AMONG_SOME
    low = evidence.low
    is_sure = low is None or not evidence.fails_more or low.mark == compare.BETTER
    return Standing.BETTER if is_sure else Standing.NOT_BETTER_AS_ZEROS


def _is_lower(d: ScoreDifference) -> bool:
    """Halve the two-sided p, as the tests are symmetric."""
    p = d.p_holm if d.p_holm is not None else d.p
    return d.diff is not None and d.diff < 0 and p is not None and p / 2 < ALPHA
