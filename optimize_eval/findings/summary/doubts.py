"""How far the numbers reach: noise, power, lopsided differences, candidates that score alike."""

import math
from collections.abc import Iterator, Sequence

from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.rows import is_primary
from optimize_eval.findings.shapes.difference import ScoreDifference
from optimize_eval.findings.shapes.row import Row
from optimize_eval.findings.shapes.summary import Summary
from optimize_eval.findings.summary import compare
from optimize_eval.findings.wording import count, number
from optimize_eval.statistics.estimates import pooled_sd
from optimize_eval.statistics.power import examples_needed, examples_needed_for_shares
from optimize_eval.store.layout import SINGLE, Layout

_WANTED = 0.05  # the difference for which the needed number of examples is told
_LOPSIDED = 0.25  # of skewness over the root of the units, from which on intervals are off
_SKEWED = 1.5
_MUCH_NOISIER = 1.3
_MOST_NAMED = 5


def alike(summary: Summary, layout: Layout) -> Iterator[str]:
    """Point out candidates whose every score is the baseline's: that is hardly ever meant."""
    for evaluator in layout.evaluators:
        rows = [row for row in summary.rows if row.evaluator == evaluator and row.vs_baseline]
        names = dict.fromkeys(row.candidate for row in rows)
        same = [name for name in names if all(_is_same(row) for row in rows if row.candidate == name)]
        if same and layout.deciding != SINGLE:
            who = ", ".join(same[:_MOST_NAMED]) + ", …" * (len(same) > _MOST_NAMED)
            verb = "scores" if len(same) == 1 else "score"
            why = f"{evaluator} may ignore the candidate, or the texts are the same"
            if len(same) < len(names):
                why = f"{evaluator} may not see what differs, or the texts are the same"
            yield f"{who} {verb} the same as {layout.baseline} on every example: {why}"


def lopsided(summary: Summary, layout: Layout) -> Iterator[str]:
    """Point out claims that hang on a few examples."""
    split = layout.deciding
    for row in _primary(summary, layout):
        d = row.difference(split)
        is_claim = d.mark not in {compare.NO_DIFFERENCE, compare.TOO_FEW}
        if is_claim and d.test != "mcnemar" and _is_lopsided(d):
            yield (
                f"the differences of {row.candidate} from {layout.baseline} are lopsided (skewness "
                f"{number(d.skew)}): a few examples decide, so its interval and p are rough"
            )


def noise(summary: Summary, layout: Layout) -> Iterator[str]:
    """Say how much an evaluator's scores vary when the same call is repeated, and where most."""
    for evaluator in layout.evaluators:
        rows = [row for row in summary.rows if row.evaluator == evaluator]
        by_candidate = {name: _noise([r for r in rows if r.candidate == name]) for name in layout.candidates}
        typical = _noise(rows)
        if not typical:
            continue
        noisiest = max(by_candidate, key=lambda name: by_candidate[name])
        is_much = len(by_candidate) > 1 and by_candidate[noisiest] >= _MUCH_NOISIER * typical
        most = f"; {noisiest} varies most, by {number(by_candidate[noisiest])}" if is_much else ""
        yield f"noise of {evaluator}: a repeated call's score varies by {number(typical)} (sd){most}"


def power(summary: Summary, layout: Layout) -> Iterator[str]:
    """Say which difference so many examples would show, for the candidate that is in question."""
    split = layout.deciding
    rows = [row for row in _primary(summary, layout) if _has_power(row.difference(split))]
    if not rows:
        return
    settled = {compare.BETTER, compare.WORSE}
    open_ones = [row for row in rows if row.difference(split).mark not in settled]
    row = max(open_ones or rows, key=lambda row: row.difference(split).diff or 0.0)
    d = row.difference(split)
    many = count(d.n_pairs, f"{split} example" if split != SINGLE else "example")
    many += f" in {count(d.units, 'cluster')}" if d.units < d.n_pairs else ""
    who = f" for {row.candidate}" if len(layout.candidates) > 2 else ""  # noqa: PLR2004  which of them
    told = f"with {many}, a difference of {number(d.mde)}{who} would be found in about 80 of 100 runs"
    is_enough = (d.mde or 0.0) <= _WANTED or layout.score_range(row.evaluator) is not ScoreRange.UNIT
    yield told if is_enough else f"{told}; {_WANTED} takes about {_needed(d):,} examples"


def front(summary: Summary, layout: Layout) -> Iterator[str]:
    """Name the candidates that no other one matches or exceeds on all evaluators, by their means."""
    if len(layout.evaluators) < 2 or len(layout.candidates) < 2:  # noqa: PLR2004  nothing to weigh
        return
    means = {name: _means(summary, name, layout) for name in layout.candidates}
    known = {name: values for name, values in means.items() if None not in values}
    best = [name for name in known if not any(_exceeds(other, known[name]) for other in known.values())]
    names = ", ".join(best[:_MOST_NAMED]) + f", … ({len(best):,})" * (len(best) > _MOST_NAMED)
    if len(best) == 1:
        yield f"{names} has the highest mean on every evaluator"
    elif best:
        yield f"no candidate is best on every evaluator; none exceeds these on all (Pareto front): {names}"


def _primary(summary: Summary, layout: Layout) -> list[Row]:
    return [row for row in summary.rows if is_primary(row, layout) and row.vs_baseline]


def _is_same(row: Row) -> bool:
    return all(d.n_pairs and d.ties == d.n_pairs for d in (row.vs_baseline or {}).values())


def _is_lopsided(d: ScoreDifference) -> bool:
    skew = abs(float(d.skew or 0.0))
    return skew >= _SKEWED and skew >= _LOPSIDED * math.sqrt(d.units)


def _has_power(d: ScoreDifference) -> bool:
    """Return True where power says something: not where all pairs differ, and by the same."""
    return bool(d.mde) and (d.ci is not None or not d.diff)


def _noise(rows: Sequence[Row]) -> float:
    """Pool the variances between repeats over all cells; each counts by its examples."""
    cells = (s for row in rows for s in row.splits.values())
    return pooled_sd((s.within_sd, s.n) for s in cells if s.within_sd is not None)


def _needed(d: ScoreDifference) -> int:
    if d.test == "mcnemar":
        share = (d.wins + d.losses) / d.n_pairs
        return examples_needed_for_shares(_WANTED, discordance=share, comparisons=d.comparisons)
    sd = (d.se or 0.0) * math.sqrt(d.units)
    needed = examples_needed(_WANTED, sd=sd, comparisons=d.comparisons)
    return math.ceil(needed * d.n_pairs / d.units)


def _means(summary: Summary, candidate: str, layout: Layout) -> list[float | None]:
    rows = [row for row in summary.rows if row.candidate == candidate]
    return [s.mean for row in rows if (s := row.splits.get(layout.deciding))]


def _exceeds(other: Sequence[float | None], values: Sequence[float | None]) -> bool:
    pairs = [(a or 0.0, b or 0.0) for a, b in zip(other, values, strict=True)]
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)
