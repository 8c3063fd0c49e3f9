"""Candidates against each other: pairs, gaps, families; and what failures, skips and rules leave of a lead.

The splits differ in difficulty, so the headline is the lost gain: the gain over the baseline on train minus
that on val. It is called overfitting only where it is shown, and kept only where that is shown.

The first evaluator on the deciding split is a family of its own, and the only one that makes a headline;
all others on that split are one; so is each other split, each grouping field by split, and all overfits.
Pairs of candidates are a family within one evaluator, task model and split. Models that reply to the same
prompts are compared apart from the prompts, in families of the same kind.

A lead has to hold with failures counted against it, and with what an evaluator skipped for one of the two
alone, where that is more than one pair of a hundred: else a candidate would lead by having its bad examples
fail or skipped.
"""

import math
from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from typing import TypeVar

from optimize_eval.base.documents import JsonDict
from optimize_eval.base.frozen import change, extend, frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.cells import CellFamily, Outcomes, Values
from optimize_eval.findings.summary_parts import Overfit
from optimize_eval.statistics.bounds import Tolerance, highest
from optimize_eval.statistics.differences import (
    CarriedShare,
    DespiteFailures,
    DifferenceInShort,
    OverAllRows,
    ScoreDifference,
    ScoreGap,
    carry_over,
    difference_of,
    difference_over,
    gap_of,
)
from optimize_eval.statistics.estimates import Clusters, Estimate, Spread
from optimize_eval.statistics.power import ALPHA, can_decide, detectable, detectable_share, holm
from optimize_eval.store.layout import Layout

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


def with_mark(d: ScoreDifference, dropped: int = 0, *, can_confirm: bool = True) -> ScoreDifference:
    """Say what a difference may be called; not `can_confirm` where results steered who is compared."""
    return change(d, dropped=dropped, mark=_mark(d, can_confirm=can_confirm))


def _mark(d: ScoreDifference, *, can_confirm: bool) -> str:
    if d.p is None or d.diff is None or not can_decide(d.units, d.comparisons):
        return TOO_FEW
    is_confirmed = can_confirm and d.p_holm is not None and d.p_holm < ALPHA
    sure, hint = (BETTER, HINT_BETTER) if d.diff > 0 else (WORSE, HINT_WORSE)
    if d.ci is None:  # pairs that all differ by the same amount: there the test alone decides
        return sure if is_confirmed and d.diff else NO_DIFFERENCE
    if d.ci[0] <= 0 <= d.ci[1]:
        return NO_DIFFERENCE
    if is_confirmed:
        return sure
    return NO_DIFFERENCE if d.units < FEWEST_PAIRS else hint


def with_power(d: ScoreDifference) -> ScoreDifference:
    """Add the difference that would be found in 80 of 100 runs, which takes time; None where none ever is."""
    if d.is_share:
        share = (d.wins + d.losses) / d.n_pairs
        mde = detectable_share(pairs=d.n_pairs, discordance=share, comparisons=d.comparisons)
    else:
        mde = detectable(se=d.se, units=d.units, comparisons=d.comparisons) if d.se else None
    return change(d, mde=mde)


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
) -> ScoreDifference:
    """Compare on the examples that both have a score for; `places` are those that take part at all.

    `comparisons` is the number that will be corrected together.
    """
    among = range(len(a)) if places is None else places
    before, after, units = _paired(a, b, clusters, among)
    difference = difference_of(before, after, units, seed=seed, may_flip=may_flip, comparisons=comparisons)
    if tolerance:
        pairs = [y - x for x, y in zip(before, after, strict=True)]
        difference = change(difference, margin=tolerance.margin_of(difference, pairs, units, seed=seed))
    return with_mark(difference, len(among) - len(before))


def compare_by_task(
    a: Values,
    b: Values,
    sizes: Sequence[int],
    *,
    seed: int = 0,
    may_flip: bool = True,
    comparisons: int = 1,
) -> ScoreDifference:
    """Compare on the examples that both have a score for, which are those of tasks of these sizes in turn."""
    both = list(zip(a, b, strict=True))
    starts = accumulate(sizes, initial=0)
    pairs = [
        [(x, y) for x, y in both[start : start + size] if not math.isnan(y - x)]
        for start, size in zip(starts, sizes, strict=False)
    ]
    difference = difference_over(pairs, seed=seed, may_flip=may_flip, comparisons=comparisons)
    return with_mark(difference, len(both) - difference.n_pairs)


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
    if clusters is None and among == range(len(a)) and not any(map(math.isnan, chain(a, b))):
        return list(a), list(b), None
    both = [place for place in among if a[place] == a[place] and b[place] == b[place]]  # NaN is not itself
    units = None if clusters is None else [clusters[place] for place in both]
    return [a[place] for place in both], [b[place] for place in both], units


def tolerance_of(margin: float | None, *ranges: ScoreRange) -> Tolerance | None:
    """Say what a margin is held against: scores of one range, or of those of two runs."""
    if margin is None:
        return None
    return Tolerance(margin=margin, is_unit=all(range_ is ScoreRange.UNIT for range_ in ranges))


OVERFITS, PART_LOST, UNDECIDED, KEPT, NO_GAIN = "overfits", "part_lost", "undecided", "kept", "no_gain"
SHARE_KEPT = 0.5  # of the train gain, which at least has to carry over for a ✓


@frozen
class Lost:
    """The gain over the baseline on train and on val, and what became of it in between."""

    train: ScoreDifference
    val: ScoreDifference
    gap: ScoreGap | None
    p: float | None  # of the gap; where nothing varies, of the two tests
    carried: CarriedShare | None

    @property
    def can_be_told(self) -> bool:
        return self.gap is not None and can_decide(self.train.units) and can_decide(self.val.units)


def gap_between(train: Estimate, val: Estimate) -> ScoreGap | None:
    """Compute how much lower the mean is on val; the splits may differ in difficulty."""
    a, b = _estimate(train.mean, train.se, train.df), _estimate(val.mean, val.se, val.df)
    return None if a is None or b is None else gap_of(a, b)


def lost_gain(train: ScoreDifference, val: ScoreDifference, comparisons: int = 1) -> Lost:
    """Compute how much of the gain over the baseline is lost from train to val.

    `comparisons` is the number of candidates whose carried shares have to hold together.
    """
    a, b = estimate_of(train), estimate_of(val)
    if a is None or b is None:
        return Lost(train=train, val=val, gap=None, p=None, carried=None)
    gap = gap_of(a, b)
    carried = carry_over(a, b, comparisons) if is_gain(train) else None
    return Lost(train=train, val=val, gap=gap, p=_p(gap, train), carried=carried)


def estimate_of(d: ScoreDifference) -> Spread | None:
    return _estimate(d.diff, d.se, d.df)


def _estimate(value: float | None, se: float | None, df: float | None) -> Spread | None:
    return None if value is None or se is None or df is None else (value, se, df)


def _p(gap: ScoreGap, train: ScoreDifference) -> float | None:
    """Give the p of a lost gain; where neither split varies, it is as sure as the gain on train."""
    if gap.p is not None:
        return gap.p
    return train.p if gap.value > 0 else 1.0


def state_of(lost: Lost, p_holm: float | None) -> str | None:
    """Say what the lost gain may be called; None where there is too little to say anything."""
    if not lost.can_be_told or lost.gap is None:
        return None
    if not is_gain(lost.train):
        return NO_GAIN
    if _is_shown(lost, p_holm):
        return PART_LOST if is_gain(lost.val) else OVERFITS
    return KEPT if is_kept(lost.carried, lost.val) else UNDECIDED


def _is_shown(lost: Lost, p_holm: float | None) -> bool:
    gap = lost.gap
    if gap is None or p_holm is None or p_holm >= ALPHA:
        return False
    return gap.value > 0 and (gap.ci is None or gap.ci[0] > 0)


def is_kept(carried: CarriedShare | None, val: ScoreDifference | None) -> bool:
    """Return True if enough of the gain is shown to carry over."""
    if carried is None:
        return False
    if carried.ci is None:
        return carried.share >= SHARE_KEPT and (val is None or is_gain(val))
    return carried.ci[0] >= SHARE_KEPT


def is_gain(d: ScoreDifference) -> bool:
    """Return True if one comparison alone shows a gain: by its interval, else by its test."""
    if d.diff is None or d.diff <= 0:
        return False
    return d.ci[0] > 0 if d.ci else d.p is not None and d.p < ALPHA


_Key = TypeVar("_Key", bound=Hashable)


def family_of(where: CellFamily, layout: Layout) -> tuple[str, bool]:
    """Name the family of the comparisons with the baseline: its split, and whether it makes the headline."""
    is_primary = (where.evaluator, where.task_model) == (layout.evaluators[0], layout.task_models[0])
    return where.split, is_primary and where.split == layout.deciding


def model_family_of(where: CellFamily, layout: Layout) -> tuple[str, bool]:
    """Name the family of comparisons with the first model: its split, and whether it decides."""
    return where.split, where.evaluator == layout.evaluators[0] and where.split == layout.deciding


def sizes_by(keys: Sequence[_Key], family: Callable[[_Key], Hashable]) -> dict[_Key, int]:
    """Count for each comparison how many are made together with it."""
    many = Counter(map(family, keys))
    return {key: many[family(key)] for key in keys}


@frozen
class AlsoTried:
    """How many others comparisons are corrected for besides each other."""

    others: int = 0
    can_confirm: bool = True


NO_OTHERS = AlsoTried()


def corrected(family: Sequence[ScoreDifference], also: AlsoTried = NO_OTHERS) -> list[ScoreDifference]:
    """Correct the p values of comparisons that were made together."""
    known = [d.p for d in family if d.p is not None]
    p_values, comparisons = iter(holm(known, also.others)), len(known) + also.others
    return [
        with_mark(
            change(d, p_holm=next(p_values), comparisons=comparisons), d.dropped, can_confirm=also.can_confirm
        )
        if d.p is not None
        else d
        for d in family
    ]


def corrected_by(
    compared: Mapping[_Key, ScoreDifference],
    family: Callable[[_Key], Hashable],
    also: Callable[[Sequence[_Key]], AlsoTried] = lambda _keys: NO_OTHERS,
) -> dict[_Key, ScoreDifference]:
    """Correct all comparisons, each within its family, and for what was `also` tried besides it."""
    families: dict[Hashable, list[_Key]] = {}
    for key in compared:
        families.setdefault(family(key), []).append(key)
    done: dict[_Key, ScoreDifference] = {}
    for keys in families.values():
        done |= corrected_together({key: compared[key] for key in keys}, also(keys))
    return {key: done[key] for key in compared}


def corrected_together(
    compared: Mapping[_Key, ScoreDifference], also: AlsoTried = NO_OTHERS
) -> dict[_Key, ScoreDifference]:
    """Correct all comparisons as one family."""
    return dict(zip(compared, corrected([*compared.values()], also), strict=True))


SURELY, IF_ALIKE, NOT, UNBOUNDED = "surely", "if_both_count_as_zero", "no", "unbounded"

Between = Callable[[Values, Values], ScoreDifference]  # what compares scores, a before and b after

FEWEST_SKIPS = 0.01  # of the pairs, above which skips of one side alone count as failures


@frozen
class WithFailures:
    """The comparison once more, with failures as scores; None where scores have no ends."""

    at_worst: ScoreDifference | None  # its own failures as 0, the other's as 1
    at_zero: ScoreDifference | None  # all failures as 0
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


def _skips(scores: Outcomes) -> Sequence[int]:
    """Give what the evaluator skipped of each example; rules are another thing."""
    return [every - ruled for every, ruled in zip(scores.skipped_calls, scores.ruled_calls, strict=True)]


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


def _joined(value: float, known: int, more: int, end: float) -> float:
    """Average what is known of an example with its calls that count as an end."""
    if not more:
        return value
    return (value * known + end * more) / (known + more) if known else end


def with_failures(a: Outcomes, b: Outcomes, between: Between, *, is_unit: bool) -> WithFailures:
    """Compare b with a both ways."""

    def against(end: float) -> ScoreDifference | None:
        before, after = counted_as(end, a, b, is_unit=is_unit), counted_as(0.0, b, a, is_unit=is_unit)
        return None if before is None or after is None else between(before, after)

    many = notable_skips(a, b)
    return WithFailures(at_worst=against(1.0), at_zero=against(0.0), skipped_for_one=many)


def held_against_leader(
    a: Outcomes, b: Outcomes, plain: ScoreDifference, between: Between, *, is_unit: bool
) -> WithFailures:
    """Compare b with a both ways, whichever of the two is ahead: its own failures are the ones as 0."""
    if (plain.diff or 0.0) > 0:
        return with_failures(a, b, between, is_unit=is_unit)
    turned = with_failures(b, a, lambda after, before: between(before, after), is_unit=is_unit)
    return replace(turned, mark=WORSE)


def may_be_favoured(a: Outcomes, b: Outcomes) -> bool:
    """Return True if rules leave out other rows of one than of the other, or look at outcomes."""
    return a.ruled_calls != b.ruled_calls or a.is_ruled_by_outcome or b.is_ruled_by_outcome


_HINTS = {BETTER: HINT_BETTER, WORSE: HINT_WORSE}

Corrects = Callable[[Mapping[_Key, ScoreDifference]], Mapping[_Key, ScoreDifference]]


@frozen
class Compared:
    """Two that are compared, and what compares other scores of theirs."""

    a: Outcomes
    b: Outcomes
    between: Between
    is_unit: bool


@frozen
class Held:
    """A comparison, and once more where skips of one side or rules may have made it."""

    comparison: ScoreDifference
    failing: WithFailures | None = None
    over_all: ScoreDifference | None = None

    @property
    def mark(self) -> str:
        """Say what the difference may be called with all of these."""
        mark = self.comparison.mark
        is_sure = not self.failing or self.failing.ahead == SURELY
        if is_sure and (not self.over_all or self.over_all.mark == mark):
            return mark
        return _HINTS.get(mark, mark)

    @classmethod
    def of(cls, comparison: ScoreDifference, sides: Compared) -> "Held":
        a, b, between = sides.a, sides.b, sides.between
        return cls(
            comparison=comparison,
            failing=held_against_leader(a, b, comparison, between, is_unit=sides.is_unit)
            if notable_skips(a, b)
            else None,
            over_all=between(a.over_all_rows, b.over_all_rows) if may_be_favoured(a, b) else None,
        )


def corrected_held(held: Mapping[_Key, Held], correct: Corrects[_Key]) -> dict[_Key, Held]:
    """Correct all kinds of comparisons; `correct` does it for one of each key."""
    plain = {key: both.comparison for key, both in held.items()}
    done = correct(plain)
    over_all = corrected_beside(plain, {key: both.over_all for key, both in held.items()}, correct)
    failing = corrected_failing(
        plain, {key: both.failing for key, both in held.items() if both.failing}, correct
    )
    return {
        key: Held(comparison=done[key], failing=failing.get(key), over_all=over_all.get(key)) for key in held
    }


def corrected_failing(
    plain: Mapping[_Key, ScoreDifference], failing: Mapping[_Key, WithFailures], correct: Corrects[_Key]
) -> dict[_Key, WithFailures]:
    worst = corrected_beside(plain, {key: against.at_worst for key, against in failing.items()}, correct)
    zero = corrected_beside(plain, {key: against.at_zero for key, against in failing.items()}, correct)
    return {
        key: replace(against, at_worst=worst.get(key), at_zero=zero.get(key))
        for key, against in failing.items()
    }


def corrected_beside(
    plain: Mapping[_Key, ScoreDifference],
    other: Mapping[_Key, ScoreDifference | None],
    correct: Corrects[_Key],
) -> dict[_Key, ScoreDifference]:
    """Correct other comparisons of some keys together with the plain ones of all others."""
    known = {key: d for key, d in other.items() if d}
    done = correct({**plain, **known}) if known else {}
    return {key: done[key] for key in known}


def held_difference(held: Held) -> ScoreDifference:
    """Shape a difference, and what skips of one side and rules make of it."""
    return beside(held.comparison, held.failing, held.over_all)


def beside(
    d: ScoreDifference, failing: WithFailures | None, over_all: ScoreDifference | None
) -> ScoreDifference:
    """Put what failures, skips of one side and rules make of a difference beside it."""
    return replace(
        d,
        over_all_rows=OverAllRows(**_in_short(over_all), mark=over_all.mark) if over_all else None,
        skipped_for_one=failing.skipped_for_one if failing else 0,
        with_failures=_despite_failures(failing) if failing else None,
    )


def overfit(lost: Lost, p_holm: float | None, state: str | None) -> Overfit | None:
    """Shape a lost gain."""
    if lost.gap is None:
        return None
    return extend(
        Overfit,
        lost.gap,
        flag=p_holm is not None and p_holm < ALPHA and lost.can_be_told and lost.gap.value > 0,
        p=lost.p,
        p_holm=p_holm,
        state=state,
        carry_over=lost.carried,
    )


def _despite_failures(failing: WithFailures) -> DespiteFailures:
    """Shape what becomes of a difference when failures count as scores."""
    return DespiteFailures(
        despite_failures=failing.ahead,
        at_worst=DifferenceInShort(**_in_short(failing.at_worst)) if failing.at_worst else None,
        at_zero=DifferenceInShort(**_in_short(failing.at_zero)) if failing.at_zero else None,
    )


def _in_short(d: ScoreDifference) -> JsonDict:
    return {"diff": d.diff, "ci": d.ci, "p": d.p, "p_holm": d.p_holm}
