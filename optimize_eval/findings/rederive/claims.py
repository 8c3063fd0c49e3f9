"""What is claimed of a winner: its gain after the choice, what carries over, who is not told apart."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.findings.rederive import numerics
from optimize_eval.findings.rederive.compared import Told, compare, correct, estimate, gap_of, is_gain
from optimize_eval.findings.rederive.journal import JournaledRun, Values

Gains = Mapping[str, Values]

_HALVINGS, _MOST_BLOCKS = 20, 1000


def winner_of(rows: Sequence[Told], split: str) -> Told | None:
    """Find who leads of those that are better even with failures held against them."""
    better = [
        row
        for row in rows
        if (d := (row["vs_baseline"] or {}).get(split))
        and d["mark"] == "better"
        and d.get("despite_failures", "surely") == "surely"
    ]
    if len({row["splits"][split]["coverage"] for row in better}) > 1:
        return max(better, key=lambda row: row["splits"][split]["bounds"][0])
    return max(better, key=lambda row: row["vs_baseline"][split]["diff"], default=None)


def claims_of(rows: Sequence[Told], pairs: Sequence[Told], run: JournaledRun) -> Told:
    """Give selection, not_told_apart and carry_over; a winner's own row is settled by what carries over."""
    winner = winner_of(rows, run.deciding)
    kept = None
    if winner and {"train", "val"} <= run.splits.keys():
        kept = _kept(run, winner["candidate"])
        overfit = winner["overfit"]
        if overfit and overfit["state"] in {"kept", "undecided"}:
            overfit["state"] = "kept" if kept and kept["kept"] else "undecided"
    return {
        "winner": winner,
        "selection": _selection(rows, winner, run),
        "not_told_apart": _alike(rows, winner, pairs, run) if winner else [],
        "carry_over": kept,
    }


def verdict_of(rows: Sequence[Told], claims: Told, run: JournaledRun) -> Told:
    """Decide the state, and who won by how much."""
    split, winner = run.deciding, claims["winner"]
    told: Told = {"state": None, "winner": None, "by": None}
    if run.changed or run.known < run.size or run.waits or run.was_chosen:
        return told
    if all(row["splits"][split]["mean"] is None for row in rows):
        were_skipped = all(
            row["splits"][split]["skipped"] and row["splits"][split]["coverage"] is None for row in rows
        )
        return told | {"state": "too_few" if were_skipped else "failed"}
    if winner:
        return told | _won(winner, claims["selection"], run)
    return told | {"state": _without_winner(rows, split)}


def _without_winner(rows: Sequence[Told], split: str) -> str:
    against = [row["vs_baseline"][split] for row in rows if row["vs_baseline"]]
    if not against:
        return "single"
    if any(d["mark"] == "better" for d in against):
        return "not_shown"
    told = [d for d in against if d["mark"] != "too_few"]
    if not told:
        return "too_few"
    if len(told) == len(against) and all(_is_the_same(d) for d in told):
        return "no_difference"
    return "worse" if all(d["mark"] == "worse" for d in told) else "not_shown"


def _is_the_same(d: Told) -> bool:
    return bool(d["n_pairs"] and d["ties"] == d["n_pairs"]) or bool((d.get("margin") or {}).get("equivalent"))


def _won(winner: Told, selection: Told | None, run: JournaledRun) -> Told:
    name = winner["candidate"]
    d = winner["vs_baseline"][run.deciding]
    if "test" in run.splits and run.deciding != "test":
        t = winner["vs_baseline"]["test"]
        if t["diff"] is None or t["p"] is None:
            return {"state": "not_shown"}
        low = t["ci"][0] if t["ci"] else t["diff"]
        is_sure = t.get("despite_failures", "surely") == "surely" and 2 ** (1 - t["units"]) <= numerics.ALPHA
        by = {"diff": t["diff"], "ci": t["ci"], "p": t["p"], "from": "test"}
        if is_sure and low > 0 and t["p"] < numerics.ALPHA:
            return {"state": "better", "winner": name, "by": by}
        return {"state": "not_shown", "by": by}
    if selection and selection["crossfit"] and d["ci"] is not None:
        fitted = selection["crossfit"]
        by = {"diff": fitted["diff"], "ci": fitted["ci"], "p": d["p_holm"], "from": "crossfit"}
    else:
        by = {"diff": d["diff"], "ci": d["ci"], "p": d["p_holm"], "from": run.deciding}
    return {"state": "better", "winner": name, "by": by}


def _selection(rows: Sequence[Told], winner: Told | None, run: JournaledRun) -> Told | None:
    split = run.deciding
    others = [row for row in rows if row["vs_baseline"] and row["vs_baseline"][split]["diff"] is not None]
    k = len(run.candidates) - 1
    if k < 2 or not others:  # noqa: PLR2004
        return None
    best = winner or max(others, key=lambda row: row["vs_baseline"][split]["diff"])
    fitted = _cross_fit(_gains(run, split), best["candidate"], run, split)
    naive = best["vs_baseline"][split]
    return {
        "k": k,
        "candidate": best["candidate"],
        "naive": {key: naive[key] for key in ("diff", "se", "ci")},
        "crossfit": fitted,
    }


def _alike(rows: Sequence[Told], winner: Told, pairs: Sequence[Told], run: JournaledRun) -> list[str]:
    """Name who is not told apart from the winner, the best first."""
    name, split = winner["candidate"], run.deciding
    marks = {frozenset((d["a"], d["b"])): d["mark"] for d in pairs}
    if not pairs:
        others = [one for one in run.candidates if one not in {name, run.baseline}]
        values = {one: run.cells[*run.primary, split, one].means for one in run.candidates}
        found = correct({one: compare(values[one], values[name], run, split) for one in others}, lambda _: 0)
        marks = {frozenset((name, one)): d["mark"] for one, d in found.items()}
    ranked = sorted(rows, key=lambda row: -(row["splits"][split]["mean"] or 0.0))
    return [
        row["candidate"]
        for row in ranked
        if row["candidate"] not in {name, run.baseline}
        and marks[frozenset((name, row["candidate"]))] not in {"better", "worse"}
    ]


def _gains(
    run: JournaledRun, split: str, own: float | None = None, base: float | None = None
) -> Gains | None:
    """Subtract the baseline, with failures left out or counted as the scores that are given."""
    cells = {name: run.cells[*run.primary, split, name] for name in run.candidates}
    ends = {
        name: cell.means
        if own is None
        else cell.with_failures(base if name == run.baseline and base is not None else own)
        for name, cell in cells.items()
    }
    before = ends.pop(run.baseline)
    if before is None:
        return None
    gains: dict[str, Values] = {}
    for name, after in ends.items():
        if after is None:
            return None
        gains[name] = [None if x is None or y is None else y - x for x, y in zip(before, after, strict=True)]
    return gains


def _plain(gains: Values, run: JournaledRun, split: str) -> Told:
    nothing: Values = [0.0] * len(gains)
    return compare(nothing, gains, run, split)


def _kept(run: JournaledRun, candidate: str) -> Told | None:
    """Say how much of the train gain is there on val; with failures it has to hold at their ends, too."""
    has_failures = any(
        run.cells[*run.primary, split, name].failed for split in ("train", "val") for name in run.candidates
    )
    found = _kept_by(_gains(run, "train"), _gains(run, "val"), run, candidate)
    if found is None or not has_failures:
        return found
    worst = _kept_by(_gains(run, "train", 1.0, 0.0), _gains(run, "val", 0.0, 1.0), run, candidate)
    return found | {"kept": bool(found["kept"] and worst and worst["kept"])}


def _kept_by(train: Gains | None, val: Gains | None, run: JournaledRun, candidate: str) -> Told | None:
    if train is None or val is None:
        return None
    fitted = _cross_fit(val, candidate, run, "val") if len(val) > 1 else None
    here = fitted or _plain(val[candidate], run, "val")
    chosen = fitted["chosen"] if fitted else {candidate: 1.0}
    there = _plain(_mixed(train, chosen), run, "train")
    lost = gap_of(there, here, "diff")
    if lost is None or not is_gain(there):
        return None
    ratio = numerics.fieller(estimate(there), estimate(here))
    most = lost["ci"][1] if lost["ci"] else lost["value"]
    margin = run.margins.get(run.primary[0])
    is_kept = (margin is not None and most <= margin) or is_share_kept(ratio)
    share, ci = ratio or (None, None)
    return {"share": share, "ci": ci, "lost": {"value": lost["value"], "ci": lost["ci"]}, "kept": is_kept}


def is_share_kept(ratio: tuple[float, numerics.Pair | None] | None) -> bool:
    """Return True if at least half of the train gain is shown to be there."""
    return ratio is not None and (ratio[1][0] if ratio[1] else ratio[0]) >= 0.5  # noqa: PLR2004


def _mixed(gains: Gains, chosen: Mapping[str, float]) -> Values:
    """Average the candidates' gains by how often each was chosen."""
    names = [name for name, share in chosen.items() if share]
    mixed: Values = []
    for row in zip(*(gains[name] for name in names), strict=True):
        there = [value for value in row if value is not None]
        shares = [chosen[name] for name in names]
        whole = len(there) == len(row)
        mixed.append(numerics.total(s * v for s, v in zip(shares, there, strict=True)) if whole else None)
    return mixed


def _cross_fit(gains: Gains | None, candidate: str, run: JournaledRun, split: str) -> Told | None:
    """Choose on one half of the units and measure on the other, 20 times, by the seed."""
    if gains is None:
        return None
    naive = _plain(gains[candidate], run, split)["se"]
    numbers: dict[Any, int] = {}
    places = _applying(run, split)
    units = [numbers.setdefault(run.labels(split)[place], len(numbers)) for place in places]
    if naive is None or len(numbers) < 4:  # noqa: PLR2004
        return None
    blocks = _blocks(units, len(numbers), run.seed)
    here = {name: [values[place] for place in places] for name, values in gains.items()}
    measured = _measured(here, blocks, run.seed)
    influence: Values = [None] * len(run.labels(split))
    for place, block in zip(places, blocks, strict=True):
        known = [(names, gains[name][place]) for name, names in measured.items() if names[block]]
        there = [(names[block], gain) for names, gain in known if gain is not None]
        weight = sum(times for times, _ in there)
        influence[place] = sum(times * gain for times, gain in there) / weight if weight else None
    found = _plain(influence, run, split)
    if found["se"] is None:
        return None
    se = max(found["se"], naive)
    in_all = _HALVINGS * (max(blocks) + 1)
    return {
        "diff": found["diff"],
        "se": se,
        "ci": numerics.around(found["diff"], se, found["df"]),
        "df": found["df"],
        "n_pairs": found["n_pairs"],
        "chosen": {name: sum(times) / in_all for name, times in measured.items()},
    }


def _applying(run: JournaledRun, split: str) -> list[int]:
    """List the examples of which not every call of every candidate was skipped."""
    cells = [run.cells[*run.primary, split, name] for name in run.candidates]
    return [
        place
        for place in range(len(run.labels(split)))
        if any(len(one.skips[place]) < run.repeats for one in cells)
    ]


def _blocks(units: Sequence[int], many: int, seed: int) -> list[int]:
    if many <= _MOST_BLOCKS:
        return list(units)
    order = list(range(many))
    random.Random(seed).shuffle(order)  # noqa: S311
    return [order[unit] % _MOST_BLOCKS for unit in units]


def _measured(gains: Gains, blocks: Sequence[int], seed: int) -> dict[str, list[int]]:
    """Count how often each candidate was measured on each block."""
    many = max(blocks) + 1
    sums = {name: [0.0] * many for name in gains}
    counts = {name: [0] * many for name in gains}
    for name, values in gains.items():
        for block, value in zip(blocks, values, strict=True):
            if value is not None:
                sums[name][block] += value
                counts[name][block] += 1
    measured = {name: [0] * many for name in gains}
    draw = random.Random(seed)  # noqa: S311
    order = list(range(many))
    for _ in range(_HALVINGS):
        draw.shuffle(order)
        halves = order[: many // 2], order[many // 2 :]
        chosen = [_best(half, sums, counts, draw) for half in halves]
        for name, half in ((chosen[0], halves[1]), (chosen[1], halves[0])):
            for block in half:
                measured[name][block] += 1
    return measured


def _best(
    half: Sequence[int], sums: Mapping[str, list[float]], counts: Mapping[str, list[int]], draw: random.Random
) -> str:
    means = {}
    for name, own in sums.items():
        n = sum(counts[name][block] for block in half)
        means[name] = numerics.signed_total([own[block] for block in half]) / n if n else float("-inf")
    best = [name for name, mean in means.items() if mean == max(means.values())]
    return best[0] if len(best) == 1 else draw.choice(best)
