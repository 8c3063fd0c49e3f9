"""Rows that rules of tasks left out, by what the journal says of just these rows: they count as skipped."""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

Record = dict[str, Any]
RecordsByUnit = dict[tuple[Any, ...], Record]  # by evaluator, task model, split, candidate, line and repeat


_OUTCOMES = r"\b(scores|solver_output)\b"


def skip_excluded(records: RecordsByUnit, manifest: Record, notes: list[Record]) -> bool:
    """Turn the records of rows that are left out; true where rules were not applied yet to some rows."""
    waits = False
    for task in manifest.get("settings", {}).get("tasks", ()):
        if task.get("actions"):
            rules = hashlib.sha256(_json(task["actions"])).hexdigest()
            of_outcomes = {
                one["key"] for one in task["actions"] if re.search(_OUTCOMES, json.dumps(one["filter"]))
            }
            applied = {one["rows"]: one for one in notes if one["rules"] == rules}
            waits = _skip(records, manifest, task, applied, of_outcomes) or waits
    return waits


def _skip(
    records: RecordsByUnit, manifest: Record, task: Record, applied: dict[str, Record], of_outcomes: set[str]
) -> bool:
    waits = False
    keys = {one["evaluator"]: one["key"] for one in task["scorers"]}
    entries = [*manifest["evaluators"], *manifest["additions"]]
    for split in manifest["splits"]:
        for candidate in manifest["candidates"]:
            for model in manifest["task_models"]:
                scorers = [
                    one
                    for one in entries
                    if one["name"] in keys and split["name"] in one.get("splits", [split["name"]])
                ]
                where = (model, split["name"], candidate["name"])
                digest = _digest(records, where, split, manifest["repeats"], scorers, keys)
                waits = waits or bool(scorers and digest not in applied)
                for rule, places in applied.get(digest, {}).get("excluded_by", {}).items():
                    for line, repeat in places:
                        for one in scorers:
                            record = records.get((one["name"], *where, line, repeat), {})
                            _turn(record, rule)
                            record["by_outcome"] = record.get("by_outcome", False) or rule in of_outcomes
    return waits


def _turn(record: Record, rule: str) -> None:
    if record.get("outcome") == "scored":
        record |= {"outcome": "skipped", "message": f"left out by {rule}", "excluded_by": [rule]}
    elif record.get("outcome") == "skipped" and record.get("score") is not None:
        record["message"] += f", {rule}"  # of another rule, too
        record["excluded_by"].append(rule)


def _digest(
    records: RecordsByUnit,
    where: tuple[Any, ...],
    split: Record,
    repeats: int,
    scorers: list[Record],
    keys: dict[str, str],
) -> str:
    model, name, candidate = where
    about = [candidate, model, name, [[keys[one["name"]], one.get("sha256")] for one in scorers]]
    digest = hashlib.sha256(_json([about, split["sha256"]]))
    for line in split["lines"]:
        for repeat in range(1, repeats + 1):
            told = dict(_told(records, (*where, line, repeat), scorers, keys))
            if told:
                digest.update(_json([line, repeat, told]))
    return digest.hexdigest()


def _told(
    records: RecordsByUnit, unit: tuple[Any, ...], scorers: list[Record], keys: dict[str, str]
) -> Iterator[tuple[str, Any]]:
    for one in scorers:
        if record := records.get((one["name"], *unit)):
            yield keys[one["name"]], [record["outcome"], record.get("output"), record.get("side_info")]


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
