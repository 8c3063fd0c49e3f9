"""The points that belong to a verdict: the winner's overfit, every other evaluator, every other candidate."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from optimize_eval.aggregates import compare, gap
from optimize_eval.aggregates.rows import (
    MARKS,
    Row,
    asked_with,
    is_lead,
    keeps_ahead,
    known_difference,
    marked,
    too_few,
    why_no_winner,
)
from optimize_eval.aggregates.wording import evidence, interval, number, signed
from optimize_eval.run.layout import Layout

Point = dict[str, str]

MOST_NAMED = 5


def about_winner(winner: Row | None, layout: Layout) -> Iterator[Point]:
    if winner is None:
        return
    if (overfit := winner["overfit"]) and (said := _overfit_words(overfit)):
        yield _point(*said)
    many = len(layout.candidates)
    if layout.deciding == "val" and many > 2 and "test" not in winner["splits"]:  # noqa: PLR2004  a choice
        mean = number(winner["splits"]["val"]["mean"])
        name = winner["candidate"]
        yield _point("·", f"{name} was selected on val among {many}, which flatters its val mean {mean}")


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
    }.get(overfit["state"])


def elsewhere(summary: Mapping[str, Any], winner: Row | None, layout: Layout) -> Iterator[Point]:
    """Name every other evaluator and task model, also where things get worse there."""
    for evaluator in layout.evaluators:
        for task_model in layout.task_models:
            rows = [
                r for r in summary["rows"] if (r["evaluator"], r["task_model"]) == (evaluator, task_model)
            ]
            if is_lead(rows[0], layout):
                continue
            where = asked_with(evaluator, task_model)
            if len(rows) == 1:
                yield _point("·", _alone_elsewhere(rows[0], where, layout))
                continue
            first = _one_elsewhere(rows, winner, where, layout.deciding, layout.baseline)
            yield first
            if winner is None:
                worse = marked(rows, layout.deciding, compare.WORSE, compare.HINT_WORSE)[-MOST_NAMED:]
                told = [_one_elsewhere(rows, row, where, layout.deciding, layout.baseline) for row in worse]
                yield from (point for point in told if point != first)


def _alone_elsewhere(row: Row, where: str, layout: Layout) -> str:
    s = row["splits"][layout.deciding]
    ci = f" (95 % CI {interval(s['ci'], number)})" if s["ci"] else ""
    return f"on {where} it scores {number(s['mean'])}{ci}"


def _one_elsewhere(rows: Sequence[Row], winner: Row | None, where: str, split: str, baseline: str) -> Point:
    compared = [row for row in rows if row["candidate"] != baseline]
    if winner is None:
        row = max(compared, key=lambda row: known_difference(row, split)["diff"] or 0.0)
        who = row["candidate"]
    else:
        row = next(row for row in compared if row["candidate"] == winner["candidate"])
        who = "it" if len(compared) == 1 else str(winner["candidate"])
    d = known_difference(row, split)
    if d["mark"] == compare.TOO_FEW:
        return _point("·", f"on {where} too few to say: {too_few(d)}")
    change = f"{signed(d['diff'])} ({interval(d['ci'])})"
    if d["mark"] == compare.NO_DIFFERENCE:
        most = number(max(abs(end) for end in d["ci"]))
        return _point("·", f"on {where} no difference is shown for {who}: {change}; none larger than {most}")
    if d["mark"] == compare.BETTER and not keeps_ahead(row, split):
        return _point(
            "!", f"on {where} {who} is ahead where both were scored, {why_no_winner(row, split)}: {change}"
        )
    words = {
        compare.BETTER: "is better, too",
        compare.WORSE: "is worse",
        compare.HINT_BETTER: "may be better, a hint only",
        compare.HINT_WORSE: "may be worse, a hint only",
    }
    return _point(MARKS[d["mark"]], f"on {where} {who} {words[d['mark']]}: {change}")


def others(lead: Sequence[Row], winner: Row | None, layout: Layout) -> Iterator[Point]:
    """Name the candidates that overfit, that are worse, and the others that are better."""
    split = layout.deciding
    rest = [row for row in lead if row is not winner]
    overfitting = [row for row in rest if row["overfit"] and row["overfit"]["state"] == gap.OVERFITS]
    for row in overfitting[:MOST_NAMED]:
        gains = ", ".join(
            f"{signed(known_difference(row, name)['diff'])} on {name}" for name in ("train", "val")
        )
        yield _point("✕", f"{row['candidate']} overfits: {gains}")
    if winner is not None:
        also = [row for row in marked(rest, split, compare.BETTER) if keeps_ahead(row, split)]
        for row in also[:MOST_NAMED]:
            d = known_difference(row, split)
            yield _point(
                "▲", f"{row['candidate']} is better than {layout.baseline}, too: {signed(d['diff'])}"
            )
    for row in marked(rest, split, compare.WORSE)[-MOST_NAMED:]:
        d = known_difference(row, split)
        told = f"{signed(d['diff'])} ({evidence(d)})"
        yield _point("▼", f"{row['candidate']} is worse than {layout.baseline}: {told}")


def _point(mark: str, text: str) -> Point:
    return {"mark": mark, "text": text}
