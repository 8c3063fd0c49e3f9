"""Rows that are in no number: what leaked, by run.json and by the data files, and what rules leave out."""

import hashlib
import json
import re
from collections.abc import Iterator
from itertools import product
from typing import Any

from optimize_eval.audit.axes import Axes, Record, Records
from optimize_eval.audit.sameness import (
    DataRow,
    NearRows,
    compared_fields,
    copies_among,
    least_of,
    rows_as_recorded,
    values_among,
)

_FEWEST = 10  # examples that are left, to be held out still


def leaked_in(axes: Axes) -> dict[str, Record]:
    """Give what is to be told of each split with leaked rows."""
    if any("splits" in entry for entry in axes.entries):
        return {}  # tasks
    overlaps, keeps = axes.settings.get("overlaps", {}), axes.settings.get("leaks") == "keep"
    leaks = {}
    for index, split in enumerate(axes.splits):
        known = overlaps.get(split["name"])
        rows = _of_bytes(axes.splits[:index], split)
        if known is not None:  # what run.json has, and equal lines that it should have
            listed = {row[0] for row in known["leaks"]}
            rows = [*known["leaks"], *(row for row in rows if row[0] not in listed)]
        rows = [row for row in rows if row[0] in split["lines"]]
        if rows:
            state = "recorded" if known is None else "kept" if keeps else _state(len(rows), split)
            leaks[split["name"]] = _leak(state, rows, split)
    return leaks


def counting(split: Record, leak: Record | None) -> list[int]:
    """Give the places of the examples that numbers are made of."""
    if leak is not None and leak["state"] == "leaked":
        return []
    is_part = leak is not None and leak["state"] == "part"
    gone = {row["line"] for row in leak["rows"]} if leak and is_part else set()
    return [index for index, line in enumerate(split["lines"]) if line not in gone]


def contents_of(split: Record, settings: Record) -> list[str]:
    """Give for each example the digest of the first one here that says the same."""
    firsts = dict(settings.get("overlaps", {}).get(split["name"], {}).get("copies", []))
    known: dict[int | None, str] = {}
    for line, digest in zip(split["lines"], split["sha256"], strict=True):
        known.setdefault(firsts.get(line, line), digest)
    return [known[firsts.get(line, line)] for line in split["lines"]]


def is_doubted(leaks: dict[str, Record], deciding: str) -> bool:
    """Return True if a split that would confirm something is not held out."""
    return any(leaks.get(split, {}).get("state") in {"kept", "leaked"} for split in (deciding, "test"))


def _of_bytes(before: list[Record], split: Record) -> list[list[Any]]:
    first: dict[str, tuple[str, int | None]] = {}
    for earlier in before:
        for line, digest in zip(earlier["lines"], earlier["sha256"], strict=True):
            first.setdefault(digest, (earlier["name"], line))
    pairs = zip(split["lines"], split["sha256"], strict=True)
    return [[line, *first[digest], "bytes", 1.0] for line, digest in pairs if digest in first]


def _state(gone: int, split: Record) -> str:
    every = len(split["lines"])
    return "leaked" if 2 * gone > every or every - gone < _FEWEST else "part"


def _leak(state: str, rows: list[list[Any]], split: Record) -> Record:
    every = len(split["lines"])
    names = dict(zip(split["lines"], split.get("names", []), strict=False))
    return {
        "state": state,
        "share": len(rows) / every,
        "examples": every,
        "left_out": every if state == "leaked" else len(rows) if state == "part" else 0,
        "rows": [
            {
                "line": line,
                "id": names.get(line) or None,
                "like": {"split": there, "line": like},
                "how": how,
                "similarity": similarity,
            }
            for line, there, like, how, similarity in rows
        ],
    }


def overlaps_again(settings: Record) -> dict[str, Record]:
    """Find leaks, copies and values of each split whose file, and those before it, are as they were."""
    files = rows_as_recorded(settings)
    overlaps: dict[str, Record] = {}
    for index, (name, rows) in enumerate(files.items()):
        leaks: list[list[Any]] = []
        for before in list(files)[:index]:
            gone = {row[0] for row in leaks}
            left = [row for row in rows if row.line not in gone]
            leaks += [[line, before, *like] for line, *like in leaks_again(files[before], left)]
        overlaps[name] = {"leaks": sorted(leaks), "copies": copies_among(rows)}
        if "values" in settings["overlaps"][name]:
            left_out = settings["overlaps"][name].get("left_out", [])
            overlaps[name]["values"] = values_among(rows, left_out)
    return overlaps


def leaks_again(there: list[DataRow], rows: list[DataRow]) -> list[tuple[int, int, str, float]]:
    """Give each row's line, that of the row there, how it was found, and how like they are."""
    if not there or not rows:
        return []
    fields = compared_fields(there, rows)
    of_bytes: dict[bytes, DataRow] = {}
    of_words: dict[tuple[str, ...], list[DataRow]] = {}
    for row in there:
        of_bytes.setdefault(row.raw, row)
        of_words.setdefault(fields.words(row), []).append(row)
    of_words.pop((), None)
    leaks, left = [], []
    for row in rows:
        same = of_words.get(fields.words(row), [])
        agreeing = [other for other in same if fields.answer(other) == fields.answer(row)]
        if row.raw in of_bytes:
            leaks.append((row.line, of_bytes[row.raw].line, "bytes", 1.0))
        elif same:
            how = "normalised" if agreeing else "contradiction"
            leaks.append((row.line, (agreeing or same)[0].line, how, 1.0))
        else:
            left.append(row)
    if fields.is_text and not fields.is_code:
        leaks += _near(there, rows, left, NearRows(there, rows, fields))
    return leaks


def _near(
    there: list[DataRow], rows: list[DataRow], left: list[DataRow], search: NearRows
) -> list[tuple[int, int, str, float]]:
    best = [(row.line, *nearest) for row in left if (nearest := search.nearest(row))]
    least = least_of([like for _, _, like in best])
    leaks = [(line, there[index].line, "near", like) for line, index, like in best if like >= least]
    return leaks if leaks and search.tell_something(len(leaks) / len(rows), least) else []


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
            digest = _name_rows(records, where, split, axes.repeats, scorers)
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


def _name_rows(
    records: Records, where: tuple[Any, ...], split: Record, repeats: int, scorers: Scorers
) -> str:
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


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
