"""What else records say: pass rates, failures, replies, confidences, counts of BLEU, metrics of tasks."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from optimize_eval.audit.axes import Record
from optimize_eval.audit.compared import mean_of
from optimize_eval.audit.journaled import CellRecords, JournaledRun, JournaledSplit, Values, by_axis
from optimize_eval.audit.numerics import Labels

Mean = Callable[[Sequence[Values]], Record]

OF_MEAN = ("se", "ci", "method", "n")
_ALL_UP_TO = 10  # repeats
_MOST_LINES, _MOST_WORST = 20, 5
_ORDERS = 4  # of n-grams
_THOUGHTS = ("<think>", "<thinking>", "<|channel|>analysis")


def passes_of(cell: CellRecords, labels: Labels, *, is_clustered: bool) -> list[Record]:
    """Estimate both for each k; nothing unless there are repeats, and all scores are 0 or 1."""

    def estimate(values: Sequence[Values]) -> Record:
        mean = mean_of(values[0], labels, is_clustered=is_clustered, is_unit=True)
        return {key: mean[key] for key in ("mean", *OF_MEAN)}

    return passes_over([repeats_of(cell)], estimate)


def repeats_of(cell: CellRecords) -> list[list[float]]:
    is_graded = any(example.unranked or not {*example.scores} <= {0, 1} for example in cell.examples)
    is_told = cell.repeats > 1 and cell.is_unit and not is_graded
    return [example.scores for example in cell.examples] if is_told else []


def passes_over(tasks: Sequence[list[list[float]]], mean: Mean) -> list[Record]:
    there = [examples for examples in tasks if any(examples)]
    most = min((max(map(len, examples)) for examples in there), default=0)
    ks = range(1, most + 1)
    powers_of_two = [k for k in ks if k & (k - 1) == 0 or k == most]
    return [
        {
            "k": k,
            "any": mean([[_any_of(k, scores) for scores in examples] for examples in there]),
            "all": mean([[_all_of(k, scores) for scores in examples] for examples in there]),
        }
        for k in (powers_of_two if most > _ALL_UP_TO else ks)
    ]


def _any_of(k: int, scores: Sequence[float]) -> float | None:
    failed = scores.count(0)
    return 1 - math.comb(failed, k) / math.comb(len(scores), k) if len(scores) >= k else None


def _all_of(k: int, scores: Sequence[float]) -> float | None:
    return math.comb(scores.count(1), k) / math.comb(len(scores), k) if len(scores) >= k else None


def failures_of(cell: CellRecords, split: JournaledSplit) -> list[Record]:
    """Group the failures of a cell by kind and stage, in the order of their first."""
    groups: dict[tuple[str, str], Record] = {}
    for line, example in zip(split.lines, cell.examples, strict=True):
        for record in example.records:
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


def worst_of(cell: CellRecords, baseline: CellRecords, split: JournaledSplit) -> list[Record]:
    """List who lost most against the baseline; of the baseline itself its lowest scores."""
    rows: list[Record] = [
        {"split": split.name, "line": line, "score": own, "baseline": base}
        for line, own, base in zip(split.lines, cell.means, baseline.means, strict=True)
        if own is not None
    ]
    if cell is baseline:
        return sorted(rows, key=lambda row: row["score"])[:_MOST_WORST]
    lost = [row for row in rows if row["baseline"] is not None and row["score"] < row["baseline"]]
    return sorted(lost, key=lambda row: (row["score"] - row["baseline"], row["score"]))[:_MOST_WORST]


def replies_of(run: JournaledRun) -> list[Record]:
    """Count by cell over the scored records, where any of them is a reply that says anything."""
    return [by_axis(key) | counts for key, cell in run.cells.items() if (counts := _replies(cell))]


def _replies(cell: CellRecords) -> Record | None:
    scored = [*_scored_records(cell)]
    sides = [record["side_info"] for record in scored]
    replies = [record.get("replied", {}) for record in scored]
    tables = [
        [
            table
            for table in (side.get("usage"), reply, side.get("model"))
            if isinstance(table, dict) and table
        ]
        for side, reply in zip(sides, replies, strict=True)
    ]
    cut_off = sum(any(table.get("finish_reason") == "length" for table in those) for those in tables)
    off_scale = sum(bool(_beyond(side)) for side in sides if isinstance(side.get("usage"), dict))
    thoughts = sum(str(side.get("output", "")).strip().lower().startswith(_THOUGHTS) for side in sides)
    others = {key: sum(reply.get(key) is True for reply in replies) for key in ("refused", "empty")}
    more = {key: many for key, many in {"with_thoughts": thoughts, **others}.items() if many}
    servers = Counter(name for those in tables if (name := _server(those)) is not None)
    if not (cut_off or off_scale or more or servers):
        return None
    counts = {"scored": len(scored), "cut_off": cut_off, "off_scale": off_scale, **more}
    return {**counts, "answered_by": dict(servers)}


def _server(tables: list[Record]) -> str | None:
    names = (table.get("answered_by") for table in tables)
    return next((name for name in names if isinstance(name, str)), None)


def _beyond(side: Record) -> list[float]:
    changed = side.get("clamped_from")
    numbers = list(changed.values()) if isinstance(changed, dict) else []
    return [value for value in numbers if isinstance(value, int | float) and abs(value - 0.5) > 0.501]  # noqa: PLR2004


def replies_of_model(mine: list[Record]) -> Record:
    """Say how many of a model's replies were cut off and who gave them, where any tell."""
    counted = {
        key: sum(reply.get(key, 0) for reply in mine)
        for key in ("cut_off", "with_thoughts", "refused", "empty")
    }
    names = sum((Counter(reply["answered_by"]) for reply in mine), Counter[str]())
    numbers: Record = {**counted, "answered_by": dict(names)}
    return {key: value for key, value in numbers.items() if value}


def calibration_of(cell: CellRecords) -> Record | None:
    """Hold stated confidences against scores, in ten bins."""
    scored = [record for record in _scored_records(cell) if record["score"] is not None and cell.is_unit]
    stated = [
        (record["side_info"]["confidence"], record["score"])
        for record in scored
        if "confidence" in record["side_info"]
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


def corpus_bleu_of(cell: CellRecords) -> Record | None:
    """Pool the counts of sentences: lengths of output and reference, matches and n-grams of each order."""
    sentences = [record["side_info"].get("bleu_counts") for record in _scored_records(cell)]
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


def metrics_of(run: JournaledRun) -> Iterator[Record]:
    """Count the rows of tasks' scorers, and average the fields of those that name no metrics."""
    for task in run.axes.settings.get("tasks", []):
        names = [scorer["evaluator"] for scorer in task["scorers"]]
        wheres = dict.fromkeys(key[1:] for key in run.cells_in_order if key[0] in names)
        for where, scorer in ((where, scorer) for where in wheres for scorer in task["scorers"]):
            key = scorer["evaluator"], *where
            if key in run.cells:
                is_whole = not task.get("actions") or not run.waits
                yield by_axis(key) | _table(run.cells[key], scorer, is_whole=is_whole)


def _table(cell: CellRecords, scorer: Record, *, is_whole: bool) -> Record:
    samples = [
        record for record in cell.records if record["outcome"] != "skipped" or record.get("excluded_by")
    ]
    failed = sum(sample["outcome"] == "failed" for sample in samples)
    rules = Counter(rule for sample in samples for rule in sample.get("excluded_by", ()))
    rows = [sample["side_info"].get("scores", {}) for sample in samples if sample["outcome"] == "scored"]
    counts = {"n_excluded": len(samples) - failed - len(rows), "n_failed": failed}
    table: Record = {"n_total": len(samples), "n_scored": len(rows)}
    table |= {key: many for key, many in counts.items() if many}
    table |= {"excluded_by": dict(rules)} if rules else {}
    is_usual = scorer.get("metrics") is None and is_whole
    means = [*_usual(rows, is_evidence=bool(scorer.get("is_evidence")))] if is_usual else []
    return table | ({"metrics": means} if means else {})


def _usual(rows: list[Record], *, is_evidence: bool) -> Iterator[Record]:
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row[name] for row in rows if row.get(name) is not None]
        if values and all(isinstance(value, bool | int | float) for value in values):
            called = name if is_evidence else "accuracy" if name == "is_correct" else f"{name}_mean"
            mean = {"type": "mean", "values": {called: math.fsum(values) / len(values)}, "n": len(values)}
            missing = len(rows) - len(values)
            yield mean | ({"missing": missing} if missing else {})


def _scored_records(cell: CellRecords) -> Iterator[Record]:
    return (record for record in cell.records if record["outcome"] == "scored")


def _means(pairs: Iterable[tuple[float, float]]) -> Record:
    columns = zip(*pairs, strict=True)
    values = [math.fsum(column) / len(column) for column in columns]
    return dict(zip(("confidence", "score"), values, strict=True))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_counts(value: Any) -> bool:
    is_list = isinstance(value, list) and len(value) == 2 + 2 * _ORDERS
    return is_list and all(type(count) is int and 0 <= count <= 1 << 53 for count in value)
