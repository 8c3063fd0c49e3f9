"""No worse than, and no different by more than, a margin: two one-sided tests at 5 % (TOST)."""

from dataclasses import dataclass

from optimize_eval.statistics import student

ONE_SIDED = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class WithinMargin:
    """What can be said of a difference and a margin: the ends of the 90 % interval decide."""

    margin: float
    low: float
    high: float

    @property
    def is_no_worse(self) -> bool:
        return self.low > -self.margin

    @property
    def is_equivalent(self) -> bool:
        return self.is_no_worse and self.high < self.margin


def within_margin(diff: float, se: float, df: float, margin: float) -> WithinMargin:
    """Hold a difference against a margin; where nothing varies the difference itself decides."""
    reach = student.quantile(ONE_SIDED, df) * se if se else 0.0
    return WithinMargin(margin=margin, low=diff - reach, high=diff + reach)
