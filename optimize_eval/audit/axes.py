"""The axes of run.json, and the journal line by line: the newest record of each unit."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def read_axes(path: Path) -> dict[str, Any]:
    """Give what the last command was about; evaluators that were added after it stand apart."""
    told: dict[str, Any] = json.loads(path.read_bytes())
    chosen = told["selection"]
    evaluators, candidates = (
        {one["name"]: one for one in told[axis] if not one.get("superseded")}
        for axis in ("evaluators", "candidates")
    )
    digests = {one["name"]: dict(zip(one["lines"], one["sha256"], strict=True)) for one in told["splits"]}
    return {
        **chosen,
        "evaluators": [evaluators[name] for name in chosen["evaluators"] if name not in chosen["added"]],
        "additions": [evaluators[name] for name in chosen["added"]],
        "candidates": [candidates[name] for name in chosen["candidates"]],
        "splits": [
            {**split, "sha256": [digests[split["name"]][line] for line in split["lines"]]}
            for split in chosen["splits"]
        ],
        "settings": told["settings"],
        "models": told.get("models", []),
        "counts": _counting(told, evaluators, candidates, digests),
    }


def _counting(
    told: dict[str, Any],
    evaluators: dict[str, Any],
    candidates: dict[str, Any],
    digests: dict[str, dict[int | None, str]],
) -> Callable[[Record], bool]:
    """Tell by its key whether a record is of what is there now, where anything had other bytes before."""
    models = {one["name"]: one["sha256"] for one in told.get("models", ()) if not one.get("superseded")}
    axes = (*told["evaluators"], *told["candidates"], *told["splits"], *told.get("models", ()))
    former = {one["name"] for one in axes if one.get("superseded") or "sound_since" in one}
    places = {one["name"]: {line: n for n, line in enumerate(one["lines"])} for one in told["splits"]}

    def counts(record: Record) -> bool:
        split, line = record["split"], record.get("line")
        model = record.get("task_model")
        if not former.intersection((record["evaluator"], record["candidate"], split, model)):
            return True
        candidate = candidates[record["candidate"]]
        texts = candidate.get("texts", {}).get(split)
        unit = [
            evaluators[record["evaluator"]]["sha256"],
            texts[places[split][line]] if texts else candidate["sha256"],
            models.get(model, model),
            split,
            line,
            digests[split][line],
            record["repeat"],
        ]
        written = json.dumps(unit, ensure_ascii=False, separators=(",", ":"))
        return bool(hashlib.sha256(written.encode()).hexdigest() == record["key"])

    return counts


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
    since = {entry["name"]: entry.get("since", 0) for entry in entries}
    sound = {entry["name"]: max(entry.get("since", 0), entry.get("sound_since", 0)) for entry in entries}
    sound_models = {model["name"]: model.get("sound_since", 0) for model in models}
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
