"""Rows that rules of tasks in YAML leave out: their records turn into skips, as the journal's notes say."""

import hashlib
import json
import re
from collections.abc import Iterator
from itertools import product
from typing import Any

from optimize_eval.audit.axes import Axes, Record, Records

_OUTCOMES = re.compile(r"\b(scores|solver_output)\b")

Scorers = dict[str, list[Any]]  # by evaluator: the scorer's key in its task, and its digest


def skip_excluded(records: Records, axes: Axes, notes: list[Record]) -> bool:
    """Turn the records of rows that are left out; true where rules were not applied yet to some rows."""
    waits = False
    for task in axes.settings.get("tasks", ()):
        if not task.get("actions"):
            continue
        rules = hashlib.sha256(_json(task["actions"])).hexdigest()
        applied = {note["rows"]: note for note in notes if note.get("rules") == rules}
        of_outcomes = {
            action["key"] for action in task["actions"] if _OUTCOMES.search(json.dumps(action["filter"]))
        }
        for split, candidate, model in product(axes.splits, axes.candidates, axes.task_models):
            scorers = _scorers(axes, task, split["name"])
            where = model, split["name"], candidate["name"]
            digest = _digest(records, where, split, axes.repeats, scorers)
            waits = waits or bool(scorers and digest not in applied)
            for rule, rows in applied.get(digest, {}).get("excluded_by", {}).items():
                for (line, repeat), name in product(rows, scorers):
                    record = records.get((name, *where, line, repeat), {})
                    _turn(record, rule, by_outcome=rule in of_outcomes)
    return waits


def _scorers(axes: Axes, task: Record, split: str) -> Scorers:
    keys = {scorer["evaluator"]: scorer["key"] for scorer in task["scorers"]}
    return {
        entry["name"]: [keys[entry["name"]], entry.get("sha256")]
        for entry in axes.entries
        if entry["name"] in keys and split in entry.get("splits", [split])
    }


def _turn(record: Record, rule: str, *, by_outcome: bool) -> None:
    if record.get("outcome") == "scored":
        record |= {"outcome": "skipped", "message": f"left out by {rule}", "excluded_by": [rule]}
    elif record.get("outcome") == "skipped" and record.get("score") is not None:
        record["message"] += f", {rule}"  # of another rule, too
        record["excluded_by"].append(rule)
    record["by_outcome"] = record.get("by_outcome", False) or by_outcome


def _digest(records: Records, where: tuple[Any, ...], split: Record, repeats: int, scorers: Scorers) -> str:
    """Name the rows that rules were applied to as their note does: by what was recorded of them."""
    model, name, candidate = where
    digest = hashlib.sha256(_json([[candidate, model, name, [*scorers.values()]], split["sha256"]]))
    for line, repeat in product(split["lines"], range(1, repeats + 1)):
        if outcomes := dict(_outcomes(records, (*where, line, repeat), scorers)):
            digest.update(_json([line, repeat, outcomes]))
    return digest.hexdigest()


def _outcomes(records: Records, unit: tuple[Any, ...], scorers: Scorers) -> Iterator[tuple[str, Any]]:
    for name, (key, _) in scorers.items():
        if record := records.get((name, *unit)):
            yield key, [record["outcome"], record.get("output"), record.get("side_info")]


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
