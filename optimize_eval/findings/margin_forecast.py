"""What it takes to show that a candidate is no worse by a margin, as it is told before any call."""

from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.forecast import Like
from optimize_eval.findings.scores import with_copies_joined
from optimize_eval.statistics.bounds import BETTING, STUDENT, TANGO, units_planned
from optimize_eval.store.layout import Layout

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
    split = with_copies_joined(layout.split(layout.deciding))
    units = len(set(split.clusters)) if split.clusters else len(split.lines)
    told = []
    for name, margin in layout.margins.items():
        alike = like if like and like.evaluator == name else None
        is_unit = layout.score_range(name) is ScoreRange.UNIT
        if not is_unit and alike is None:
            continue
        sd, method = alike.sd if alike else SMALL_SD, BETTING if is_unit else STUDENT
        if alike and alike.discordance is not None and split.clusters is None:
            method = TANGO
        told.append(
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
    return told
