"""What a run could show before any call is made, and what margins would take.

The question is always that of the headline: each candidate against the baseline, on the deciding split. How
scores vary is either measured (`like_of`) or guessed; which of the two is told with every number.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.leakage import with_copies_joined
from optimize_eval.statistics.estimates import BETTING, STUDENT, TANGO, Components, components_of
from optimize_eval.statistics.power import (
    detectable,
    detectable_share,
    examples_needed,
    examples_needed_for_shares,
    fewest_units,
)
from optimize_eval.store.layout import Layout, Split
from optimize_eval.store.opened_run import StoredRun

if TYPE_CHECKING:
    from optimize_eval.findings.summary_parts import Row
    from optimize_eval.findings.summary_shape import Summary

GUESSED_SD = 0.3  # of paired differences of graded scores
GUESSED_DISCORDANCE = 0.25  # the share of pairs that differ, of scores of 0 and 1
GUESSED_ICC = 0.3  # how alike the examples of a cluster are
ASKED = 0.05  # the difference whose price is always told


@frozen
class Like:
    """How the paired differences of an earlier run varied; `sd` is that of one unit."""

    run: str
    evaluator: str
    sd: float
    is_clustered: bool
    discordance: float | None  # of scores of 0 and 1, else None
    repeats: int
    noise: float | None  # the share of the variance that is the noise of repeats, where there were some
    seconds: float | None  # of a call
    is_paired: bool  # or else it had one candidate, and scores stand in for differences


@frozen
class Reach:
    """What would be found in 80 of 100 runs, and what `ASKED` takes; None is never, however large."""

    found: float | None
    needed: int  # units


@frozen
class Forecast:
    """What so many units (examples, or clusters of them) could show."""

    comparisons: int
    units: int
    examples: int
    is_clustered: bool
    fewest: int
    sd: float
    graded: Reach | None
    discordance: float | None
    zero_one: Reach | None
    gain_of_repeats: float | None  # by which more repeats could narrow an interval, at most


def forecast(layout: Layout, like: Like | None = None) -> Forecast | None:
    """Tell what a planned run could show; None where nothing is compared."""
    comparisons = len(layout.candidates) - 1
    split = with_copies_joined(layout.split(layout.deciding))
    if not comparisons or split.lines in {(), (None,)}:
        return None
    units = len(set(split.clusters)) if split.clusters else len(split.lines)
    sd = _sd(split, layout.repeats, like)
    shares = _discordance(split, layout.repeats, like)
    is_graded = like is None or shares is None
    return Forecast(
        comparisons=comparisons,
        units=units,
        examples=len(split.lines),
        is_clustered=split.clusters is not None,
        fewest=fewest_units(comparisons),
        sd=sd,
        graded=_graded(sd, units, comparisons) if is_graded else None,
        discordance=shares,
        zero_one=None if shares is None else _zero_one(shares, units, comparisons),
        gain_of_repeats=_gain(like, layout.repeats),
    )


def _median(numbers: Iterable[float]) -> float:
    """As the standard library's, which loads fractions and decimals."""
    ordered = sorted(numbers)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def like_of(summary: "Summary", layout: Layout, planned: Layout, run: str) -> Like | None:
    """Read off a summary how scores vary; None where too few were scored to tell."""
    evaluator = next((name for name in planned.evaluators if name in layout.evaluators), layout.evaluators[0])
    names = [split.name for split in layout.splits]
    split = planned.deciding if planned.deciding in names else layout.deciding
    rows = [row for row in summary.rows if row.evaluator == evaluator]
    pairs = [varied for row in rows if (varied := _varied(row, rows, split, summary))]
    varying = pairs or [varied for row in rows if (varied := _scattered(row, split, summary))]
    if not varying:
        return None
    noises = [varied.noise for varied in varying if varied.noise is not None]
    shares = [varied.discordance for varied in varying if varied.discordance is not None]
    return Like(
        run=run,
        evaluator=evaluator,
        sd=_median([varied.sd for varied in varying]),
        is_clustered=split in summary.clusters,
        discordance=_median(shares) if len(shares) == len(varying) else None,
        repeats=layout.repeats,
        noise=_median(noises) if noises else None,
        seconds=_seconds(summary, evaluator),
        is_paired=bool(pairs),
    )


@frozen
class _Varied:
    """How one comparison's units varied."""

    sd: float
    discordance: float | None = None
    noise: float | None = None


def _varied(row: "Row", rows: Sequence["Row"], split: str, summary: "Summary") -> _Varied | None:
    """Read off a comparison with the baseline; None where there is none, or nothing varied."""
    d = row.against_baseline(split)
    if not d or not d.se:
        return None
    base = next(
        other.splits[split]
        for other in rows
        if (other.candidate, other.task_model) == (summary.baseline, row.task_model)
    )
    own = row.splits[split]
    parts = components_of(d.se, d.n_pairs, own.repeats, base.within_sd, own.within_sd)
    return _Varied(
        sd=d.se * math.sqrt(d.units),
        discordance=(d.wins + d.losses) / d.n_pairs if d.test == "mcnemar" else None,
        noise=None if parts is None else parts.noise / d.se**2,
    )


def _scattered(row: "Row", split: str, summary: "Summary") -> _Varied | None:
    """Let a candidate's scores stand in for differences."""
    s = row.splits[split]
    units = summary.clusters.get(split, s.n)
    return _Varied(sd=s.se * math.sqrt(units)) if s.se else None


def _sd(split: Split, repeats: int, like: Like | None) -> float:
    """Give the standard deviation of a unit's difference, in the run that is planned."""
    if like is None:
        return GUESSED_SD * _design(split)
    noise = like.noise or 0.0
    scaled = like.sd * math.sqrt(1 - noise + noise * like.repeats / repeats)
    if like.is_clustered or split.clusters is None:
        return scaled  # a cluster there is taken for one here, or an example for an example
    return scaled * _design(split)


def _design(split: Split) -> float:
    """Say how much more a cluster's mean varies than as many independent units would, by a guessed ICC."""
    if split.clusters is None:
        return 1.0
    sizes = Counter(split.clusters).values()
    n = len(split.lines)
    weighted = sum(size**2 for size in sizes) / n
    return math.sqrt((1 + (weighted - 1) * GUESSED_ICC) * len(sizes) / n)


def _discordance(split: Split, repeats: int, like: Like | None) -> float | None:
    """Give the share of pairs that differ, where exact McNemar would be the test."""
    if split.clusters is not None or repeats > 1:
        return None
    return GUESSED_DISCORDANCE if like is None else like.discordance


def _graded(sd: float, units: int, comparisons: int) -> Reach:
    return Reach(
        found=detectable(se=sd / math.sqrt(units), units=units, comparisons=comparisons),
        needed=examples_needed(ASKED, sd=sd, comparisons=comparisons),
    )


def _zero_one(discordance: float, pairs: int, comparisons: int) -> Reach:
    return Reach(
        found=detectable_share(pairs=pairs, discordance=discordance, comparisons=comparisons),
        needed=examples_needed_for_shares(ASKED, discordance=discordance, comparisons=comparisons),
    )


def _gain(like: Like | None, repeats: int) -> float | None:
    if like is None or like.noise is None:
        return None
    noise = like.noise * like.repeats / repeats
    return Components(noise=noise, examples=1 - like.noise).gain_of_repeats


def _seconds(summary: "Summary", evaluator: str) -> float | None:
    there = [entry for entry in summary.latency if entry.evaluator == evaluator]
    calls = sum(entry.n for entry in there)
    return sum(entry.total for entry in there) / calls if calls else None


_HINT = "write --margin 0.02, or --margin EVALUATOR=0.02"


def parse_margins(texts: Sequence[str], layout: Layout) -> dict[str, float]:
    """Read X, which is for every evaluator with scores from 0 to 1, or NAME=X, which is for one."""
    margins: dict[str, float] = {}
    for text in texts:
        name, _, said = text.rpartition("=")
        margin = _number(said, text)
        margins.update(dict.fromkeys([_known(name, layout)] if name else _unit(layout, margins), margin))
    return margins


def with_margins(run: StoredRun, texts: Sequence[str] | None) -> StoredRun:
    """Let a report look at a run with margins of its own, where some are given."""
    return run.select(replace(run.layout, margins=parse_margins(texts, run.layout))) if texts else run


def _number(said: str, text: str) -> float:
    try:
        margin = float(said)
    except ValueError:
        margin = math.nan
    if not 0 < margin < math.inf:
        raise UsageError(f"--margin needs a number above 0, not {text!r}", hint=_HINT)
    return margin


def _known(name: str, layout: Layout) -> str:
    if name not in layout.evaluators:
        known = ", ".join(layout.evaluators[:20])
        raise UsageError(f"no evaluator named {name!r} in this run", hint=f"its evaluators are {known}")
    return name


def _unit(layout: Layout, margins: dict[str, float]) -> list[str]:
    """List the evaluators that a plain margin is for; those without a range need their own."""
    names = [name for name in layout.evaluators if name not in margins]
    without = [name for name in names if layout.score_range(name) is not ScoreRange.UNIT]
    if without:
        raise UsageError(
            f"the scores of {without[0]} have no range, so a margin for it needs its name",
            hint=f"write --margin {without[0]}=X first, in its own units",
        )
    return names


SMALL_SD = 0.1  # of a candidate and another one that is much like it


@frozen
class MarginForecast:
    """What it takes to show that a candidate which is as good as another is no worse by a margin."""

    evaluator: str
    margin: float
    units: int
    is_clustered: bool
    if_equal: int | None  # units, where no example's score differs; None where scores have no range
    sd: float
    needed: int  # units, in 80 of 100 runs


def margin_forecasts(layout: Layout, like: Like | None = None) -> list[MarginForecast]:
    """Tell it of each evaluator with a margin; of one whose scores have no range only if `like` is of it."""
    from optimize_eval.statistics.bounds import units_planned  # noqa: PLC0415  few runs have a margin

    split = with_copies_joined(layout.split(layout.deciding))
    units = len(set(split.clusters)) if split.clusters else len(split.lines)
    forecasts = []
    for name, margin in layout.margins.items():
        alike = like if like and like.evaluator == name else None
        is_unit = layout.score_range(name) is ScoreRange.UNIT
        if not is_unit and alike is None:
            continue
        sd, method = alike.sd if alike else SMALL_SD, BETTING if is_unit else STUDENT
        if alike and alike.discordance is not None and split.clusters is None:
            method = TANGO
        forecasts.append(
            MarginForecast(
                evaluator=name,
                margin=margin,
                units=units,
                is_clustered=split.clusters is not None,
                if_equal=units_planned(margin, 0.0, method) if is_unit else None,
                sd=sd,
                needed=units_planned(margin, sd, method),
            )
        )
    return forecasts
