"""Everything of summary.json that a decision hangs on, in its shape, from the journal alone."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations, product
from typing import Any

from optimize_eval.audit import numerics
from optimize_eval.audit.claims import claims_of, is_share_kept, verdict_of
from optimize_eval.audit.compared import (
    OF_ALL_ROWS,
    OF_D,
    Told,
    compare,
    correct,
    estimate,
    gap_numbers,
    gap_of,
    held_differences,
    is_gain,
    mark_as_held,
    mean_of,
    split_numbers,
)
from optimize_eval.audit.journaled import JournaledRun, Values, are_ruled_apart, one_sided
from optimize_eval.audit.leaks import doubted
from optimize_eval.audit.said import (
    calibration_of,
    corpus_bleu_of,
    failures_of,
    metrics_of,
    passes_of,
    worst_of,
)

Where = tuple[str, str | None, str]  # evaluator, task model, split
Key = tuple[Where, str]


def models_compared(run: JournaledRun, means: dict[Where, dict[str, Values]]) -> Told:
    """Compare each model with the first one, which are families apart from the candidates'."""
    if not run.compares_models or len(run.task_models) < 2:  # noqa: PLR2004  with one, nothing is compared
        return {}
    first = run.task_models[0]
    keys = [
        ((evaluator, model, split), name)
        for evaluator in run.evaluators
        for name in run.candidates
        for model in run.task_models[1:]
        for split in run.splits
    ]
    decisive = (run.evaluators[0], run.deciding)

    def family(key: Key) -> tuple[str, bool]:
        return key[0][2], (key[0][0], key[0][2]) == decisive

    def also(keys: Sequence[Key]) -> tuple[int, bool]:
        others, _ = run.also_tried([where for where, _ in keys])
        return others, not (family(keys[0])[1] and run.is_steered)

    many = Counter(map(family, keys))
    more = {one: also([key for key in keys if family(key) == one])[0] for one in many}

    def against(key: Key, before: Values, after: Values) -> Told:
        return compare(before, after, run, key[0][2], family=many[family(key)] + more[family(key)])

    firsts = {key: (key[0][0], first, key[0][2]) for key in keys}
    told = held_differences(
        {key: against(key, means[firsts[key]][key[1]], means[key[0]][key[1]]) for key in keys},
        {key: (run.cells[*firsts[key], key[1]], run.cells[*key[0], key[1]]) for key in keys},
        against,
        lambda plain: correct(plain, family, also),
    )
    pairs = [
        {
            "a": first,
            "b": where[1],
            "candidate": name,
            "evaluator": where[0],
            "split": where[2],
            "failed": sum(run.cells[where[0], model, where[2], name].failed for model in (first, where[1])),
            **{key: d[key] for key in OF_D},
            **d["beside"],
        }
        for (where, name), d in told.items()
    ]
    return {"models": pairs}


_SUMS = ("prompt_tokens", "completion_tokens", "cost", "seconds")


_OF_REPLY = ("of", "reply")  # of a call that made a reply, which counts for no evaluator


def spent_of(calls: list[dict[str, Any]]) -> dict[str, Any]:
    axes = {"models": "model", "evaluators": "evaluator", "candidates": "candidate"}
    told: dict[str, Any] = {
        axis: {name: _total([call for call in theirs if call[key] == name]) for name in _names(theirs, key)}
        for axis, key in axes.items()
        for theirs in [[call for call in calls if key != "evaluator" or _OF_REPLY not in call.items()]]
    }
    return {"run": _total(calls), **told}


def _names(calls: list[dict[str, Any]], key: str) -> list[Any]:
    return sorted({call[key] for call in calls})


def _total(calls: list[dict[str, Any]]) -> dict[str, Any]:
    tokens = ("prompt_tokens", "completion_tokens")
    estimated = sum("estimated" in call for call in calls)
    return {
        "calls": len(calls),
        "without_tokens": sum(any(key not in call for key in tokens) for call in calls),
        "without_cost": sum("cost" not in call for call in calls),
        **{key: math.fsum(call.get(key, 0) for call in calls) for key in _SUMS},
        **({"estimated": estimated} if estimated else {}),
    }


_MOST_PAIRS = 2000
_MOST_LINES = 20


def expected(run: JournaledRun) -> Told:
    """Compute the parts of a summary that can be derived a second time."""
    wheres = run.wheres
    means = {where: {name: run.cells[*where, name].means for name in run.candidates} for where in wheres}
    against = _against_baseline(run, means)
    groups = _groups(run, means)
    series = product(run.evaluators, run.task_models)
    rows = [_row(run, pair, name, against, groups) for pair, name in product(series, run.candidates)]
    _lose(run, rows, against)
    pairs = [d for where in wheres for d in _pairs(run, where, means[where], against)]
    primary = [row for row in rows if (row["evaluator"], row["task_model"]) == run.primary]
    decisive = [
        d for d in pairs if (d["evaluator"], d["task_model"], d["split"]) == (*run.primary, run.deciding)
    ]
    claims = claims_of(primary, decisive, run)
    winner = claims["winner"]
    if run.searched.get("decides") == "test":
        winner = next(row for row in primary if row["vs_baseline"])
    tried = run.told_of_tries(winner and winner["candidate"])
    return {
        "baseline": run.baseline,
        "decided_on": run.deciding,
        "score_ranges": run.ranges,
        "margins": run.margins,
        "judges": run.judges,
        "units": _units(run),
        "rows": rows,
        "pairs": pairs,
        **{
            key: claims[key]
            for key in ("selection", "not_told_apart", "carry_over", "largest_gain")
            if key in claims
        },
        "leakage": run.leaks,
        "duplicates": {name: split.copies for name, split in run.splits.items() if split.copies},
        "clusters": {
            name: len(set(split.labels)) for name, split in run.splits.items() if split.is_clustered
        },
        "changed": run.changed,
        **({"skips": skips} if (skips := _skips(run)) else {}),
        "replies": sorted(run.replies, key=_order(run)),
        "pairs_left_out": _pairs_left_out(run),
        "additions_left_out": run.left_out,
        **_by_cell(run),
        "verdict": verdict_of(primary, claims, run, tried),
        **({"tried": tried} if tried else {}),
        "journal": run.end,
        **models_compared(run, means),
        "spent": spent_of(run.calls) if run.calls else None,
    }


def _pairs_left_out(run: JournaledRun) -> int:
    many = len(run.candidates) * (len(run.candidates) - 1) // 2
    return many if many > _MOST_PAIRS else 0


def _by_cell(run: JournaledRun) -> Told:
    """Tell what is listed cell by cell, besides skips and replies."""
    told: Told = {"failures": [], "passes": [], "calibration": [], "corpus_bleu": []}
    for key in run.cells_in_order:
        where = dict(zip(("evaluator", "task_model", "split", "candidate"), key, strict=True))
        cell, split = run.cells[key], run.splits[key[2]]
        told["failures"] += [where | one for one in failures_of(cell, split)]
        passes = passes_of(cell, split.labels, is_clustered=split.is_clustered)
        told["passes"] += [where | {"by_k": passes}] if passes else []
        for name, one in (("calibration", calibration_of(cell)), ("corpus_bleu", corpus_bleu_of(cell))):
            told[name] += [where | one] if one else []
    metrics = [*metrics_of(run)]
    return told | ({"metrics": metrics} if metrics else {})


def _order(run: JournaledRun) -> Callable[[Told], tuple[int, ...]]:
    """Put cells in the order of a run: evaluator, candidate, task model, split."""
    axes: dict[str, list[Any]] = {
        "evaluator": run.evaluators,
        "candidate": run.candidates,
        "task_model": run.task_models,
        "split": list(run.splits),
    }
    return lambda told: tuple(axis.index(told[name]) for name, axis in axes.items())


def _against_baseline(
    run: JournaledRun, means: dict[Where, dict[str, Values]]
) -> dict[tuple[Where, str], Told]:
    """Compare with the baseline, as scored and, where either failed, with failures as scores."""
    others = [name for name in run.candidates if name != run.baseline]
    keys = [(where, name) for where in means for name in others]

    def family(key: tuple[Where, str]) -> tuple[str, bool]:
        where, split = key[0], key[0][2]
        return split, where == (*run.primary, run.deciding)

    def also(keys: Sequence[tuple[Where, str]]) -> tuple[int, bool]:
        return run.also_tried([where for where, _ in keys])

    many = _sizes(keys, family, also)

    def against(key: tuple[Where, str], before: Values, after: Values) -> Told:
        return compare(before, after, run, key[0][2], family=many[key])

    plain = {key: against(key, means[key[0]][run.baseline], means[key[0]][key[1]]) for key in keys}
    done = correct(plain, family, also)
    cells = {key: (run.cells[*key[0], run.baseline], run.cells[*key[0], key[1]]) for key in keys}
    alone = {key: one_sided(*pair) for key, pair in cells.items()}
    failing = [key for key, (a, b) in cells.items() if a.failed or b.failed or alone[key]]
    for end, score in (("at_worst", 1.0), ("at_zero", 0.0)):
        substituted = dict(plain)
        for key in failing:
            a, b = cells[key]
            before, after = a.counted_as(score, b), b.counted_as(0.0, a)
            if before is not None and after is not None:
                substituted[key] = against(key, before, after) | {"is_other": True}
        held = correct(substituted, family, also)
        done |= {key: done[key] | {end: held[key] if held[key].get("is_other") else None} for key in failing}
    over_all = {
        key: against(key, *([numerics.average(one) for one in cell.whole] for cell in pair))
        for key, pair in cells.items()
        if are_ruled_apart(*pair)
    }
    _put_over_all_rows(done, over_all, correct(plain | over_all, family, also))
    for key in failing:
        done[key] = done[key] | {"despite_failures": _despite(done[key])}
        if alone[key]:
            done[key]["skipped_for_one"] = alone[key]
    return done


def _put_over_all_rows(done: dict[Any, Told], over_all: dict[Any, Told], corrected: dict[Any, Told]) -> None:
    for key in over_all:
        done[key] = done[key] | {"over_all_rows": {name: corrected[key][name] for name in OF_ALL_ROWS}}


def _sizes(keys: list[Any], family: Callable[[Any], Any], also: Callable[[Any], Any]) -> dict[Any, int]:
    """Count for each comparison how many it is corrected for."""
    families: dict[Any, list[Any]] = {}
    for key in keys:
        families.setdefault(family(key), []).append(key)
    sizes: dict[Any, int] = {}
    for together in families.values():
        others, _ = also(together)
        sizes |= dict.fromkeys(together, len(together) + others)
    return sizes


def _despite(d: Told) -> str:
    worst, zero = d["at_worst"], d["at_zero"]
    if worst is None or zero is None:
        return "unbounded"
    if worst["mark"] == "better":
        return "surely"
    return "if_both_count_as_zero" if zero["mark"] == "better" else "no"


def _row(run: JournaledRun, called: tuple[str, str | None], name: str, against: Any, groups: Any) -> Told:
    wheres = {split: (*called, split) for split in run.splits_for(called[0])}
    splits = {split: split_numbers(run.cells[*where, name], run, split) for split, where in wheres.items()}
    row: Told = {
        "candidate": name,
        "evaluator": called[0],
        "task_model": called[1],
        "gap": gap_numbers(splits["train"], splits["val"]) if {"train", "val"} <= splits.keys() else None,
        "splits": {split: {key: s[key] for key in s if key != "df"} for split, s in splits.items()},
        "vs_baseline": None,
        "overfit": None,
        "groups": groups.get((called, name), {}),
        "worst": _worst(run, called, name),
    }
    if name != run.baseline:
        row["vs_baseline"] = {
            split: _d(against[where, name], run, called[0]) for split, where in wheres.items()
        }
    return row


def _worst(run: JournaledRun, called: tuple[str, str | None], name: str) -> list[Told]:
    own = run.splits_for(called[0])
    split = run.deciding if run.deciding in own else own[0]
    cells = [run.cells[*called, split, one] for one in (name, run.baseline)]
    return worst_of(cells[0], cells[1], run.splits[split])


def _d(d: Told, run: JournaledRun, evaluator: str) -> Told:
    told = {key: d[key] for key in (*OF_D, "over_all_rows") if key in d}
    if "despite_failures" in d:
        short = ("diff", "ci", "p", "p_holm")
        ends = {end: d[end] and {key: d[end][key] for key in short} for end in ("at_worst", "at_zero")}
        told |= {"despite_failures": d["despite_failures"], **ends}
        told |= {key: d[key] for key in d if key == "skipped_for_one"}
    margin = run.margins.get(evaluator)
    if margin is not None and d["se"] is not None:
        method, ends90 = _ends90(d, run.seed, is_unit=run.ranges[evaluator] == "unit")
        is_no_worse = ends90[0] >= -margin
        is_equivalent = is_no_worse and ends90[1] <= margin
        told["margin"] = {
            "margin": margin,
            "ci90": ends90,
            "method": method,
            "no_worse": is_no_worse,
            "equivalent": is_equivalent,
        }
    return told


def _ends90(d: Told, seed: int, *, is_unit: bool) -> tuple[str, numerics.Pair]:
    """Give the two bounds at 5 % that a margin is held against, and what they are from."""
    if d["test"] == "mcnemar":
        return "tango", numerics.score_ends(d["wins"], d["losses"], d["n_pairs"])
    if not is_unit:
        return "t", numerics.around(d["diff"], d["se"], d["df"], 0.95) or (d["diff"], d["diff"])
    totals, sizes = d["of_units"]
    largest, mean_size = max(sizes), sum(sizes) / len(sizes)
    low = numerics.bet_low([total / largest for total in totals], seed)
    high = -numerics.bet_low([-total / largest for total in totals], seed)
    return "betting", (low * largest / mean_size, high * largest / mean_size)


def _lose(run: JournaledRun, rows: list[Told], against: dict[tuple[Where, str], Told]) -> None:
    """Compute what of each gain is lost from train to val; all of them are one family."""
    if not {"train", "val"} <= run.splits.keys():
        return
    found: list[tuple[Told, Told, Told, Told]] = []
    for row in (one for one in rows if one["vs_baseline"]):
        called = row["evaluator"], row["task_model"]
        train, val = (against[(*called, split), row["candidate"]] for split in ("train", "val"))
        gap = gap_of(train, val, "diff")
        if gap:
            gap["p"] = gap["p"] if gap["p"] is not None else train["p"] if gap["value"] > 0 else 1.0
            found.append((row, train, val, gap))
    for (row, train, val, gap), p in zip(found, numerics.holm([one[3]["p"] for one in found]), strict=True):
        ratio = None
        if is_gain(train):
            ratio = numerics.fieller(estimate(train), estimate(val), len(run.candidates) - 1)
        can_be_told = all(numerics.is_decidable(one["units"], 1) for one in (train, val))
        row["overfit"] = {
            **{key: gap[key] for key in ("value", "se", "ci", "p")},
            "df": gap["df"] if math.isfinite(gap["df"]) else None,
            "p_holm": p,
            "flag": p < numerics.ALPHA and can_be_told and gap["value"] > 0,
            "carry_over": ratio and {"share": ratio[0], "ci": ratio[1]},
            "state": _state(run, row, (train, val), gap, p, ratio) if can_be_told else None,
        }


def _state(run: JournaledRun, row: Told, d: tuple[Told, Told], gap: Told, p: float, ratio: Any) -> str:
    train, val = d
    if not is_gain(train):
        return "no_gain"
    if p < numerics.ALPHA and gap["value"] > 0 and (gap["ci"] is None or gap["ci"][0] > 0):
        return "part_lost" if is_gain(val) else "overfits"
    is_kept = is_share_kept(ratio) and (ratio[1] is not None or is_gain(val))
    called = row["evaluator"], row["task_model"]
    is_open = doubted(run.leaks, run.deciding) or any(
        a.failed or b.failed or one_sided(a, b)
        for split in ("train", "val")
        for a, b in [[run.cells[*called, split, name] for name in (run.baseline, row["candidate"])]]
    )
    return "kept" if is_kept and not is_open else "undecided"


def _pairs(run: JournaledRun, where: Where, values: dict[str, Values], against: Any) -> list[Told]:
    names = list(combinations(run.candidates, 2))
    if len(names) > _MOST_PAIRS:
        return []
    found = {
        (a, b): against[where, b] if a == run.baseline else compare(values[a], values[b], run, where[2])
        for a, b in names
    }
    others, can_confirm = run.also_tried([where])
    more = math.comb(len(run.candidates) + others, 2) - len(names)
    told = held_differences(
        found,
        {(a, b): (run.cells[*where, a], run.cells[*where, b]) for a, b in names},
        lambda _, before, after: compare(before, after, run, where[2]),
        lambda plain: correct(plain, lambda _: 0, lambda _: (more, can_confirm)),
    )
    axes = dict(zip(("evaluator", "task_model", "split"), where, strict=True))
    return [
        {"a": a, "b": b, **axes, **{key: d[key] for key in OF_D}, **d["beside"], "mark": mark_as_held(d)}
        for (a, b), d in told.items()
    ]


def _groups(run: JournaledRun, means: dict[Where, dict[str, Values]]) -> dict[Any, Told]:
    """Compute each group's means and differences; the groups of a field in a split are a family."""
    found: dict[Any, Told] = {}
    told: dict[Any, Told] = {}
    parts: dict[Any, list[int]] = {}
    for where, of_candidates in means.items():
        split = run.splits[where[2]]
        is_unit = run.ranges[where[0]] == "unit"
        for path in run.group_by:
            for label in sorted({one for other in run.splits.values() for one in other.groups[path]}):
                places = [index for index, one in enumerate(split.groups[path]) if one == label]
                for name, values in of_candidates.items():
                    own: Values = [None] * len(values)
                    for place in places:
                        own[place] = values[place]
                    s = mean_of(own, split.labels, is_clustered=split.is_clustered, is_unit=is_unit)
                    group = told.setdefault((where[:2], name), {}).setdefault(f"{path}={label}", _empty())
                    group["splits"][split.name] = {key: s[key] for key in s if key != "df"}
                    if name != run.baseline:
                        parts[where, name, path, label] = places
    many = Counter((where[2], path) for where, _, path, _ in parts)
    for (where, name, path, label), places in parts.items():
        pair = means[where][run.baseline], means[where][name]
        d = compare(*pair, run, where[2], places, many[where[2], path])
        found[where, name, path, label] = d
    for (where, name, path, label), d in correct(found, lambda key: (key[0][2], key[2])).items():
        group = told[where[:2], name][f"{path}={label}"]
        group["vs_baseline"][where[2]] = {key: d[key] for key in OF_D}
    return told


def _empty() -> Told:
    return {"splits": {}, "vs_baseline": {}}


def _units(run: JournaledRun) -> dict[str, int]:
    counts = {
        name: run.apart[name] + sum(getattr(cell, name) for cell in run.cells.values())
        for name in ("scored", "failed", "skipped")
    }
    return {"total": run.size, **counts, "owed": run.size - sum(counts.values())}


def _skips(run: JournaledRun) -> list[Told]:
    """List what cells skipped, apart from what rules left out: how many, which lines, the first reason."""
    told = []
    for key, cell in run.cells.items():
        where = dict(zip(("evaluator", "task_model", "split", "candidate"), key, strict=True))
        lines = run.splits[key[2]].lines
        places = [(line, *why) for line, whys in zip(lines, cell.skips, strict=True) for why in whys]
        kinds = dict.fromkeys(bool(rules) for *_, rules in places)
        told += [where | _skipped([one for one in places if bool(one[2]) == kind]) for kind in kinds]
    return sorted(told, key=_order(run))


def _skipped(places: list[tuple[Any, str, list[str]]]) -> Told:
    rules = Counter(rule for *_, rules in places for rule in rules)
    return {
        "count": len(places),
        "first_message": places[0][1],
        "lines": [*dict.fromkeys(line for line, *_ in places)][:_MOST_LINES],
        **({"excluded_by": dict(rules)} if rules else {}),
    }
