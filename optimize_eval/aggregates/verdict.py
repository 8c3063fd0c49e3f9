"""What the numbers of a summary are called in words: one sentence, and points that belong to it.

Computed once, stored in summary.json, and used word for word by every report. Nothing is called better
without a corrected p value, nothing said to carry over for want of evidence, nothing at all while a run is
not complete.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from optimize_eval.aggregates import compare, gap
from optimize_eval.aggregates.caveats import caveats
from optimize_eval.aggregates.wording import count, evidence, interval, number, signed
from optimize_eval.run.layout import SINGLE, Layout

Row = Mapping[str, Any]
Point = dict[str, str]

MARKS = {
    compare.BETTER: "▲",
    compare.WORSE: "▼",
    compare.HINT_BETTER: "△",
    compare.HINT_WORSE: "▽",
    compare.NO_DIFFERENCE: "·",
    compare.TOO_FEW: "·",
}
_WHERE = {
    "val": " on held-out data",
    "test": " on test data",
    "train": " on the train data",
    SINGLE: "",
}
_MOST_NAMED = 5
_LONGEST_SAID = 300


def judge(summary: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    """Say what came out."""
    if summary["changed"]:
        names = ", ".join(summary["changed"])
        text = f"no verdict: {names} changed while being asked, so the scores are of different programs"
        return {"text": f"{text}; start anew with --fresh", "points": []}
    if summary["units"]["owed"]:
        return {"text": _so_far(summary, layout), "points": []}
    lead = [row for row in summary["rows"] if _is_lead(row, layout)]
    if all(row["splits"][layout.deciding]["mean"] is None for row in lead):
        return {"text": _nothing_scored(summary, layout), "points": list(_elsewhere(summary, None, layout))}
    winner = _winner(lead, layout.deciding)
    text = _headline(lead, winner, layout)
    points = [
        *_about_winner(winner, layout),
        *_elsewhere(summary, winner, layout),
        *_others(lead, winner, layout),
    ]
    return {"text": text, "points": [*points, *caveats(summary, layout)]}


def _so_far(summary: Mapping[str, Any], layout: Layout) -> str:
    units = summary["units"]
    done = units["total"] - units["owed"]
    told = f"{done:,} of {units['total']:,} calls done; no verdict before the end"
    means = {
        row["candidate"]: row["splits"][layout.deciding]["mean"]
        for row in summary["rows"]
        if _is_lead(row, layout) and row["splits"][layout.deciding]["mean"] is not None
    }
    if len(means) <= 1:
        return f"not complete: {told}"
    return f"so far {max(means, key=lambda name: means[name])} leads on {_lead_name(layout)}: {told}"


def _nothing_scored(summary: Mapping[str, Any], layout: Layout) -> str:
    lead = layout.evaluators[0]
    failed = [e for e in summary["failures"] if (e["evaluator"], e["split"]) == (lead, layout.deciding)]
    if not failed:
        is_scored = any(
            row["splits"][layout.deciding]["scored"] for row in summary["rows"] if _is_lead(row, layout)
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


def _lead_name(layout: Layout) -> str:
    """Name the evaluator that leads and, where there are several task models, the first of them."""
    return _with(layout.evaluators[0], layout.task_models[0], layout)


def _with(evaluator: str, task_model: str | None, layout: Layout) -> str:
    return f"{evaluator} with {task_model}" if len(layout.task_models) > 1 else evaluator


def _is_lead(row: Row, layout: Layout) -> bool:
    return (row["evaluator"], row["task_model"]) == (layout.evaluators[0], layout.task_models[0])


def _d(row: Row, split: str) -> Mapping[str, Any] | None:
    """Find a row's comparison with the baseline; None for the baseline itself."""
    against: Mapping[str, Any] | None = row["vs_baseline"]
    return against and against[split]


def _marked(rows: Sequence[Row], split: str, *marks: str) -> list[Row]:
    """List the rows that a split marks so, the largest difference first."""
    found = [(d["diff"], row) for row in rows if (d := _d(row, split)) and d["mark"] in marks]
    return [row for _, row in sorted(found, key=lambda pair: -pair[0])]


def _winner(rows: Sequence[Row], split: str) -> Row | None:
    """Find the best candidate that may be called better, also where its failures count as 0."""
    better = [row for row in _marked(rows, split, compare.BETTER) if _keeps_ahead(row, split)]
    if len({row["splits"][split]["coverage"] for row in better}) > 1:
        return max(better, key=lambda row: row["splits"][split]["bounds"][0])
    return better[0] if better else None


def _keeps_ahead(row: Row, split: str) -> bool:
    d = _d(row, split)
    return d is not None and d.get("ahead_at_lower_bound", True) is True


def _headline(rows: Sequence[Row], winner: Row | None, layout: Layout) -> str:
    split = layout.deciding
    if len(rows) == 1:
        return _alone(rows[0], layout)
    if winner is not None:
        return _won(winner, layout)
    baseline, where = layout.baseline, _WHERE[split]
    if better := _marked(rows, split, compare.BETTER):
        return (
            f"no winner: {better[0]['candidate']} is ahead of {baseline}{where} where both were scored, "
            f"{_why_no_winner(better[0], split)}"
        )
    if hints := _marked(rows, split, compare.HINT_BETTER):
        d = _known_d(hints[0], split)
        return (
            f"{hints[0]['candidate']} may be better than {baseline}{where}: {signed(d['diff'])} "
            f"{_lead_name(layout)}, a hint only, {_unconfirmed(len(rows) - 1)} ({evidence(d)})"
        )
    return _no_difference(rows, layout)


def _why_no_winner(row: Row, split: str) -> str:
    if row["splits"][split]["bounds"] is None:
        return "but calls failed, and what they would have scored has no bound"
    return "but not when failures count as 0"


def _unconfirmed(comparisons: int) -> str:
    if comparisons == 1:
        return "not confirmed by its test"
    return f"not confirmed after correcting for {comparisons:,} comparisons"


def _no_difference(rows: Sequence[Row], layout: Layout) -> str:
    split = layout.deciding
    compared = [d for row in rows if (d := _d(row, split))]
    told = [d for d in compared if d["mark"] != compare.TOO_FEW]
    if not told:
        if split == SINGLE:
            return f"too few to say which is better: {_without_examples(rows, layout)}"
        return f"too few to say which is better{_WHERE[split]}: {_too_few(compared[0])}"
    most = max(told, key=lambda d: d["diff"])
    name = next(row["candidate"] for row in rows if _d(row, split) is most)
    return (
        f"no candidate is shown to be better than {layout.baseline}{_WHERE[split]}: {name} comes nearest, "
        f"{signed(most['diff'])} {_lead_name(layout)} ({evidence(most)}){_bound(told)}"
    )


def _bound(told: Sequence[Mapping[str, Any]]) -> str:
    most = max(d["ci"][1] for d in told)
    return f"; no gain larger than {number(most)}" if most > 0 else ""


def _too_few(d: Mapping[str, Any]) -> str:
    """Say why a difference is not called anything."""
    pairs = count(d["n_pairs"], "pair")
    if d["n_pairs"] < compare.FEWEST_PAIRS:
        return f"{pairs} of scores, and {compare.FEWEST_PAIRS} are the least"
    if not d["diff"]:
        return f"{pairs}, and no difference in any of them"
    return (
        f"{pairs} that all differ by {signed(d['diff'])}, without the variation that an interval is made from"
    )


def _without_examples(rows: Sequence[Row], layout: Layout) -> str:
    scored = [(row["candidate"], row["splits"][layout.deciding]["mean"]) for row in rows]
    ranked = sorted(((mean, name) for name, mean in scored if mean is not None), reverse=True)
    said = ", ".join(f"{name} {number(mean)}" for mean, name in ranked[:_MOST_NAMED])
    asked = (
        "repeats of one question" if rows[0]["splits"][layout.deciding]["repeats"] > 1 else "one measurement"
    )
    return f"{asked} each on {_lead_name(layout)} ({said}{', …' * (len(ranked) > _MOST_NAMED)})"


def _alone(row: Row, layout: Layout) -> str:
    s = row["splits"][layout.deciding]
    told = f"{row['candidate']} scores {number(s['mean'])} on {_lead_name(layout)}{_WHERE[layout.deciding]}"
    if s["ci"] is None:
        return f"{told}, one example: no interval" if layout.deciding != SINGLE else told
    if not s["se"]:
        return f"{told}, the same on all {count(s['n'], 'example')}"
    return f"{told} (95 % CI {interval(s['ci'], number)}, {count(s['n'], 'example')})"


def _won(winner: Row, layout: Layout) -> str:
    """Name the winner; where val chose it and there is a test split, that split has the word."""
    name, lead, baseline = winner["candidate"], _lead_name(layout), layout.baseline
    if "test" not in winner["splits"] or layout.deciding == "test":
        d = _known_d(winner, layout.deciding)
        return f"{name} beats {baseline}{_WHERE[layout.deciding]}: {signed(d['diff'])} {lead} ({evidence(d)})"
    d = _known_d(winner, "test")
    chosen = f"{name}, selected on {layout.deciding} among {len(layout.candidates)},"
    if d["ci"] is None:
        return f"{chosen} cannot be compared with {baseline} on test data: {count(d['n_pairs'], 'pair')}"
    # On test one comparison is made, the one that val chose: its own p counts.
    is_shown = (
        _keeps_ahead(winner, "test")
        and d["ci"][0] > 0
        and d["p"] < compare.ALPHA
        and d["mark"] != compare.TOO_FEW
    )
    verb = "beats" if is_shown else "is not shown to beat"
    told = evidence({**d, "p_holm": None})
    return f"{chosen} {verb} {baseline} on test data: {signed(d['diff'])} {lead} ({told})"


def _known_d(row: Row, split: str) -> Mapping[str, Any]:
    d = _d(row, split)
    if d is None:
        raise ValueError(f"{row['candidate']} is the baseline")
    return d


def _about_winner(winner: Row | None, layout: Layout) -> Iterator[Point]:
    if winner is None:
        return
    if (overfit := winner["overfit"]) and (said := _overfit_words(overfit)):
        yield _point(*said)
    others = len(layout.candidates)
    if layout.deciding == "val" and others > 2 and "test" not in winner["splits"]:  # noqa: PLR2004  a choice
        mean = number(winner["splits"]["val"]["mean"])
        name = winner["candidate"]
        yield _point("·", f"{name} was selected on val among {others}, which flatters its val mean {mean}")


def _overfit_words(overfit: Mapping[str, Any]) -> tuple[str, str] | None:
    value = f"gap {signed(overfit['value'])} ({interval(overfit['ci'])})"
    return {
        gap.NO_GAP_SHOWN: ("✓", f"no overfitting shown: {value}"),
        gap.UNDECIDED: (
            ("?", f"part of its gain on train is lost: {value}")
            if overfit["ci"][0] > 0
            else ("?", f"whether it overfits is undecided: {value}")
        ),
        gap.NO_TRAIN_GAIN: ("\N{EN DASH}", f"no gain on train that could be lost: {value}"),
        gap.OVERFITS: ("✕", f"but part of its gain on train is lost: {value}"),
    }.get(overfit["state"])


def _elsewhere(summary: Mapping[str, Any], winner: Row | None, layout: Layout) -> Iterator[Point]:
    """Name every other evaluator and task model, also where things get worse there."""
    for evaluator in layout.evaluators:
        for task_model in layout.task_models:
            rows = [
                r for r in summary["rows"] if (r["evaluator"], r["task_model"]) == (evaluator, task_model)
            ]
            if _is_lead(rows[0], layout):
                continue
            where = _with(evaluator, task_model, layout)
            if len(rows) == 1:
                yield _point("·", _alone_elsewhere(rows[0], where, layout))
                continue
            first = _one_elsewhere(rows, winner, where, layout.deciding, layout.baseline)
            yield first
            for row in _marked(rows, layout.deciding, compare.WORSE, compare.HINT_WORSE)[-_MOST_NAMED:]:
                told = _one_elsewhere(rows, row, where, layout.deciding, layout.baseline)
                if told != first and (winner is None or row["candidate"] != winner["candidate"]):
                    yield told


def _alone_elsewhere(row: Row, where: str, layout: Layout) -> str:
    s = row["splits"][layout.deciding]
    ci = f" (95 % CI {interval(s['ci'], number)})" if s["ci"] else ""
    return f"on {where} it scores {number(s['mean'])}{ci}"


def _one_elsewhere(rows: Sequence[Row], winner: Row | None, where: str, split: str, baseline: str) -> Point:
    compared = [row for row in rows if row["candidate"] != baseline]
    if winner is None:
        row = max(compared, key=lambda row: _known_d(row, split)["diff"] or 0.0)
        who = row["candidate"]
    else:
        row = next(row for row in compared if row["candidate"] == winner["candidate"])
        who = "it" if len(compared) == 1 else str(winner["candidate"])
    d = _known_d(row, split)
    if d["mark"] == compare.TOO_FEW:
        return _point("·", f"on {where} too few to say: {_too_few(d)}")
    change = f"{signed(d['diff'])} ({interval(d['ci'])})"
    if d["mark"] == compare.NO_DIFFERENCE:
        most = number(max(abs(end) for end in d["ci"]))
        return _point("·", f"on {where} no difference is shown for {who}: {change}; none larger than {most}")
    if d["mark"] == compare.BETTER and not _keeps_ahead(row, split):
        return _point(
            "!", f"on {where} {who} is ahead where both were scored, {_why_no_winner(row, split)}: {change}"
        )
    words = {
        compare.BETTER: "is better, too",
        compare.WORSE: "is worse",
        compare.HINT_BETTER: "may be better, a hint only",
        compare.HINT_WORSE: "may be worse, a hint only",
    }
    return _point(MARKS[d["mark"]], f"on {where} {who} {words[d['mark']]}: {change}")


def _others(lead: Sequence[Row], winner: Row | None, layout: Layout) -> Iterator[Point]:
    """Name the candidates that overfit, that are worse, and the others that are better."""
    split = layout.deciding
    rest = [row for row in lead if row is not winner]
    overfitting = [row for row in rest if row["overfit"] and row["overfit"]["state"] == gap.OVERFITS]
    for row in overfitting[:_MOST_NAMED]:
        gains = ", ".join(f"{signed(_known_d(row, name)['diff'])} on {name}" for name in ("train", "val"))
        yield _point("✕", f"{row['candidate']} overfits: {gains}")
    if winner is not None:
        also = [row for row in _marked(rest, split, compare.BETTER) if _keeps_ahead(row, split)]
        for row in also[:_MOST_NAMED]:
            d = _known_d(row, split)
            yield _point(
                "▲", f"{row['candidate']} is better than {layout.baseline}, too: {signed(d['diff'])}"
            )
    for row in _marked(rest, split, compare.WORSE)[-_MOST_NAMED:]:
        d = _known_d(row, split)
        told = f"{signed(d['diff'])} ({evidence(d)})"
        yield _point("▼", f"{row['candidate']} is worse than {layout.baseline}: {told}")


def _point(mark: str, text: str) -> Point:
    return {"mark": mark, "text": text}
