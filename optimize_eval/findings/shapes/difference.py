"""D, a candidate against another one on the same examples, and what failures and a margin make of it."""

from typing import Annotated

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.documents import FLAT, IF_ANY, value_at
from optimize_eval.statistics.bounds import STUDENT
from optimize_eval.statistics.estimates import Interval


@frozen
class DifferenceInShort:
    """The same comparison with failures counted as scores."""

    diff: float | None
    ci: Interval | None
    p: float | None
    p_holm: float | None

    __getitem__ = value_at


@frozen
class DespiteFailures:
    """What becomes of a difference if failures and skips of one side count: as 0 and as 1, or all as 0."""

    despite_failures: str  # surely, if_both_count_as_zero, no, unbounded
    at_worst: DifferenceInShort | None
    at_zero: DifferenceInShort | None


@frozen
class OverAllRows:
    """The same comparison with the rows that rules leave out."""

    diff: float | None
    ci: Interval | None
    p: float | None
    p_holm: float | None
    mark: str

    __getitem__ = value_at


@frozen
class Margin:
    """What a margin says of a difference."""

    margin: float
    ci90: Interval
    method: str  # betting; tango for scores of 0 and 1; t for those without a range
    no_worse: bool
    equivalent: bool

    __getitem__ = value_at

    @property
    def is_by_t(self) -> bool:
        return self.method == STUDENT


@frozen
class ScoreDifference:
    """A candidate against another one on the same examples."""

    diff: float | None
    se: float | None
    ci: Interval | None
    p: float | None
    p_holm: float | None
    test: str | None
    n_pairs: int
    units: int  # independent ones: pairs, or clusters
    comparisons: int  # that were corrected together
    dropped: int
    wins: int
    ties: int
    losses: int
    at_most: float | None  # the share of examples that may differ, where none of these does
    skew: float | None
    mde: float | None  # found in 80 of 100 runs; known of comparisons with the baseline that decide
    mark: str
    over_all_rows: Annotated[OverAllRows | None, IF_ANY] = None  # where rules may favour one of the two
    skipped_for_one: Annotated[int, IF_ANY] = 0  # examples, where they are too many for a lead to ignore
    with_failures: Annotated[DespiteFailures | None, FLAT] = None  # where calls failed
    margin: Annotated[Margin | None, IF_ANY] = None

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
