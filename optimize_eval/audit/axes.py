"""The axes of run.json, and the journal line by line: the newest record of each unit."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Record = dict[str, Any]
Records = dict[tuple[Any, ...], Record]  # by evaluator, task model, split, candidate, line, repeat


class Versions:
    """Tells of which version of its candidate a record is: by its key, where anything has other bytes now."""

    def __init__(self, document: Record) -> None:
        models = document.get("models", ())
        axes = (*document["evaluators"], *document["candidates"], *document["splits"], *models)
        self._changed = {entry["name"] for entry in axes if entry.get("superseded") or "sound_since" in entry}
        self._programs = {entry["name"]: entry.get("sha256") for entry in _present(document["evaluators"])}
        self._models = {model["name"]: model["sha256"] for model in _present(models)}
        self._rows = {
            split["name"]: {
                line: (index, digest)
                for index, (line, digest) in enumerate(zip(split["lines"], split["sha256"], strict=True))
            }
            for split in document["splits"]
        }
        self._candidates: dict[str, list[Record]] = {}
        for candidate in sorted(document["candidates"], key=lambda entry: bool(entry.get("superseded"))):
            self._candidates.setdefault(candidate["name"], []).append(candidate)

    def of(self, record: Record) -> Record | None:
        """Give the candidate's entry; None where the example, the model or the evaluator has changed."""
        split, line, model = record["split"], record.get("line"), record.get("task_model")
        versions = self._candidates.get(record["candidate"], [])
        if not self._changed.intersection((record["evaluator"], record["candidate"], split, model)):
            return versions[0] if versions else None
        index, example = self._rows[split][line]
        for version in versions:
            texts = version.get("texts", {}).get(split, [])
            text = texts[index] if index < len(texts) else version.get("sha256")
            program = self._programs.get(record["evaluator"])
            unit = [program, text, self._models.get(model, model), split, line, example, _counter(record)]
            written = json.dumps(unit, ensure_ascii=False, separators=(",", ":"))
            if hashlib.sha256(written.encode()).hexdigest() == record["key"]:
                return version
        return None


def _counter(record: Record) -> Any:
    return f"confirm {record['confirm']}" if "confirm" in record else record["repeat"]


def _present(entries: Any) -> list[Record]:
    return [entry for entry in entries if not entry.get("superseded")]


@dataclass
class Axes:
    """What the last command was about; evaluators that were added after it stand apart."""

    evaluators: list[Record]
    additions: list[Record]
    candidates: list[Record]
    task_models: list[str | None]
    splits: list[Record]
    repeats: int
    baseline: str
    seed: int
    group_by: list[str]
    cluster_by: str | None
    settings: Record
    models: list[Record]
    document: Record

    @property
    def entries(self) -> list[Record]:
        return [*self.evaluators, *self.additions]


def read_axes(path: Path) -> Axes:
    document: Record = json.loads(path.read_bytes())
    chosen = document["selection"]
    evaluators, candidates = (
        {entry["name"]: entry for entry in _present(document[axis])} for axis in ("evaluators", "candidates")
    )
    digests = {
        split["name"]: dict(zip(split["lines"], split["sha256"], strict=True)) for split in document["splits"]
    }
    return Axes(
        evaluators=[evaluators[name] for name in chosen["evaluators"] if name not in chosen["added"]],
        additions=[evaluators[name] for name in chosen["added"]],
        candidates=[candidates[name] for name in chosen["candidates"]],
        splits=[
            {**split, "sha256": [digests[split["name"]][line] for line in split["lines"]]}
            for split in chosen["splits"]
        ],
        **{
            key: chosen[key]
            for key in ("task_models", "repeats", "baseline", "seed", "group_by", "cluster_by")
        },
        settings=document["settings"],
        models=_present(document.get("models", ())),
        document=document,
    )


_COUNTING = {
    "outcome",
    "changed",
    "changed_models",
    "usage",
    "rules",
    "metric",
    "beside",
}  # keys of such lines


@dataclass
class NewestRecords:
    """What counts of a journal, which evaluators and models changed, and all calls of models."""

    records: Records = field(default_factory=dict)
    confirmations: Records = field(default_factory=dict)  # fresh calls, by the same
    changed: set[str] = field(default_factory=set)
    changed_models: set[str] = field(default_factory=set)
    calls: list[Record] = field(default_factory=list)  # each with the axes of its record
    outcomes: list[tuple[int, Record, Record]] = field(default_factory=list)  # where, and of which version
    notes: list[tuple[int, Record]] = field(default_factory=list)  # all other lines, and where they begin
    end: Record = field(default_factory=lambda: {"end": 0, "crc": ""})  # of the last line that counts


def newest_records(path: Path, axes: Axes) -> NewestRecords:
    """Read a journal; a record counts from where its evaluator, as it is now, begins."""
    since = {entry["name"]: entry.get("since", 0) for entry in axes.entries}
    sound = {entry["name"]: max(since[entry["name"]], entry.get("sound_since", 0)) for entry in axes.entries}
    sound_models = {model["name"]: model.get("sound_since", 0) for model in axes.models}
    version_of, newest = Versions(axes.document).of, NewestRecords()
    for offset, length, record in _lines(path):
        if _COUNTING.intersection(record):
            newest.end = {"end": offset + length, "crc": record["crc"]}
        where = {key: record.get(key) for key in ("evaluator", "candidate")}
        newest.calls += [{**where, **call} for call in record.get("usage", ())]
        if "outcome" not in record:
            newest.notes.append((offset, record))
            newest.changed |= _changed_names(record, "changed", offset, sound)
            newest.changed_models |= _changed_names(record, "changed_models", offset, sound_models)
        elif offset >= since.get(record["evaluator"], 0):
            _enter(newest, offset, record, version_of)
    return newest


def _enter(
    newest: NewestRecords, offset: int, record: Record, version_of: Callable[[Record], Record | None]
) -> None:
    version = version_of(record)
    if version is None:
        return
    where = record["evaluator"], record.get("task_model"), record["split"], record["candidate"]
    if "confirm" in record:
        if not version.get("superseded"):
            newest.confirmations[*where, record.get("line"), record["confirm"]] = record
        return
    newest.outcomes.append((offset, record, version))
    if not version.get("superseded"):
        newest.records[*where, record.get("line"), record["repeat"]] = record


def _lines(path: Path) -> Iterator[tuple[int, int, Record]]:
    """Give each record, where it begins and how long its line is; a torn line is none."""
    offset = 0
    with path.open("rb") as journal:
        for line in journal:
            yield offset, len(line), json.loads(line) if line.endswith(b"\n") else {}
            offset += len(line)


def _changed_names(note: Record, key: str, offset: int, since: Mapping[str, int]) -> set[str]:
    """Give who changed in a session, but for those that were put right after it."""
    return {name for name in note.get(key, ()) if offset >= since.get(name, 0)}
