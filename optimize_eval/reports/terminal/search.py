"""An optimization as people read it in a terminal: verdict, points, candidates, the curve, what changed.

Pure: the document → text, the same text for the same screen at any time. Numbers are never cut.
"""

from collections.abc import Sequence
from dataclasses import replace

from optimize_eval.base.documents import JsonMapping, from_dict
from optimize_eval.base.spent import SpendingTotals
from optimize_eval.findings.summary_shape import Point, Verdict, summary_from
from optimize_eval.findings.wording import count, number
from optimize_eval.reports.cells_of_tables import MOST_ROWS, difference, ends, short_interval
from optimize_eval.reports.terminal.answer import DECISIVE, DETAILS, MOST_LINES, MOST_POINTS
from optimize_eval.reports.terminal.summary import pasted, spending_of_models, verdict_lines
from optimize_eval.reports.text import Column, Screen, layout_table

Document = JsonMapping

_HEAD = 12
_MOST_FINALISTS = 8
_TOLD = f"{DECISIVE}→"  # marks of an answer's points: what to try is one of them
_WIDEST = 60
_MOST_DIFF = 40  # lines
_SHADES = " ▁▂▃▄▅▆▇█"


def render(document: Document, *, screen: Screen, has_details: bool) -> str:
    """Lay out the answer, or everything; the verdict stands last."""
    stored = document["verdict"]
    points = [Point(mark=point["mark"], text=point["text"]) for point in stored["points"]]
    verdict = Verdict(text=stored["text"], points=tuple(points), state=stored.get("state"))
    is_done = document["summary"] and stored.get("state") != "unfinished"
    lines = _finalists(document, screen, MOST_ROWS if has_details else _MOST_FINALISTS) if is_done else []
    lines += _curve(document["curve"], screen)
    calls = [*_calls(document, screen), *_spending(document, screen)]
    if has_details:
        below = [*verdict_lines(verdict, screen), *_next(document, screen)]
        return "\n".join(
            [*lines, *_lineage(document, screen), *_diff(document["diff"], screen), *calls, "", *below]
        )
    points = [point for point in verdict.points if point.mark in _TOLD or not is_done]
    points = sorted(points, key=lambda point: (point.mark not in _TOLD, _TOLD.find(point.mark)))[:MOST_POINTS]
    below = verdict_lines(replace(verdict, points=tuple(points)), screen) + _next(document, screen)
    text = _diff(document["diff"], screen)
    has_room = len(lines) + len(text) + len(calls) + 1 + len(below) <= MOST_LINES
    return "\n".join([*lines, *(text if has_room else []), *calls, "", *below])


def _finalists(document: Document, screen: Screen, most: int) -> list[str]:
    summary = summary_from(document["summary"])
    split = "test" if "test" in summary.rows[0].splits else summary.decided_on
    primary = next(iter(document["goal"]))
    rows = [row for row in summary.rows if row.evaluator == primary]
    rows = sorted(rows, key=lambda row: -(row.splits[split].mean or 0.0))
    rows = [row for index, row in enumerate(rows) if index < most or row.candidate == summary.baseline]
    by_name = {candidate["name"]: candidate for candidate in document["candidates"]}
    against = [row.against_baseline(split) for row in rows]
    train = [row.splits["train"].mean if "train" in row.splits else None for row in rows]
    columns = [
        Column("candidate", [row.candidate for row in rows], is_name=True),
        Column(split, [number(row.splits[split].mean) for row in rows]),
        Column("95 % CI", [ends(row.splits[split].ci) for row in rows]),
        Column(f"Δ {split}", ["seed" if d is None else difference(d, summary) for d in against]),
        Column("CI of Δ", ["" if d is None or d.ci is None else short_interval(d.ci) for d in against]),
        *(
            [Column("train", [number(mean) for mean in train])]
            if split != "train" and train[0] is not None
            else []
        ),
        Column("found at", [f"{by_name[row.candidate]['calls']:,}" for row in rows]),
    ]
    chosen = f"{primary}: {split}, the seed {summary.baseline} and the best of the search"
    return [*screen.wrap(" ", chosen), *layout_table(columns, screen)]


def _curve(steps: Sequence[JsonMapping], screen: Screen) -> list[str]:
    """Draw the best mean of the search against its calls, as a line of blocks."""
    if len(steps) < 2:  # noqa: PLR2004  a point is no curve
        return []
    room = min(_WIDEST, screen.width - _HEAD - 10)
    last = steps[-1]["calls"] or 1
    bests = [_best_at(steps, last * (index + 1) / room) for index in range(room)]
    low, high = min(bests), max(bests)
    span = (high - low) or 1.0
    blocks = "".join(_SHADES[1 + round(7 * (best - low) / span)] for best in bests)
    head = f" {'search':<{_HEAD - 1}}"
    words = f"best mean against calls, from {number(low)}; {len(steps) - 1:,} accepted in {last:,} calls"
    return [f"{head}{blocks} {number(high)}", *screen.wrap(" " * _HEAD, words)]


def _best_at(steps: Sequence[JsonMapping], calls: float) -> float:
    known = [step["best"] for step in steps if step["calls"] <= calls]
    return float(known[-1] if known else steps[0]["best"])


def _lineage(document: Document, screen: Screen) -> list[str]:
    if len(document["lineage"]) < 2:  # noqa: PLR2004  the seed alone
        return []
    by_name = {candidate["name"]: candidate for candidate in document["candidates"]}
    path = " → ".join(f"{name} {number(by_name[name]['search_mean'])}" for name in document["lineage"])
    return screen.wrap(f" {'lineage':<{_HEAD - 1}}", path)


def _diff(text: str, screen: Screen) -> list[str]:
    lines = [f"   {screen.fit(line)}" for line in text.splitlines()]
    more = (
        [f"   … {len(lines) - _MOST_DIFF:,} more lines: see search.json"] if len(lines) > _MOST_DIFF else []
    )
    return [" changed", *lines[:_MOST_DIFF], *more] if lines else []


def _calls(document: Document, screen: Screen) -> list[str]:
    calls, made = document["calls"], document.get("proposals")
    words = (
        f"{calls['search']:,} of {document['budget']:,} in the search, {calls['final']:,} in the final sweep"
    )
    if made:  # a search that was killed does not say
        refused = sum(made["refused"].values())
        words += (
            f"; {count(made['proposed'], 'proposal')}: {made['accepted']:,} accepted, "
            f"{made['rejected']:,} no better, {refused:,} refused"
        )
    return screen.wrap(f" {'calls':<{_HEAD - 1}}", words)


def _spending(document: Document, screen: Screen) -> list[str]:
    """Say what models took in the search: those that propose, and those that evaluators call."""
    if not document.get("spent"):
        return []
    lines = [
        line.strip()
        for line in spending_of_models(
            from_dict(SpendingTotals, document["spent"]), screen._replace(width=10**6)
        )
    ]
    return screen.wrap(f" {'models':<{_HEAD - 1}}", f"in the search: {'; '.join(lines)}")


def _next(document: Document, screen: Screen) -> list[str]:
    run, command = document["run"], document.get("resume")
    steps = [f"optimize-eval report {run} {DETAILS}"] if document["summary"] else []
    steps += [] if command else _further(document)
    if command is None and document["verdict"]["state"] == "unfinished" and document["status"] != "running":
        steps.append("run its command again to resume")  # not kept: a path of this machine is in it
    lines: list[str] = []
    for step in steps:
        head = f" {'' if lines else 'next':<{_HEAD - 1}}"
        lines += pasted(head, step, screen) if step.startswith("optimize-eval") else screen.wrap(head, step)
    if command:
        lines.append(f" {'' if lines else 'next':<{_HEAD - 1}}to resume: {screen.fit(command)}")
    return lines


def _further(document: Document) -> list[str]:
    """Say how a search that has ended is continued, where that is of any use."""
    if document["status"] == "budget":
        return [f"to search further, run the same command with --budget {2 * document['budget']}"]
    if document["status"] == "plateau":
        return ["to search further, run the same command with --no-early-stop"]
    return []
