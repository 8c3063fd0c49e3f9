"""The sentence of a winner: by how much it beats the baseline, with the flattery of the choice taken out.

Whether it beats the baseline is decided by the corrected test. Where it was chosen among several, the number
is the cross-fitted one; where there is a test split, that split has the word.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optimize_eval.findings.rows import Row, known_difference, lead_name, on_split, survives_failures
from optimize_eval.findings.wording import count, evidence, interval, number, p_value, signed
from optimize_eval.statistics.families import ALPHA, can_decide
from optimize_eval.store.layout import Layout

BETTER, NOT_SHOWN = "better", "not_shown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A headline, and what it says for programs."""

    text: str
    state: str | None  # None before the end
    winner: str | None = None
    by: Mapping[str, Any] | None = None


def won(winner: Row, summary: Mapping[str, Any], layout: Layout) -> Said:
    """Name the winner and its gain."""
    if "test" in winner["splits"] and layout.deciding != "test":
        return _on_test(winner, summary, layout)
    d = known_difference(winner, layout.deciding)
    selection = summary["selection"]
    if selection and selection["crossfit"] and d["ci"] is not None:
        return _chosen(winner, d, selection, layout)
    beats = _beats(winner, layout)
    by = {"diff": d["diff"], "ci": d["ci"], "p": _p(d), "from": layout.deciding}
    if d["ci"] is None:
        exactly = f"better by exactly {number(d['diff'])} {lead_name(layout)}"
        text = f"{beats}: {exactly} on all {count(d['n_pairs'], 'example')} ({p_value(_p(d))})"
    else:
        text = f"{beats}: {signed(d['diff'])} {lead_name(layout)} ({evidence(d)})"
    return Said(text=text, state=BETTER, winner=winner["candidate"], by=by)


def _chosen(winner: Row, d: Mapping[str, Any], selection: Mapping[str, Any], layout: Layout) -> Said:
    """Give the cross-fitted gain; the test that it beats the baseline is the corrected one."""
    fitted = selection["crossfit"]
    ci = fitted["ci"] or (fitted["diff"], fitted["diff"])
    is_open = ci[0] <= 0
    amount = ", by an amount that cannot be told" if is_open else ""
    text = (
        f"{_beats(winner, layout)}{amount}: {signed(fitted['diff'])} {lead_name(layout)} "
        f"after correcting for the choice among {selection['k']:,} "
        f"(95 % CI {interval(ci)}, {p_value(_p(d))}, {count(fitted['n_pairs'], 'pair')})"
    )
    by = {"diff": fitted["diff"], "ci": fitted["ci"], "p": _p(d), "from": "crossfit"}
    return Said(text=text, state=BETTER, winner=winner["candidate"], by=by)


def _on_test(winner: Row, summary: Mapping[str, Any], layout: Layout) -> Said:
    """Let the test split speak: there one comparison is made, so its own p counts."""
    name, baseline = winner["candidate"], layout.baseline
    d = known_difference(winner, "test")
    k = summary["selection"]["k"] if summary["selection"] else 1
    among = f" among {k:,}" if k > 1 else ""
    chosen = f"{name}, selected on {layout.deciding}{among},"
    if d["diff"] is None or d["p"] is None:
        text = f"{chosen} cannot be compared with {baseline} on test data: {count(d['n_pairs'], 'pair')}"
        return Said(text=text, state=NOT_SHOWN)
    low = d["ci"][0] if d["ci"] else d["diff"]
    is_shown = survives_failures(winner, "test") and low > 0 and d["p"] < ALPHA and can_decide(d["units"])
    verb = "beats" if is_shown else "is not shown to beat"
    told = evidence({**d, "p_holm": None})
    text = f"{chosen} {verb} {baseline} on test data: {signed(d['diff'])} {lead_name(layout)} ({told})"
    by = {"diff": d["diff"], "ci": d["ci"], "p": d["p"], "from": "test"}
    if not is_shown:
        return Said(text=text, state=NOT_SHOWN, by=by)
    return Said(text=text, state=BETTER, winner=name, by=by)


def _beats(winner: Row, layout: Layout) -> str:
    return f"{winner['candidate']} beats {layout.baseline}{on_split(layout.deciding)}"


def _p(d: Mapping[str, Any]) -> float | None:
    p: float | None = d["p_holm"] if d["p_holm"] is not None else d["p"]
    return p
