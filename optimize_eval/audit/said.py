"""What else records say: pass rates, failures, stated confidences, counts of BLEU, metrics of tasks."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from optimize_eval.audit.compared import Told, mean_of
from optimize_eval.audit.journaled import CellRecords, JournaledRun, JournaledSplit, Values
from optimize_eval.audit.numerics import Labels

Mean = Callable[[Sequence[Values]], Told]

_ALL_UP_TO = 10
_OF_MEAN = ("mean", "se", "ci", "method", "n")


def passes_of(
    cell: CellRecords, labels: Labels, *, is_clustered: bool, places: Any = slice(None)
) -> list[Told]:
    """Estimate both for each k; nothing unless there are repeats, and all scores are 0 or 1."""
    repeats = repeats_of(cell, places)

    def estimate(values: Sequence[Values]) -> Told:
        told = mean_of(values[0], labels, is_clustered=is_clustered, is_unit=True)
        return {key: told[key] for key in _OF_MEAN}

    return passes_over([repeats], estimate)


def repeats_of(cell: CellRecords, places: Any) -> list[list[float]]:
    scores = cell.scores[places]
    is_graded = any(not {*score} <= {0, 1} for score in scores) or any(cell.unranked_at[places])
    return scores if cell.repeats > 1 and cell.is_unit and not is_graded else []


def passes_over(tasks: Sequence[list[list[float]]], mean: Mean) -> list[Told]:
    there = [examples for examples in tasks if any(examples)]
    most = min((max(map(len, examples)) for examples in there), default=0)
    ks = range(1, most + 1)
    if most > _ALL_UP_TO:
        ks_above = [k for k in ks if k & (k - 1) == 0 or k == most]  # powers of two
        return [_told(k, there, mean) for k in ks_above]
    return [_told(k, there, mean) for k in ks]


def _told(k: int, tasks: Sequence[list[list[float]]], mean: Mean) -> Told:
    any_of, all_of = ([[way(k, one) for one in examples] for examples in tasks] for way in (_any_of, _all_of))
    return {"k": k, "any": mean(any_of), "all": mean(all_of)}


def _any_of(k: int, scores: Sequence[float]) -> float | None:
    failed = scores.count(0)
    return 1 - math.comb(failed, k) / math.comb(len(scores), k) if len(scores) >= k else None


def _all_of(k: int, scores: Sequence[float]) -> float | None:
    return math.comb(scores.count(1), k) / math.comb(len(scores), k) if len(scores) >= k else None


Document = dict[str, Any]
Record = dict[str, Any]

_MOST_LINES, _MOST_WORST = 20, 5
_ORDERS = 4


def failures_of(cell: CellRecords, split: JournaledSplit) -> list[Document]:
    """Group the failures of a cell by kind and stage, in the order of their first."""
    groups: dict[tuple[str, str], Document] = {}
    for line, records in zip(split.lines, cell.records, strict=True):
        for record in records:
            if record["outcome"] != "failed":
                continue
            stage = record.get("stage", "")
            first = {"kind": record["kind"], "count": 0, "first_message": record["message"], "lines": []}
            first |= {"stage": stage} if stage else {}
            group = groups.setdefault((record["kind"], stage), first)
            group["count"] += 1
            if line not in group["lines"] and len(group["lines"]) < _MOST_LINES:
                group["lines"].append(line)
    return list(groups.values())


def worst_of(cell: CellRecords, baseline: CellRecords, split: JournaledSplit) -> list[Document]:
    """List who lost most against the baseline; of the baseline itself its lowest scores."""
    pairs = [
        (index, own, base)
        for index, (own, base) in enumerate(zip(cell.means, baseline.means, strict=True))
        if own is not None
    ]
    if cell is baseline:
        ranked = sorted(pairs, key=lambda one: (one[1], one[0]))
    else:
        lost = [(place, own, base) for place, own, base in pairs if base is not None and own < base]
        ranked = sorted(lost, key=lambda one: (one[1] - (one[2] or 0.0), one[1], one[0]))
    return [
        {"split": split.name, "line": split.lines[place], "score": own, "baseline": base}
        for place, own, base in ranked[:_MOST_WORST]
    ]


def calibration_of(cell: CellRecords) -> Document | None:
    """Hold stated confidences against scores, in ten bins."""
    scored = [one for one in _scored(cell) if one["score"] is not None and cell.is_unit]
    stated = [
        (one["side_info"]["confidence"], one["score"]) for one in scored if "confidence" in one["side_info"]
    ]
    usable = [pair for pair in stated if _is_number(pair[0]) and 0 <= pair[0] <= 1]
    if not usable:
        return None
    bins: dict[int, list[tuple[float, float]]] = {}
    for pair in usable:
        bins.setdefault(min(9, int(pair[0] * 10)), []).append(pair)
    rows = [
        {"low": at / 10, "high": (at + 1) / 10, "n": len(pairs), **_means(pairs)}
        for at, pairs in sorted(bins.items())
    ]
    return {
        "n": len(usable),
        **_means(usable),
        "brier": math.fsum((stated - score) ** 2 for stated, score in usable) / len(usable),
        "ece": math.fsum(row["n"] * abs(row["confidence"] - row["score"]) for row in rows) / len(usable),
        "bins": rows,
        "unusable": len(stated) - len(usable),
    }


def corpus_bleu_of(cell: CellRecords) -> Document | None:
    """Pool the counts of sentences: lengths of output and reference, matches and n-grams of each order."""
    sentences = [one["side_info"].get("bleu_counts") for one in _scored(cell)]
    counts = [sentence for sentence in sentences if _are_counts(sentence)]
    if not counts:
        return None
    output, reference, *pooled = (sum(column) for column in zip(*counts, strict=True))
    matched, there = pooled[:_ORDERS], pooled[_ORDERS:]
    halved, logs = 0, []
    for hits, many in zip(matched, there, strict=True):
        halved += not hits
        precision = (hits or 0.5**halved) / many if many else 0.0
        logs.append(math.log(precision) if precision else -math.inf)
    is_nothing = not output or not any(matched) or -math.inf in logs
    brevity = min(0.0, 1 - reference / output) if output else 0.0
    score = 0.0 if is_nothing else min(1.0, math.exp(brevity + math.fsum(logs) / _ORDERS))
    return {"score": score, "outputs": len(counts)}


def metrics_of(run: JournaledRun) -> Iterator[Document]:
    """Count the rows of tasks' scorers, and average the fields of those that name no metrics."""
    for task in run.tasks:
        names = [one["evaluator"] for one in task["scorers"] if one["evaluator"] in run.evaluators]
        wheres = dict.fromkeys(key for key in run.cells_in_order if key[0] in names)
        for candidate, model, split in dict.fromkeys((key[3], key[1], key[2]) for key in wheres):
            for scorer in task["scorers"]:
                key = scorer["evaluator"], model, split, candidate
                if key in run.cells:
                    axes = dict(zip(("evaluator", "task_model", "split", "candidate"), key, strict=True))
                    is_whole = not task.get("actions") or not run.waits
                    yield axes | _table(run.cells[key], scorer, is_whole=is_whole)


def _table(cell: CellRecords, scorer: Document, *, is_whole: bool) -> Document:
    every = [record for records in cell.records for record in records]
    samples = [one for one in every if one["outcome"] != "skipped" or one.get("excluded_by")]
    failed = sum(sample["outcome"] == "failed" for sample in samples)
    rules = Counter(rule for sample in samples for rule in sample.get("excluded_by", ()))
    rows = [sample["side_info"].get("scores", {}) for sample in samples if sample["outcome"] == "scored"]
    excluded = len(samples) - failed - len(rows)
    told: Document = {"n_total": len(samples), "n_scored": len(rows)}
    told |= {key: many for key, many in (("n_excluded", excluded), ("n_failed", failed)) if many}
    told |= {"excluded_by": dict(rules)} if rules else {}
    is_usual = scorer.get("metrics") is None and is_whole
    means = [*_usual(rows, is_evidence=bool(scorer.get("is_evidence")))] if is_usual else []
    return told | ({"metrics": means} if means else {})


def _usual(rows: list[Document], *, is_evidence: bool) -> Iterator[Document]:
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row[name] for row in rows if row.get(name) is not None]
        if values and all(isinstance(value, bool | int | float) for value in values):
            called = name if is_evidence else "accuracy" if name == "is_correct" else f"{name}_mean"
            told = {"type": "mean", "values": {called: math.fsum(values) / len(values)}, "n": len(values)}
            missing = len(rows) - len(values)
            yield told | ({"missing": missing} if missing else {})


def _scored(cell: CellRecords) -> Iterator[Record]:
    return (record for records in cell.records for record in records if record["outcome"] == "scored")


def _means(pairs: Iterable[tuple[float, float]]) -> Document:
    columns = zip(*pairs, strict=True)
    values = [math.fsum(column) / len(column) for column in columns]
    return dict(zip(("confidence", "score"), values, strict=True))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_counts(value: Any) -> bool:
    is_list = isinstance(value, list) and len(value) == 2 + 2 * _ORDERS
    return is_list and all(type(one) is int and 0 <= one <= 1 << 53 for one in value)
