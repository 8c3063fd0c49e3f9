"""How far judges agree with people, by counts of pairs, and what remains of means without a judge's error."""

import hashlib
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

from optimize_eval.audit import numerics
from optimize_eval.audit.axes import Record
from optimize_eval.audit.journaled import JournaledRun

Series = tuple[str, str | None, str]  # candidate, task model, split
Pair = tuple[float, float]

_FEWEST = 20
_DRAWS, _MOST_DRAWN, _FEWEST_DRAWS = 2000, 2_000_000, 200


@dataclass
class _Row:
    """An example that has a label, and a score of the judge's."""

    series: Series
    index: int
    cluster: tuple[str, Any]
    score: float
    said: list[float]
    raters: list[str]
    is_chosen: bool
    weight: float

    @property
    def error(self) -> float:
        return sum(self.said) / len(self.said) - self.score


def people_of(run: JournaledRun, rows: Sequence[Record]) -> list[Record]:
    """Compute for each judge how far it agrees, in the order of run.json."""
    entries = []
    for name, entry in run.axes.settings.get("people", {}).items():
        labelled = _rows(run, name, entry) if name in run.evaluators else {}
        if any(labelled.values()):
            entries.append(_entry(run, name, entry, labelled, rows))
    return entries


def _rows(run: JournaledRun, judge: str, entry: Record) -> dict[Series, list[_Row]]:
    """Find what labels are of, and weigh them by how likely each was."""
    cells: dict[Series, dict[int, Record]] = {}
    for label in entry.get("labels", ()):
        series = label["candidate"], label.get("task_model"), label["split"]
        if _is_there(run, judge, series) and label["line"] in run.splits[series[2]].lines:
            index = run.splits[series[2]].lines.index(label["line"])
            if label["of"] == _digest(run, series, label["line"]):
                cells.setdefault(series, {})[index] = label
    known = {
        (cell["candidate"], cell.get("task_model"), cell["split"]): cell.get("chances", {})
        for cell in entry.get("asked", ())
    }
    return {
        series: _weigh(run, judge, series, labels, known.get(series, {})) for series, labels in cells.items()
    }


def _is_there(run: JournaledRun, judge: str, series: Series) -> bool:
    candidate, model, split = series
    return candidate in run.candidates and (judge, model, split) in run.wheres


def _digest(run: JournaledRun, series: Series, line: int | None) -> str:
    candidate = next(entry for entry in run.axes.candidates if entry["name"] == series[0])
    text = candidate.get("sha256", "")
    if candidate.get("field"):
        text = hashlib.sha256(f"field {candidate['field']}".encode()).hexdigest()
    models = {model["name"]: model["sha256"] for model in run.axes.models}
    split = next(split for split in run.axes.splits if split["name"] == series[2])
    example = dict(zip(split["lines"], split["sha256"], strict=True))[line]
    parts = [text, models.get(series[1], series[1] or ""), series[2], example]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _weigh(
    run: JournaledRun, judge: str, series: Series, labels: dict[int, Record], chances: Record
) -> list[_Row]:
    candidate, model, split = series
    means, own = run.cells[judge, model, split, candidate].means, run.splits[split]
    known = [(index, labels[index]) for index in sorted(labels) if means[index] is not None]
    is_chosen = all(chances.get(str(label["line"])) for _, label in known)
    return [
        _Row(
            series,
            index,
            (split, own.labels[index]),
            means[index] or 0.0,
            [*label["said"].values()],
            [*label["said"]],
            is_chosen,
            1 / chances[str(label["line"])] if is_chosen else 1.0,
        )
        for index, label in known
    ]


def _entry(
    run: JournaledRun, judge: str, entry: Record, labelled: dict[Series, list[_Row]], rows: Sequence[Record]
) -> Record:
    every = [row for part in labelled.values() for row in part]
    levels = entry.get("levels", [])
    clusters = _by_cluster(every)
    kind = "kappa" if entry["kind"] == "names" else "quadratic_kappa" if levels else "alpha"
    pairs = [[(_nearest(row.score, levels), said) for row in part for said in row.said] for part in clusters]
    statistic = {"kappa": _kappa, "quadratic_kappa": _quadratic, "alpha": interval_alpha}[kind]
    value = statistic([pair for part in pairs for pair in part])
    raters = {who for row in every for who in row.raters}
    entries = {
        "evaluator": judge,
        "kind": kind,
        "value": value,
        "ci": None if value is None else bootstrap(pairs, statistic, run.axes.seed),
        "labels": len(every),
        "raters": sorted(raters),
        "bias": _bias(every),
        "corrected": [*_correct_cells(run, judge, entry, labelled, rows)],
    }
    if len(raters) > 1 and (ceiling := _ceiling(clusters, entry["kind"], run.axes.seed)):
        entries["ceiling"] = ceiling
    asked = {(cell["candidate"], cell.get("task_model"), cell["split"]) for cell in entry.get("asked", ())}
    is_chosen = {*labelled} <= asked and all(row.is_chosen for row in every)
    entries |= {"chosen": True} if is_chosen else {}
    return entries | ({"looks": entry["looks"]} if entry.get("looks") else {})


def _by_cluster(rows: Sequence[_Row]) -> list[list[_Row]]:
    clusters: dict[Any, list[_Row]] = {}
    for row in rows:
        clusters.setdefault(row.cluster, []).append(row)
    return [*clusters.values()]


def _nearest(score: float, levels: Sequence[float]) -> float:
    best = score if not levels else levels[-1]
    for level in reversed(levels):
        best = level if abs(level - score) < abs(best - score) else best
    return best


def _agreement(pairs: Sequence[Any], distance: Callable[[float, float], float]) -> float | None:
    """Compare the distances of pairs with those of every first one to every second one."""
    firsts, seconds = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    seen = math.fsum(distance(a, b) for a, b in pairs) / len(pairs)
    by_chance = (
        math.fsum(distance(a, b) * n * m for (a, n), (b, m) in product(firsts.items(), seconds.items()))
        / len(pairs) ** 2
    )
    return 1 - seen / by_chance if by_chance else None


def _kappa(pairs: Sequence[Any]) -> float | None:
    return _agreement(pairs, lambda a, b: float(a != b))


def _quadratic(pairs: Sequence[Any]) -> float | None:
    return _agreement(pairs, lambda a, b: (a - b) ** 2)


def _alpha(units: Sequence[Sequence[float]], *, are_names: bool) -> float | None:
    """Give alpha of names that differ, or of squared distances: within units, and of all that was said."""
    units = [unit for unit in units if len(unit) > 1]
    said = [value for unit in units for value in unit]
    if len(set(said)) < 2:  # noqa: PLR2004
        return None
    seen = math.fsum(_apart(unit, are_names=are_names) / (len(unit) - 1) for unit in units) / len(said)
    return 1 - seen / (_apart(said, are_names=are_names) / len(said) / (len(said) - 1))


def _apart(values: Sequence[float], *, are_names: bool) -> float:
    counts = Counter(values)
    if are_names:
        return sum(n * (len(values) - n) for n in counts.values())
    middle = math.fsum(values) / len(values)
    return 2 * len(values) * math.fsum((value - middle) ** 2 for value in values)


def interval_alpha(units: Sequence[Any]) -> float | None:
    return _alpha(units, are_names=False)


def _nominal_alpha(units: Sequence[Any]) -> float | None:
    return _alpha(units, are_names=True)


def _ceiling(clusters: Sequence[Sequence[_Row]], kind: str, seed: int) -> Record | None:
    statistic = _nominal_alpha if kind == "names" else interval_alpha
    units = [[row.said for row in part] for part in clusters]
    value = statistic([unit for part in units for unit in part])
    return None if value is None else {"value": value, "ci": bootstrap(units, statistic, seed)}


def bootstrap(
    clusters: Sequence[Sequence[Any]], statistic: Callable[[Sequence[Any]], float | None], seed: int
) -> Pair | None:
    """Draw clusters again and again, with the random numbers that say which."""
    size = sum(len(part) for part in clusters)
    times = max(_FEWEST_DRAWS, min(_DRAWS, _MOST_DRAWN // size))
    draw, many = random.Random(seed), len(clusters)  # noqa: S311
    values = []
    for _ in range(times):
        chosen = [clusters[math.floor(draw.random() * many)] for _ in range(many)]
        values.append(statistic([part for cluster in chosen for part in cluster]))
    known = sorted(value for value in values if value is not None)
    cut = int(0.025 * len(known))
    return (known[cut], known[len(known) - 1 - cut]) if 2 * len(known) >= times else None


def _bias(rows: Sequence[_Row]) -> Record | None:
    of_all = [(index, -row.error, row.weight) for index, row in enumerate(rows)]
    bias = _correct([0.0] * len(rows), [(1.0, of_all)], [row.cluster for row in rows], 0.0, 1)
    return bias and {"mean": bias["mean"], "ci": bias["ci"]}


def _correct(
    judged: Sequence[float],
    sides: Sequence[tuple[float, Sequence[tuple[int, float, float]]]],
    labels: Sequence[Any],
    step: float,
    times: int,
) -> Record | None:
    """Add mean errors to a judge's mean; each example's part in that sum tells how it varies."""
    n = len(judged)
    units = [len({labels[index] for index, _, _ in rows}) for _, rows in sides]
    if min(units) < 2:  # noqa: PLR2004
        return None
    mean = middle = math.fsum(judged) / n
    deviations = [value - mean for value in judged]
    variance = 0.0
    for (sign, rows), many in zip(sides, units, strict=True):
        whole = math.fsum(weight for _, _, weight in rows)
        error = math.fsum(weight * far for _, far, weight in rows) / whole
        added = 2 * (1 - len(rows) / n) if step else 0.0
        kept = many / (many + added)
        few = 1.0 if len(rows) == n else math.sqrt(many / (many - 1))
        for index, far, weight in rows:
            deviations[index] += sign * (far - error) * weight / whole * n * few * kept
        mean += sign * error
        middle += sign * error * kept
        variance += added * step**2 / (many + added) ** 2
    off = math.fsum(deviations) / n
    sums = numerics.by_label([value - off for value in deviations], labels)
    variance += math.fsum(part**2 for part in sums) * len(sums) / (len(sums) - 1) / n**2
    reach = numerics.quantile(1 - 0.025 / times, min(units) - 1) * math.sqrt(variance)
    return {"mean": mean, "se": math.sqrt(variance), "ci": (middle - reach, middle + reach)}


def _correct_cells(
    run: JournaledRun, judge: str, entry: Record, labelled: dict[Series, list[_Row]], rows: Sequence[Record]
) -> Any:
    levels = entry.get("levels", [])
    step = min((b - a for a, b in pairwise(levels)), default=0.0)

    def correct(split: str, judged: dict[int, float], sides: Any, times: int = 1) -> Record | None:
        at = {index: number for number, index in enumerate(judged)}
        errors = [
            (sign, [(at[row.index], row.error, row.weight) for row in part if row.index in at])
            for sign, part in sides
        ]
        if min(len(part) for _, part in errors) < _FEWEST:
            return None
        return _correct(
            [*judged.values()], errors, [run.labels(split)[index] for index in judged], step, times
        )

    def means(series: Series) -> list[float | None]:
        return run.cells[judge, series[1], series[2], series[0]].means

    for series, part in labelled.items():
        own = {index: mean for index, mean in enumerate(means(series)) if mean is not None}
        corrected = correct(series[2], own, [(1.0, part)])
        if not corrected:
            continue
        entries: Record = dict(zip(("candidate", "task_model", "split"), series, strict=True))
        entries |= {"labels": len(part)} | corrected
        before = run.axes.baseline, series[1], series[2]
        if series[0] != before[0] and before in labelled:
            both = enumerate(zip(means(before), means(series), strict=True))
            gains = {index: b - a for index, (a, b) in both if a is not None and b is not None}
            times = _comparisons(rows, judge, series) * _looks(entry.get("looks", 0))
            d = correct(series[2], gains, [(-1.0, labelled[before]), (1.0, part)], times)
            if d:
                entries["vs_baseline"] = {
                    "diff": d["mean"],
                    "se": d["se"],
                    "ci": d["ci"],
                    "comparisons": times,
                }
        yield entries


def _looks(looks: int) -> int:
    return looks * (looks + 1) if looks > 1 else 1


def _comparisons(rows: Sequence[Record], judge: str, series: Series) -> int:
    row = next(
        row for row in rows if (row["evaluator"], row["candidate"], row["task_model"]) == (judge, *series[:2])
    )
    return int(row["vs_baseline"][series[2]]["comparisons"])


def verdict_by_people(
    verdict: Record, people: Sequence[Record], rows: Sequence[Record], run: JournaledRun
) -> Record:
    """Let what people would say decide, where it can be entries."""
    split = (verdict["by"] or {}).get("from") or run.deciding
    corrected = _on(split, people, run) or _on(run.deciding, people, run)
    state, winner = verdict["state"], verdict["winner"]
    if not corrected or state not in {"better", "worse", "not_shown", "no_difference"}:
        return verdict
    if winner is not None:
        lead = corrected.get(winner)
        return verdict | _without_winner(lead) if lead and lead["ci"][0] <= 0 else verdict
    against = {row["candidate"]: row["vs_baseline"] for row in rows if row["vs_baseline"]}
    sound = [name for name in corrected if not _is_open(against[name][run.deciding])]
    best = max(sound, key=lambda name: corrected[name]["diff"], default=None)
    if best is not None and corrected[best]["ci"][0] > 0 and "test" not in run.splits_for(run.primary[0]):
        d = corrected[best]
        by = {"diff": d["diff"], "ci": d["ci"], "p": None, "from": run.deciding}
        return verdict | {"state": "better", "winner": best, "by": by}
    if state == "worse" and any(d["ci"][1] >= 0 for d in corrected.values()):
        return verdict | _without_winner(corrected[best or next(iter(corrected))])
    return verdict


def _is_open(d: Record) -> bool:
    return "despite_failures" in d or "over_all_rows" in d


def _without_winner(d: Record) -> Record:
    return {"state": "worse" if d["ci"][1] < 0 else "not_shown", "winner": None, "by": None}


def _on(split: str, people: Sequence[Record], run: JournaledRun) -> dict[str, Record]:
    return {
        cell["candidate"]: cell["vs_baseline"]
        for entry in people
        for cell in entry["corrected"]
        if (entry["evaluator"], cell["task_model"], cell["split"]) == (*run.primary, split)
        and "vs_baseline" in cell
    }
