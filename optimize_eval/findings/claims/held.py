"""Comparisons held against what may have made them: skips of one side, and rules that leave rows out."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import TypeVar

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.claims.failures import (
    SURELY,
    Between,
    WithFailures,
    held_against_leader,
    may_be_favoured,
    notable_skips,
)
from optimize_eval.findings.scores import Outcomes
from optimize_eval.findings.summary.compare import BETTER, HINT_BETTER, HINT_WORSE, WORSE, Comparison

_HINTS = {BETTER: HINT_BETTER, WORSE: HINT_WORSE}

_Key = TypeVar("_Key", bound=Hashable)
Corrects = Callable[[Mapping[_Key, Comparison]], Mapping[_Key, Comparison]]


@frozen
class Sides:
    """Two that are compared, and what compares other scores of theirs."""

    a: Outcomes
    b: Outcomes
    between: Between
    is_unit: bool


@frozen
class Held:
    """A comparison, and once more where skips of one side or rules may have made it."""

    comparison: Comparison
    failing: WithFailures | None = None
    over_all: Comparison | None = None

    @property
    def mark(self) -> str:
        """Say what the difference may be called with all of these."""
        mark = self.comparison.mark
        is_sure = not self.failing or self.failing.ahead == SURELY
        if is_sure and (not self.over_all or self.over_all.mark == mark):
            return mark
        return _HINTS.get(mark, mark)

    @classmethod
    def of(cls, comparison: Comparison, sides: Sides) -> "Held":
        a, b, between = sides.a, sides.b, sides.between
        return cls(
            comparison=comparison,
            failing=held_against_leader(a, b, comparison, between, is_unit=sides.is_unit)
            if notable_skips(a, b)
            else None,
            over_all=between(a.over_all_rows, b.over_all_rows) if may_be_favoured(a, b) else None,
        )


def corrected_held(found: Mapping[_Key, Held], correct: Corrects[_Key]) -> dict[_Key, Held]:
    """Correct all kinds of comparisons; `correct` does it for one of each key."""
    plain = {key: one.comparison for key, one in found.items()}
    done = correct(plain)
    over_all = corrected_beside(plain, {key: one.over_all for key, one in found.items()}, correct)
    failing = corrected_failing(
        plain, {key: one.failing for key, one in found.items() if one.failing}, correct
    )
    return {
        key: Held(comparison=done[key], failing=failing.get(key), over_all=over_all.get(key)) for key in found
    }


def corrected_failing(
    plain: Mapping[_Key, Comparison], failing: Mapping[_Key, WithFailures], correct: Corrects[_Key]
) -> dict[_Key, WithFailures]:
    worst = corrected_beside(plain, {key: one.at_worst for key, one in failing.items()}, correct)
    zero = corrected_beside(plain, {key: one.at_zero for key, one in failing.items()}, correct)
    return {key: replace(one, at_worst=worst.get(key), at_zero=zero.get(key)) for key, one in failing.items()}


def corrected_beside(
    plain: Mapping[_Key, Comparison], other: Mapping[_Key, Comparison | None], correct: Corrects[_Key]
) -> dict[_Key, Comparison]:
    """Correct other comparisons of some keys together with the plain ones of all others."""
    known = {key: one for key, one in other.items() if one}
    done = correct({**plain, **known}) if known else {}
    return {key: done[key] for key in known}
