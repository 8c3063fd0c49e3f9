"""The journal, line by line: the newest record of each unit, and what else sessions wrote down."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Records = dict[tuple[Any, ...], dict[str, Any]]  # by evaluator, task model, split, candidate, line, repeat

_COUNTING = {
    "outcome",
    "changed",
    "changed_models",
    "usage",
    "rules",
    "metric",
    "beside",
}  # keys of lines that do


@dataclass
class NewestRecords:
    """What counts of a journal, which evaluators and models changed, and all calls of models."""

    records: Records = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    changed_models: set[str] = field(default_factory=set)
    calls: list[dict[str, Any]] = field(default_factory=list)  # each with the axes of its record
    lines: list[tuple[int, dict[str, Any]]] = field(default_factory=list)  # where each begins
    rules: list[dict[str, Any]] = field(default_factory=list)  # what rules of tasks came to
    end: dict[str, Any] = field(default_factory=lambda: {"end": 0, "crc": ""})  # of the last line that counts


def newest_records(
    path: Path,
    entries: list[dict[str, Any]],
    models: list[dict[str, Any]],
    counts: Callable[[dict[str, Any]], bool] | None,
) -> NewestRecords:
    """Read a journal; a record counts from where its evaluator, as it is now, begins."""
    since = {one["name"]: one.get("since", 0) for one in entries}
    sound = {one["name"]: max(one.get("since", 0), one.get("sound_since", 0)) for one in entries}
    sound_models = {one["name"]: one.get("sound_since", 0) for one in models}
    found = NewestRecords()
    for offset, length, record in _lines(path):
        if _COUNTING.intersection(record):
            found.end = {"end": offset + length, "crc": record["crc"]}
        found.lines.append((offset, record))
        axes = {key: record.get(key) for key in ("evaluator", "candidate")}
        found.calls += [{**axes, **call} for call in record.get("usage", ())]
        found.rules += [record] if "rules" in record else []
        if "outcome" not in record:
            found.changed |= _said(record, "changed", offset, sound)
            found.changed_models |= _said(record, "changed_models", offset, sound_models)
        elif offset >= since.get(record["evaluator"], 0) and (counts is None or counts(record)):
            where = record["evaluator"], record.get("task_model"), record["split"], record["candidate"]
            found.records[*where, record.get("line"), record["repeat"]] = record
    return found


def _lines(path: Path) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Give each record, where it begins and how long its line is; a torn line is none."""
    offset = 0
    with path.open("rb") as journal:
        for line in journal:
            yield offset, len(line), json.loads(line) if line.endswith(b"\n") else {}
            offset += len(line)


def _said(note: dict[str, Any], key: str, offset: int, since: Mapping[str, int]) -> set[str]:
    """Give who changed in a session, but for those that were put right after it."""
    return {name for name in note.get(key, ()) if offset >= since.get(name, 0)}
