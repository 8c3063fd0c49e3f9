"""What more repeats would gain, said once for the comparison that counts: from its two parts of variance."""

from collections.abc import Iterator

from optimize_eval.findings.rows import is_primary
from optimize_eval.findings.shapes.row import Row
from optimize_eval.findings.shapes.summary import Point, Summary
from optimize_eval.findings.wording import percent
from optimize_eval.statistics.estimates import Components, components_of
from optimize_eval.store.layout import Layout

_TWICE = 1 - 0.5**0.5  # of an interval's width goes with twice the examples


def points_about_repeats(summary: Summary, layout: Layout) -> Iterator[Point]:
    """Say it of the candidate with the largest gain, or of the only one there is."""
    rows = [row for row in summary.rows if is_primary(row, layout)]
    base = next(row for row in rows if row.candidate == summary.baseline)
    split = summary.decided_on
    gains = [(d.diff, row) for row in rows if (d := row.against_baseline(split)) and d.diff is not None]
    best = max(gains, key=lambda gain: gain[0])[1] if gains else None
    parts = _of_mean(base, split) if best is None else _of_difference(base, best, split)
    if parts is None or parts.gain_of_repeats is None:
        return
    whose = "its interval" if best is None else f"the interval of {best.candidate}"
    most, twice = (percent(round(share, 2)) for share in (parts.gain_of_repeats, _TWICE))
    text = f"more repeats would narrow {whose} by about {most} at most, twice the examples by {twice}"
    yield Point(mark="·", text=text)


def _of_mean(row: Row, split: str) -> Components | None:
    s = row.splits[split]
    return None if s.se is None else components_of(s.se, s.n, s.repeats, s.within_sd)


def _of_difference(base: Row, row: Row, split: str) -> Components | None:
    d, own, theirs = row.difference(split), row.splits[split], base.splits[split]
    if d.se is None:
        return None
    return components_of(d.se, d.n_pairs, own.repeats, own.within_sd, theirs.within_sd)
