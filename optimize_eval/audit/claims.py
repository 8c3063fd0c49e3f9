"""What is claimed of a winner: its gain as the best of several, what carries over, who is not told apart."""

from collections.abc import Sequence

from optimize_eval.audit import numerics
from optimize_eval.audit.axes import Record
from optimize_eval.audit.compared import (
    compare,
    correct,
    estimate,
    gap_of,
    held_differences,
    is_gain,
    mark_as_held,
)
from optimize_eval.audit.journaled import JournaledRun
from optimize_eval.audit.rows_left_out import is_doubted
from optimize_eval.audit.tried import comparisons_of, is_steered

_MOST_PAIRS = 20_000  # of scores, for a bound on the largest gain
_HALF = 0.5  # of a gain, which has to be kept


def winner_of(rows: Sequence[Record], run: JournaledRun) -> Record | None:
    """Find who leads of those that are better as the best of all, even with failures held against them."""
    split = run.deciding
    better = [
        row
        for row in rows
        if (d := (row["vs_baseline"] or {}).get(split))
        and d["mark"] == "better"
        and _holds(d)
        and (_as_best(d, run) or (1.0,))[0] > 0
    ]
    if len({row["splits"][split]["coverage"] for row in better}) > 1:
        return max(better, key=lambda row: row["splits"][split]["bounds"][0])
    return max(better, key=lambda row: row["vs_baseline"][split]["diff"], default=None)


def _holds(d: Record) -> bool:
    """Return True if failures, skips of one side and rules leave it better."""
    over_all_rows = d.get("over_all_rows", {"mark": "better"})
    return d.get("despite_failures", "surely") == "surely" and bool(over_all_rows["mark"] == "better")


def claims_of(rows: Sequence[Record], pairs: Sequence[Record], run: JournaledRun) -> Record:
    """Give selection, not_told_apart and carry_over; a winner's own row is settled by what carries over."""
    winner = winner_of(rows, run)
    kept = None
    if winner and {"train", "val"} <= run.splits.keys():
        kept = _carry_over(run, winner["candidate"])
        overfit = winner["overfit"]
        if overfit and overfit["state"] in {"kept", "undecided"}:
            overfit["state"] = "kept" if kept and kept["kept"] else "undecided"
    return {
        "winner": winner,
        "selection": _selection(rows, winner, run),
        "not_told_apart": _alike(rows, winner, pairs, run) if winner else [],
        "carry_over": kept,
        **({} if (most := _largest_gain(rows, run)) is None else {"largest_gain": most}),
    }


def _largest_gain(rows: Sequence[Record], run: JournaledRun) -> float | None:
    """Find what no true gain exceeds, where none is better, nothing failed and this is the first verdict."""
    split = run.deciding
    against = {row["candidate"]: row["vs_baseline"][split] for row in rows if row["vs_baseline"]}
    is_hidden = any(
        {"despite_failures", "over_all_rows"} & d.keys() or d["se"] is None for d in against.values()
    )
    is_better = any(d["mark"] == "better" for d in against.values())
    tries = run.tries.count(run.decides) if run.tries.is_run else {"look": 1, "steps": 0}
    is_first = (tries["look"], tries["steps"]) == (1, 0)
    is_told = against and split != "single" and is_first and not is_doubted(run.leaks, split)
    if not is_told or run.ranges[run.primary[0]] != "unit" or is_hidden or is_better:
        return None
    if sum(d["n_pairs"] for d in against.values()) > _MOST_PAIRS:
        return None
    highest = [_highest(d, _gain(run, split, name) or {}, run.axes.seed) for name, d in against.items()]
    most = max((2.0 if high is None else high) for high in highest)
    return most if most <= 1 else None  # more than all there is says nothing


def _highest(told: Record, d: Record, seed: int) -> float | None:
    if told["test"] == "mcnemar":
        return numerics.score_ends(d["wins"], d["losses"], d["n_pairs"])[1]
    totals, sizes = d["of_units"]
    largest = max(sizes)
    if any(abs(total) > largest for total in totals):
        return None
    low = numerics.bet_low([-total / largest for total in totals], seed)
    return float(-low * largest * len(sizes) / sum(sizes))


def verdict_of(rows: Sequence[Record], claims: Record, run: JournaledRun, tries: Record | None) -> Record:
    """Decide the state, and who won by how much."""
    split, winner = run.deciding, claims["winner"]
    verdict: Record = {"state": None, "winner": None, "by": None}
    was_chosen = run.axes.settings.get("chosen_after") is not None  # by results of an earlier run
    if run.changed or run.known < run.size or run.waits or was_chosen:
        return verdict
    if is_doubted(run.leaks, run.deciding):
        return verdict | {"state": "leaked"}
    if all(row["splits"][split]["mean"] is None for row in rows):
        were_skipped = all(
            row["splits"][split]["skipped"] and row["splits"][split]["coverage"] is None for row in rows
        )
        return verdict | {"state": "too_few" if were_skipped else "failed"}
    if run.searched.get("decides") == "test":
        winner = next(row for row in rows if row["vs_baseline"])
    if winner:
        verdict |= _verdict_for(winner, claims["selection"], run, tries)
    else:
        verdict["state"] = _without_winner(rows, split)
    decides = tries is not None and ("test" not in run.splits or tries["split"] == "test")
    if decides and is_steered(tries) and verdict["state"] not in {"single", "too_few"}:
        verdict |= {"state": "steered", "winner": None, "by": None}
    return verdict | _after_search(verdict, run.searched)


def _after_search(verdict: Record, searched: Record) -> Record:
    """Let a search speak that found nothing, and nobody win by what steered it."""
    if verdict["winner"] is None and searched.get("alone"):
        return {"state": searched["alone"]["state"], "by": None}
    if verdict["winner"] is not None and searched.get("steered_by"):
        return {"state": "steered", "winner": None}
    return {}


def _without_winner(rows: Sequence[Record], split: str) -> str:
    against = [row["vs_baseline"][split] for row in rows if row["vs_baseline"]]
    if not against:
        return "single"
    if any(d["mark"] == "better" for d in against):
        return "not_shown"
    enough = [d for d in against if d["mark"] != "too_few"]
    if not enough:
        return "too_few"
    if len(enough) == len(against) and all(_is_the_same(d) for d in enough):
        return "no_difference"
    return "worse" if all(d["mark"] == "worse" for d in enough) else "not_shown"


def _is_the_same(d: Record) -> bool:
    return bool(d["n_pairs"] and d["ties"] == d["n_pairs"]) or bool((d.get("margin") or {}).get("equivalent"))


def _verdict_for(winner: Record, selection: Record | None, run: JournaledRun, tries: Record | None) -> Record:
    name = winner["candidate"]
    if "test" in run.splits and run.deciding != "test":
        return _on_test(name, winner["vs_baseline"]["test"], comparisons_of(tries))
    d = winner["vs_baseline"][run.deciding]
    ci = selection["ci"] if selection else d["ci"]
    by = {"diff": d["diff"], "ci": ci, "p": d["p_holm"], "from": run.deciding}
    return {"state": "better", "winner": name, "by": by}


def _on_test(name: str, d: Record, times: int) -> Record:
    if d["diff"] is None or d["p"] is None:
        return {"state": "not_shown"}
    ci = d["ci"] and (
        d["diff"] - numerics.quantile(1 - 0.025 / times, d["units"] - 1) * d["se"],
        d["ci"][1],
    )
    low, p = ci[0] if ci else d["diff"], min(1.0, d["p"] * times)
    by = {"diff": d["diff"], "ci": ci, "p": p, "from": "test"}
    if _holds(d) and numerics.is_decidable(d["units"], times) and low > 0 and p < numerics.ALPHA:
        return {"state": "better", "winner": name, "by": by}
    return {"state": "not_shown", "by": by}


def _selection(rows: Sequence[Record], winner: Record | None, run: JournaledRun) -> Record | None:
    split = run.deciding
    others = [row for row in rows if row["vs_baseline"] and row["vs_baseline"][split]["diff"] is not None]
    k = run.compared
    if k < 2 or not others:  # noqa: PLR2004
        return None
    best = winner or max(others, key=lambda row: row["vs_baseline"][split]["diff"])
    d = best["vs_baseline"][split]
    return {
        "k": k,
        "candidate": best["candidate"],
        **{key: d[key] for key in ("diff", "se")},
        "ci": _as_best(d, run),
    }


def tried_among(run: JournaledRun) -> int:
    """Count the comparisons that the best one's claim is corrected for."""
    return len(run.candidates) - 1 + run.also_tried([run.decides])[0]


def _as_best(d: Record, run: JournaledRun) -> numerics.Pair | None:
    """Lower the lower end of an interval, so that it holds whichever of those tried was picked."""
    if d["ci"] is None:
        return None
    reach = numerics.quantile(1 - 0.025 / tried_among(run), d["units"] - 1) * d["se"]
    return d["diff"] - reach, d["ci"][1]


def _alike(rows: Sequence[Record], winner: Record, pairs: Sequence[Record], run: JournaledRun) -> list[str]:
    """Name who is not told apart from the winner, the best first."""
    name, split = winner["candidate"], run.deciding
    marks = {frozenset((d["a"], d["b"])): d["mark"] for d in pairs}
    if not pairs:
        others = [candidate for candidate in run.candidates if candidate not in {name, run.axes.baseline}]
        cells = {candidate: run.cells[*run.decides, candidate] for candidate in run.candidates}
        also = run.also_tried([run.decides])
        against = held_differences(
            {other: compare(cells[other].means, cells[name].means, run, split) for other in others},
            {other: (cells[other], cells[name]) for other in others},
            lambda _, before, after: compare(before, after, run, split),
            lambda plain: correct(plain, lambda _: 0, lambda _: also),
        )
        marks = {frozenset((name, other)): mark_as_held(d) for other, d in against.items()}
    ranked = sorted(rows, key=lambda row: -(row["splits"][split]["mean"] or 0.0))
    return [
        row["candidate"]
        for row in ranked
        if row["candidate"] not in {name, run.axes.baseline}
        and marks[frozenset((name, row["candidate"]))] not in {"better", "worse"}
    ]


def _gain(
    run: JournaledRun, split: str, candidate: str, own: float | None = None, base: float | None = None
) -> Record | None:
    """Subtract the baseline, with failures left out or counted as the scores that are given."""
    before, after = run.against_baseline((*run.primary, split), candidate)
    if own is None or base is None:
        return compare(before.means, after.means, run, split)
    a, b = before.counted_as(base, after), after.counted_as(own, before)
    return None if a is None or b is None else compare(a, b, run, split)


def _carry_over(run: JournaledRun, candidate: str) -> Record | None:
    """Say how much of the train gain is there on val; with failures it has to hold at their ends, too."""
    kept = _kept_by(_gain(run, "train", candidate), _gain(run, "val", candidate), run)
    if kept is None or not run.is_open(run.primary, candidate):
        return kept
    worst = _kept_by(_gain(run, "train", candidate, 1.0, 0.0), _gain(run, "val", candidate, 0.0, 1.0), run)
    return kept | {"kept": bool(kept["kept"] and worst and worst["kept"])}


def _kept_by(train: Record | None, val: Record | None, run: JournaledRun) -> Record | None:
    if train is None or val is None:
        return None
    lost = gap_of(train, val, "diff")
    if lost is None or not is_gain(train):
        return None
    among = tried_among(run)
    ratio = numerics.fieller(estimate(train), estimate(val), among)
    ci = numerics.around(lost["value"], lost["se"], lost["df"], 1 - 0.025 / among)
    share, shares = ratio or (None, None)
    lost = {"value": lost["value"], "ci": ci}
    return {"share": share, "ci": shares, "lost": lost, "kept": is_share_kept(ratio)}


def is_share_kept(ratio: tuple[float, numerics.Pair | None] | None) -> bool:
    """Return True if at least half of the train gain is shown to be there."""
    return ratio is not None and (ratio[1][0] if ratio[1] else ratio[0]) >= _HALF
