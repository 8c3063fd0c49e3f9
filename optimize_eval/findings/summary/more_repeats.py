"""What more repeats would gain, said once for the comparison that counts: from its two parts of variance."""

from collections.abc import Iterator, Mapping
from typing import Any

from optimize_eval.findings.rows import against_baseline, is_lead
from optimize_eval.findings.wording import percent
from optimize_eval.statistics.components import Components, components_of
from optimize_eval.store.layout import Layout

Row = Mapping[str, Any]

_TWICE = 1 - 0.5**0.5  # of an interval's width goes with twice the examples


def points_about_repeats(summary: Mapping[str, Any], layout: Layout) -> Iterator[dict[str, str]]:
    """Say it of the candidate with the largest gain, or of the only one there is."""
    rows = [row for row in summary["rows"] if is_lead(row, layout)]
    base = next(row for row in rows if row["candidate"] == summary["baseline"])
    split = summary["decided_on"]
    others = [row for row in rows if (d := against_baseline(row, split)) and d["diff"] is not None]
    best = max(others, key=lambda row: row["vs_baseline"][split]["diff"], default=None)
    parts = _of_mean(base, split) if best is None else _of_difference(base, best, split)
    if parts is None or parts.gain_of_repeats is None:
        return
    whose = "its interval" if best is None else f"the interval of {best['candidate']}"
    gains = [percent(round(gain, 2)) for gain in (parts.gain_of_repeats, _TWICE)]
    text = f"more repeats would narrow {whose} by at most {gains[0]}, twice the examples by {gains[1]}"
    yield {"mark": "·", "text": text}


def _of_mean(row: Row, split: str) -> Components | None:
    s = row["splits"][split]
    return None if s["se"] is None else components_of(s["se"], s["n"], s["repeats"], s["within_sd"])


def _of_difference(base: Row, row: Row, split: str) -> Components | None:
    d, own, theirs = row["vs_baseline"][split], row["splits"][split], base["splits"][split]
    if d["se"] is None:
        return None
    return components_of(d["se"], d["n_pairs"], own["repeats"], own["within_sd"], theirs["within_sd"])
