"""Everything of summary.json that a decision hangs on, in its shape, from the journal alone."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations, product
from typing import Any

from optimize_eval.audit import numerics
from optimize_eval.audit.axes import Record
from optimize_eval.audit.ballots import votes_of
from optimize_eval.audit.claims import claims_of, is_share_kept, verdict_of
from optimize_eval.audit.compared import (
    OF_D,
    compare,
    correct,
    estimate,
    gap_numbers,
    gap_of,
    held_differences,
    is_gain,
    mark_as_held,
    mean_of,
    sizes,
    split_numbers,
)
from optimize_eval.audit.journaled import JournaledRun, Series, Values, Where, by_axis
from optimize_eval.audit.judged import people_of, verdict_by_people
from optimize_eval.audit.rows_left_out import is_doubted
from optimize_eval.audit.said import (
    calibration_of,
    corpus_bleu_of,
    failures_of,
    metrics_of,
    passes_of,
    replies_of,
    worst_of,
)
from optimize_eval.audit.stability import stability_of

Against = tuple[Where, str]  # and who is compared there
Means = dict[Where, dict[str, Values]]
Group = tuple[Where, str, str, str]  # candidate, field, its value

_MOST_PAIRS = 2000
_MOST_LINES = 20
_SUMS = ("prompt_tokens", "completion_tokens", "cost", "seconds")
_OF_REPLY = ("of", "reply")  # of a call that made a reply, which counts for no evaluator


def expected(run: JournaledRun) -> Record:
    """Compute the parts of a summary that can be derived a second time."""
    means = {where: {name: run.cells[*where, name].means for name in run.candidates} for where in run.wheres}
    against = _against_baseline(run, means)
    groups = _groups(run, means)
    series = product(run.evaluators, run.axes.task_models)
    rows = [_row(run, pair, name, against, groups) for pair, name in product(series, run.candidates)]
    _lose(run, rows, against)
    pairs = [d for where in run.wheres for d in _pairs(run, where, means[where], against)]
    primary = [row for row in rows if (row["evaluator"], row["task_model"]) == run.primary]
    decisive = [d for d in pairs if (d["evaluator"], d["task_model"], d["split"]) == run.decides]
    claims = claims_of(primary, decisive, run)
    winner = claims.pop("winner")
    if run.searched.get("decides") == "test":
        winner = next(row for row in primary if row["vs_baseline"])
    tries = run.count_tries(winner and winner["candidate"])
    people = people_of(run, rows)
    return {
        "baseline": run.axes.baseline,
        "decided_on": run.deciding,
        "score_ranges": run.ranges,
        "margins": run.axes.settings.get("margins", {}),
        "judges": {entry["name"]: entry["judge"]["model"] for entry in run.kept if entry.get("judge")},
        "units": _units(run),
        "rows": rows,
        "pairs": pairs,
        **claims,
        "leakage": run.leaks,
        "duplicates": {name: split.copies for name, split in run.splits.items() if split.copies},
        "clusters": {
            name: len(set(split.labels)) for name, split in run.splits.items() if split.is_clustered
        },
        "changed": run.changed,
        **({"skips": skips} if (skips := _skips(run)) else {}),
        "replies": sorted(replies_of(run), key=_order(run)),
        "pairs_left_out": _pairs_left_out(run),
        "additions_left_out": run.left_out,
        **_by_cell(run),
        "verdict": verdict_by_people(
            verdict_of(primary, claims | {"winner": winner}, run, tries), people, primary, run
        ),
        **({"tried": tries} if tries else {}),
        "journal": run.end,
        **_models_compared(run, means),
        "spent": spent_of(run.calls) if run.calls else None,
        **({"stability": stability} if (stability := stability_of(run)) else {}),
        **({"people": people} if people else {}),
        **votes_of(run),
    }


def _models_compared(run: JournaledRun, means: Means) -> Record:
    """Compare each model with the first one, which are families apart from the candidates'."""
    first, *others = run.axes.task_models
    if not run.axes.models or run.own_splits or not others:
        return {}
    keys = [
        ((evaluator, model, split), name)
        for evaluator, name, model, split in product(run.evaluators, run.candidates, others, run.splits)
    ]
    decisive = (run.evaluators[0], run.deciding)

    def family(key: Against) -> tuple[str, bool]:
        return key[0][2], (key[0][0], key[0][2]) == decisive

    def also(keys: Sequence[Against]) -> tuple[int, bool]:
        more, _ = run.also_tried([where for where, _ in keys])
        return more, not (family(keys[0])[1] and run.is_steered)

    many = sizes(keys, family, also)
    firsts = {key: (key[0][0], first, key[0][2]) for key in keys}

    def against(key: Against, before: Values, after: Values) -> Record:
        return compare(before, after, run, key[0][2], family=many[key])

    held = held_differences(
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
        for (where, name), d in held.items()
    ]
    return {"models": pairs}


def spent_of(calls: list[Record]) -> Record:
    axes = {"models": "model", "evaluators": "evaluator", "candidates": "candidate"}
    spent: Record = {"run": _total(calls)}
    for axis, key in axes.items():
        theirs = [call for call in calls if key != "evaluator" or _OF_REPLY not in call.items()]
        names = sorted({call[key] for call in theirs})
        spent[axis] = {name: _total([call for call in theirs if call[key] == name]) for name in names}
    return spent


def _total(calls: list[Record]) -> Record:
    tokens = ("prompt_tokens", "completion_tokens")
    estimated = sum("estimated" in call for call in calls)
    return {
        "calls": len(calls),
        "without_tokens": sum(any(key not in call for key in tokens) for call in calls),
        "without_cost": sum("cost" not in call for call in calls),
        **{key: math.fsum(call.get(key, 0) for call in calls) for key in _SUMS},
        **({"estimated": estimated} if estimated else {}),
    }


def _pairs_left_out(run: JournaledRun) -> int:
    many = math.comb(len(run.candidates), 2)
    return many if many > _MOST_PAIRS else 0


def _by_cell(run: JournaledRun) -> Record:
    """Tell what is listed cell by cell, besides skips and replies."""
    cells: Record = {"failures": [], "passes": [], "calibration": [], "corpus_bleu": []}
    for key in run.cells_in_order:
        where, cell, split = by_axis(key), run.cells[key], run.splits[key[2]]
        cells["failures"] += [where | failure for failure in failures_of(cell, split)]
        passes = passes_of(cell, split.labels, is_clustered=split.is_clustered)
        cells["passes"] += [where | {"by_k": passes}] if passes else []
        for name, document in (("calibration", calibration_of(cell)), ("corpus_bleu", corpus_bleu_of(cell))):
            cells[name] += [where | document] if document else []
    metrics = [*metrics_of(run)]
    return cells | ({"metrics": metrics} if metrics else {})


def _order(run: JournaledRun) -> Callable[[Record], tuple[int, ...]]:
    """Put cells in the order of a run: evaluator, candidate, task model, split."""
    axes: dict[str, list[Any]] = {
        "evaluator": run.evaluators,
        "candidate": run.candidates,
        "task_model": run.axes.task_models,
        "split": list(run.splits),
    }
    return lambda told: tuple(axis.index(told[name]) for name, axis in axes.items())


def _against_baseline(run: JournaledRun, means: Means) -> dict[Against, Record]:
    """Compare with the baseline, as scored and, where either failed, with failures as scores."""
    baseline = run.axes.baseline
    keys = [(where, name) for where, name in product(means, run.candidates) if name != baseline]

    def family(key: Against) -> tuple[str, bool]:
        return key[0][2], key[0] == run.decides

    def also(keys: Sequence[Against]) -> tuple[int, bool]:
        return run.also_tried([where for where, _ in keys])

    many = sizes(keys, family, also)

    def against(key: Against, before: Values, after: Values) -> Record:
        return compare(before, after, run, key[0][2], family=many[key])

    return held_differences(
        {key: against(key, means[key[0]][baseline], means[key[0]][key[1]]) for key in keys},
        {key: run.against_baseline(*key) for key in keys},
        against,
        lambda plain: correct(plain, family, also),
        is_gain_wanted=True,
    )


def _row(run: JournaledRun, series: Series, name: str, against: dict[Against, Record], groups: Any) -> Record:
    wheres: dict[str, Where] = {split: (*series, split) for split in run.splits_for(series[0])}
    splits = {split: split_numbers(run.cells[*where, name], run, split) for split, where in wheres.items()}
    row: Record = {
        "candidate": name,
        "evaluator": series[0],
        "task_model": series[1],
        "gap": gap_numbers(splits["train"], splits["val"]) if {"train", "val"} <= splits.keys() else None,
        "splits": {split: _without_df(numbers) for split, numbers in splits.items()},
        "vs_baseline": None,
        "overfit": None,
        "groups": groups.get((series, name), {}),
        "worst": _worst(run, series, name),
    }
    if name != run.axes.baseline:
        row["vs_baseline"] = {
            split: _difference(against[where, name], run, series[0]) for split, where in wheres.items()
        }
    return row


def _without_df(numbers: Record) -> Record:
    return {key: value for key, value in numbers.items() if key != "df"}


def _worst(run: JournaledRun, series: Series, name: str) -> list[Record]:
    own = run.splits_for(series[0])
    split = run.deciding if run.deciding in own else own[0]
    baseline, cell = run.against_baseline((*series, split), name)
    return worst_of(cell, baseline, run.splits[split])


def _difference(d: Record, run: JournaledRun, evaluator: str) -> Record:
    difference: Record = {key: d[key] for key in OF_D} | d["beside"]
    margin = run.axes.settings.get("margins", {}).get(evaluator)
    if margin is not None and d["se"] is not None:
        method, ends90 = _ends90(d, run.axes.seed, is_unit=run.ranges[evaluator] == "unit")
        is_no_worse = ends90[0] >= -margin
        difference["margin"] = {
            "margin": margin,
            "ci90": ends90,
            "method": method,
            "no_worse": is_no_worse,
            "equivalent": is_no_worse and ends90[1] <= margin,
        }
    return difference


def _ends90(d: Record, seed: int, *, is_unit: bool) -> tuple[str, numerics.Pair]:
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


def _lose(run: JournaledRun, rows: list[Record], against: dict[Against, Record]) -> None:
    """Compute what of each gain is lost from train to val; all of them are one family."""
    if not {"train", "val"} <= run.splits.keys():
        return
    lost: list[tuple[Record, Record, Record, Record]] = []
    for row in rows:
        if row["vs_baseline"]:
            series = row["evaluator"], row["task_model"]
            train, val = (against[(*series, split), row["candidate"]] for split in ("train", "val"))
            if gap := gap_of(train, val, "diff"):
                gap["p"] = gap["p"] if gap["p"] is not None else train["p"] if gap["value"] > 0 else 1.0
                lost.append((row, train, val, gap))
    corrected = numerics.holm([gap["p"] for *_, gap in lost])
    for (row, train, val, gap), p in zip(lost, corrected, strict=True):
        ratio = None
        if is_gain(train):
            ratio = numerics.fieller(estimate(train), estimate(val), len(run.candidates) - 1)
        can_be_told = all(numerics.is_decidable(d["units"], 1) for d in (train, val))
        row["overfit"] = {
            **{key: gap[key] for key in ("value", "se", "ci", "p")},
            "df": gap["df"] if math.isfinite(gap["df"]) else None,
            "p_holm": p,
            "flag": p < numerics.ALPHA and can_be_told and gap["value"] > 0,
            "carry_over": ratio and {"share": ratio[0], "ci": ratio[1]},
            "state": _state(run, row, (train, val), gap, p, ratio) if can_be_told else None,
        }


def _state(
    run: JournaledRun, row: Record, d: tuple[Record, Record], gap: Record, p: float, ratio: Any
) -> str:
    train, val = d
    if not is_gain(train):
        return "no_gain"
    if p < numerics.ALPHA and gap["value"] > 0 and (gap["ci"] is None or gap["ci"][0] > 0):
        return "part_lost" if is_gain(val) else "overfits"
    is_kept = is_share_kept(ratio) and (ratio[1] is not None or is_gain(val))
    is_open = is_doubted(run.leaks, run.deciding) or run.is_open(
        (row["evaluator"], row["task_model"]), row["candidate"]
    )
    return "kept" if is_kept and not is_open else "undecided"


def _pairs(
    run: JournaledRun, where: Where, values: dict[str, Values], against: dict[Against, Record]
) -> list[Record]:
    if _pairs_left_out(run):
        return []
    names = list(combinations(run.candidates, 2))
    plain = {
        (a, b): against[where, b] if a == run.axes.baseline else compare(values[a], values[b], run, where[2])
        for a, b in names
    }
    others, can_confirm = run.also_tried([where])
    more = math.comb(len(run.candidates) + others, 2) - len(names)
    held = held_differences(
        plain,
        {(a, b): (run.cells[*where, a], run.cells[*where, b]) for a, b in names},
        lambda _, before, after: compare(before, after, run, where[2]),
        lambda plain: correct(plain, lambda _: 0, lambda _: (more, can_confirm)),
    )
    return [
        {
            "a": a,
            "b": b,
            **by_axis(where),
            **{key: d[key] for key in OF_D},
            **d["beside"],
            "mark": mark_as_held(d),
        }
        for (a, b), d in held.items()
    ]


def _groups(run: JournaledRun, means: Means) -> dict[tuple[Series, str], Record]:
    """Compute each group's means and differences; the groups of a field in a split are a family."""
    groups: dict[tuple[Series, str], Record] = {}
    parts: dict[Group, list[int]] = {}
    for (where, name), path in product(product(means, run.candidates), run.axes.group_by):
        of, values = run.splits[where[2]], means[where][name]
        for label in sorted({label for split in run.splits.values() for label in split.groups[path]}):
            places = [index for index, own in enumerate(of.groups[path]) if own == label]
            own: Values = [value if of.groups[path][at] == label else None for at, value in enumerate(values)]
            is_unit = run.ranges[where[0]] == "unit"
            mean = mean_of(own, of.labels, is_clustered=of.is_clustered, is_unit=is_unit)
            of_name = groups.setdefault((where[:2], name), {})
            group = of_name.setdefault(f"{path}={label}", {"splits": {}, "vs_baseline": {}})
            group["splits"][of.name] = _without_df(mean)
            if name != run.axes.baseline:
                parts[where, name, path, label] = places

    def family(key: Group) -> tuple[str, str]:
        return key[0][2], key[2]

    many, plain = sizes([*parts], family), {}
    for key, places in parts.items():
        where, name, *_ = key
        pair = means[where][run.axes.baseline], means[where][name]
        plain[key] = compare(*pair, run, where[2], places, many[key])
    for (where, name, path, label), d in correct(plain, family).items():
        group = groups[where[:2], name][f"{path}={label}"]
        group["vs_baseline"][where[2]] = {key: d[key] for key in OF_D}
    return groups


def _units(run: JournaledRun) -> dict[str, int]:
    counts = {
        name: run.apart[name] + sum(getattr(cell, name) for cell in run.cells.values())
        for name in ("scored", "failed", "skipped")
    }
    return {"total": run.size, **counts, "owed": run.size - sum(counts.values())}


def _skips(run: JournaledRun) -> list[Record]:
    """List what cells skipped, apart from what rules left out: how many, which lines, the first reason."""
    listed: list[Record] = []
    for key, cell in run.cells.items():
        examples = zip(run.splits[key[2]].lines, cell.examples, strict=True)
        skips = [(line, *why) for line, example in examples for why in example.skips]
        kinds = dict.fromkeys(bool(rules) for *_, rules in skips)
        listed += [
            by_axis(key) | _count_skips([skip for skip in skips if bool(skip[2]) == kind]) for kind in kinds
        ]
    return sorted(listed, key=_order(run))


def _count_skips(skips: list[tuple[Any, str, list[str]]]) -> Record:
    rules = Counter(rule for *_, names in skips for rule in names)
    return {
        "count": len(skips),
        "first_message": skips[0][1],
        "lines": [*dict.fromkeys(line for line, *_ in skips)][:_MOST_LINES],
        **({"excluded_by": dict(rules)} if rules else {}),
    }
