"""Whether a lead survives its failures: what failed could have scored anything between the range's ends.

So could what an evaluator skipped for one of the two alone, where that is more than one pair of a hundred:
else a candidate would lead by having its bad examples skipped.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.scores import Outcomes, Values
from optimize_eval.findings.summary.compare import BETTER, WORSE, Comparison

SURELY, IF_ALIKE, NOT, UNBOUNDED = "surely", "if_both_count_as_zero", "no", "unbounded"

Between = Callable[[Values, Values], Comparison]  # what compares scores, a before and b after

FEWEST_SKIPS = 0.01  # of the pairs, above which skips of one side alone count as failures


@frozen
class WithFailures:
    """The comparison once more, with failures as scores; None where scores have no ends."""

    at_worst: Comparison | None  # its own failures as 0, the other's as 1
    at_zero: Comparison | None  # all failures as 0
    skipped_for_one: int = 0  # examples, where they are too many to be ignored
    mark: str = BETTER  # of the comparison, where the other one is ahead: worse

    @property
    def ahead(self) -> str:
        """Say under which of the two the one that is ahead still is."""
        if self.at_worst is None or self.at_zero is None:
            return UNBOUNDED
        if self.at_worst.mark == self.mark:
            return SURELY
        return IF_ALIKE if self.at_zero.mark == self.mark else NOT


def lower_bounds(scores: Outcomes) -> Values | None:
    """Give the scores with failures counted as 0; None where they have no such end."""
    return scores.lows if scores.failed else scores.means


def notable_skips(a: Outcomes, b: Outcomes) -> int:
    """Count the examples that an evaluator skipped for one of the two alone; a few of them are ignored."""
    if not a.skipped and not b.skipped:
        return 0
    many = sum(x != y for x, y in zip(_skips(a), _skips(b), strict=True))
    pairs = sum(x == x and y == y for x, y in zip(a.means, b.means, strict=True))  # noqa: PLR0124  NaN is not
    return many if many > FEWEST_SKIPS * pairs else 0


def are_held_against(a: Outcomes, b: Outcomes) -> bool:
    """Return True if a lead between the two has to hold with failures, or skips of one side, as scores."""
    return bool(a.failed or b.failed or notable_skips(a, b))


def counted_as(end: float, own: Outcomes, other: Outcomes, *, is_unit: bool) -> Values | None:
    """Give scores with failures, and what was skipped for this side alone, as an end of the range."""
    values = (own.highs if end else own.lows) if own.failed else own.means
    if values is None or not notable_skips(own, other):
        return values
    more = [max(0, x - y) for x, y in zip(_skips(own), _skips(other), strict=True)]
    if not is_unit:
        return None
    known = [numbers + failed for numbers, failed in zip(own.numbers, own.failed_calls, strict=True)]
    return array("d", map(_joined, values, known, more, [end] * len(more)))


def with_failures(a: Outcomes, b: Outcomes, between: Between, *, is_unit: bool) -> WithFailures:
    """Compare b with a both ways."""

    def against(end: float) -> Comparison | None:
        before, after = counted_as(end, a, b, is_unit=is_unit), counted_as(0.0, b, a, is_unit=is_unit)
        return None if before is None or after is None else between(before, after)

    many = notable_skips(a, b)
    return WithFailures(at_worst=against(1.0), at_zero=against(0.0), skipped_for_one=many)


def held_against_leader(
    a: Outcomes, b: Outcomes, plain: Comparison, between: Between, *, is_unit: bool
) -> WithFailures:
    """Compare b with a both ways, whichever of the two is ahead: its own failures are the ones as 0."""
    if (plain.difference.diff or 0.0) > 0:
        return with_failures(a, b, between, is_unit=is_unit)
    turned = with_failures(b, a, lambda after, before: between(before, after), is_unit=is_unit)
    return replace(turned, mark=WORSE)


def may_be_favoured(a: Outcomes, b: Outcomes) -> bool:
    """Return True if rules leave out other rows of one than of the other, or look at outcomes."""
    return a.ruled_calls != b.ruled_calls or a.is_ruled_by_outcome or b.is_ruled_by_outcome


def _skips(scores: Outcomes) -> Sequence[int]:
    """Give what the evaluator skipped of each example; rules are another thing."""
    return [every - ruled for every, ruled in zip(scores.skipped_calls, scores.ruled_calls, strict=True)]


def _joined(value: float, known: int, more: int, end: float) -> float:
    """Average what is known of an example with its calls that count as an end."""
    if not more:
        return value
    return (value * known + end * more) / (known + more) if known else end
