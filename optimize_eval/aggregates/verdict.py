"""What the numbers of a summary are called in words: one sentence, and points that belong to it.

Computed once, stored in summary.json, and used word for word by every report. Nothing is called better
without a corrected p value, nothing said to carry over for want of evidence, nothing at all while a run is
not complete.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.aggregates import compare
from optimize_eval.aggregates.caveats import caveats
from optimize_eval.aggregates.points import MOST_NAMED, about_winner, elsewhere, others
from optimize_eval.aggregates.rows import (
    Row,
    against_baseline,
    is_lead,
    keeps_ahead,
    known_difference,
    lead_name,
    marked,
    too_few,
    why_no_winner,
)
from optimize_eval.aggregates.wording import count, evidence, interval, number, signed
from optimize_eval.run.layout import SINGLE, Layout

_WHERE = {
    "val": " on held-out data",
    "test": " on test data",
    "train": " on the train data",
    SINGLE: "",
}
_LONGEST_SAID = 300


def judge(summary: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    """Say what came out."""
    if summary["changed"]:
        names = ", ".join(summary["changed"])
        text = f"no verdict: {names} changed while being asked, so the scores are of different programs"
        return {"text": f"{text}; start anew with --fresh", "points": []}
    if summary["units"]["owed"]:
        return {"text": _so_far(summary, layout), "points": []}
    lead = [row for row in summary["rows"] if is_lead(row, layout)]
    if all(row["splits"][layout.deciding]["mean"] is None for row in lead):
        return {"text": _nothing_scored(summary, layout), "points": list(elsewhere(summary, None, layout))}
    winner = _winner(lead, layout.deciding)
    text = _headline(lead, winner, layout)
    points = [
        *about_winner(winner, layout),
        *elsewhere(summary, winner, layout),
        *others(lead, winner, layout),
    ]
    return {"text": text, "points": [*points, *caveats(summary, layout)]}


def _so_far(summary: Mapping[str, Any], layout: Layout) -> str:
    units = summary["units"]
    done = units["total"] - units["owed"]
    told = f"{done:,} of {units['total']:,} calls done; no verdict before the end"
    means = {
        row["candidate"]: row["splits"][layout.deciding]["mean"]
        for row in summary["rows"]
        if is_lead(row, layout) and row["splits"][layout.deciding]["mean"] is not None
    }
    if len(means) <= 1:
        return f"not complete: {told}"
    return f"so far {max(means, key=lambda name: means[name])} leads on {lead_name(layout)}: {told}"


def _nothing_scored(summary: Mapping[str, Any], layout: Layout) -> str:
    lead = layout.evaluators[0]
    failed = [e for e in summary["failures"] if (e["evaluator"], e["split"]) == (lead, layout.deciding)]
    if not failed:
        is_scored = any(
            row["splits"][layout.deciding]["scored"] for row in summary["rows"] if is_lead(row, layout)
        )
        if not is_scored:
            return f"nothing was asked of {lead}"
        return f"{lead} has no mean: its scores are too large to be added up"
    most = max(failed, key=lambda entry: entry["count"])
    total = sum(entry["count"] for entry in failed)
    where = "" if layout.deciding == SINGLE else f" on {layout.deciding}"
    said = most["first_message"]
    said = said if len(said) <= _LONGEST_SAID else f"{said[:_LONGEST_SAID]}…"
    return f"{lead} scored nothing{where}: {count(total, 'call')} failed ({most['kind']}: {said})"


def _winner(rows: Sequence[Row], split: str) -> Row | None:
    """Find the best candidate that may be called better, also where its failures count as 0."""
    better = [row for row in marked(rows, split, compare.BETTER) if keeps_ahead(row, split)]
    if len({row["splits"][split]["coverage"] for row in better}) > 1:
        return max(better, key=lambda row: row["splits"][split]["bounds"][0])
    return better[0] if better else None


def _headline(rows: Sequence[Row], winner: Row | None, layout: Layout) -> str:
    split = layout.deciding
    if len(rows) == 1:
        return _alone(rows[0], layout)
    if winner is not None:
        return _won(winner, layout)
    baseline, where = layout.baseline, _where(split)
    if better := marked(rows, split, compare.BETTER):
        return (
            f"no winner: {better[0]['candidate']} is ahead of {baseline}{where} where both were scored, "
            f"{why_no_winner(better[0], split)}"
        )
    if hints := marked(rows, split, compare.HINT_BETTER):
        d = known_difference(hints[0], split)
        return (
            f"{hints[0]['candidate']} may be better than {baseline}{where}: {signed(d['diff'])} "
            f"{lead_name(layout)}, a hint only, {_unconfirmed(len(rows) - 1)} ({evidence(d)})"
        )
    return _no_difference(rows, layout)


def _unconfirmed(comparisons: int) -> str:
    if comparisons == 1:
        return "not confirmed by its test"
    return f"not confirmed after correcting for {comparisons:,} comparisons"


def _no_difference(rows: Sequence[Row], layout: Layout) -> str:
    split = layout.deciding
    compared = [d for row in rows if (d := against_baseline(row, split))]
    told = [d for d in compared if d["mark"] != compare.TOO_FEW]
    if not told:
        if split == SINGLE:
            return f"too few to say which is better: {_without_examples(rows, layout)}"
        return f"too few to say which is better{_where(split)}: {too_few(compared[0])}"
    most = max(told, key=lambda d: d["diff"])
    name = next(row["candidate"] for row in rows if against_baseline(row, split) is most)
    return (
        f"no candidate is shown to be better than {layout.baseline}{_where(split)}: {name} comes nearest, "
        f"{signed(most['diff'])} {lead_name(layout)} ({evidence(most)}){_bound(told)}"
    )


def _bound(told: Sequence[Mapping[str, Any]]) -> str:
    most = max(d["ci"][1] for d in told)
    return f"; no gain larger than {number(most)}" if most > 0 else ""


def _without_examples(rows: Sequence[Row], layout: Layout) -> str:
    scored = [(row["candidate"], row["splits"][layout.deciding]["mean"]) for row in rows]
    ranked = sorted(((mean, name) for name, mean in scored if mean is not None), reverse=True)
    said = ", ".join(f"{name} {number(mean)}" for mean, name in ranked[:MOST_NAMED])
    asked = (
        "repeats of one question" if rows[0]["splits"][layout.deciding]["repeats"] > 1 else "one measurement"
    )
    return f"{asked} each on {lead_name(layout)} ({said}{', …' * (len(ranked) > MOST_NAMED)})"


def _alone(row: Row, layout: Layout) -> str:
    s = row["splits"][layout.deciding]
    told = f"{row['candidate']} scores {number(s['mean'])} on {lead_name(layout)}{_where(layout.deciding)}"
    if s["ci"] is None:
        why = "one example" if s["n"] == 1 else f"{count(s['n'], 'example')} without independent ones"
        return f"{told}, {why}: no interval" if layout.deciding != SINGLE else told
    if not s["se"]:
        return f"{told}, the same on all {count(s['n'], 'example')}"
    return f"{told} (95 % CI {interval(s['ci'], number)}, {count(s['n'], 'example')})"


def _won(winner: Row, layout: Layout) -> str:
    """Name the winner; where val chose it and there is a test split, that split has the word."""
    name, lead, baseline = winner["candidate"], lead_name(layout), layout.baseline
    if "test" not in winner["splits"] or layout.deciding == "test":
        d = known_difference(winner, layout.deciding)
        return f"{name} beats {baseline}{_where(layout.deciding)}: {signed(d['diff'])} {lead} ({evidence(d)})"
    d = known_difference(winner, "test")
    chosen = f"{name}, selected on {layout.deciding} among {len(layout.candidates)},"
    if d["ci"] is None:
        return f"{chosen} cannot be compared with {baseline} on test data: {count(d['n_pairs'], 'pair')}"
    # On test one comparison is made, the one that val chose: its own p counts.
    is_shown = (
        keeps_ahead(winner, "test")
        and d["ci"][0] > 0
        and d["p"] < compare.ALPHA
        and d["mark"] != compare.TOO_FEW
    )
    verb = "beats" if is_shown else "is not shown to beat"
    told = evidence({**d, "p_holm": None})
    return f"{chosen} {verb} {baseline} on test data: {signed(d['diff'])} {lead} ({told})"


def _where(split: str) -> str:
    """Say on which examples; the splits of a bench are called after their files."""
    return _WHERE.get(split, f" on {split}")
