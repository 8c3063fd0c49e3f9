"""What a run is about, as its last command named it in run.json, and the line that resumes it.

Its shape is checked when it is read, and that its axes fit each other; then two can be compared. An optional
key is for its reader to miss, an evaluator's files are for who compares them.

A folder may have been renamed, or come from somebody else: so what is kept of a command is read as words,
each of which is quoted again, it starts nothing but a command of ours, and the folder is the one that was
read.
"""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from optimize_eval.base.errors import UsageError
from optimize_eval.base.files import counted_unit
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.store.layout import MOST_UNITS, Layout, LeakedRow, Split

Check = Callable[[Any], bool]


def check_document(document: Mapping[str, Any]) -> None:
    """Raise TypeError for the first key of run.json whose value is of another type, or is not there."""
    for key, check in _DOCUMENT.items():
        if not check(document[key]):
            raise TypeError(f"in its {key!r}")
    for axis in ("evaluators", "candidates", "splits"):
        current = [
            entry["name"] for entry in document[axis] if axis == "splits" or not entry.get("superseded")
        ]
        if len(set(current)) < len(current):
            raise ValueError(f"two of its {axis} have the same name")
    if not _list_of(_EVALUATOR)(document.get("models", [])):
        raise TypeError("in its 'models'")
    for evaluator in document["evaluators"]:
        _text(evaluator["score_range"])  # raises where there is none
    sizes = {split["name"]: len(split["lines"]) for split in document["splits"]}
    units = sum(sizes[cell["split"]] for cell in document["cells"]) * document["repeats"]
    fits = all(len(split["sha256"]) == sizes[split["name"]] for split in document["splits"])
    if not fits or not 0 < units <= MOST_UNITS:
        raise ValueError("its parts do not fit each other")


def check_shape(manifest: Mapping[str, Any]) -> None:
    """Raise TypeError for the first key whose value is of another type."""
    for key, check in _MANIFEST.items():
        if key in manifest and not check(manifest[key]):
            raise TypeError(f"in its {key!r}")


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _table(value: Any) -> bool:
    return isinstance(value, dict)


def _or_null(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list_of_types(*types: type) -> Check:
    return lambda value: isinstance(value, list) and set(map(type, value)).issubset(types)


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _table_of(check: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def _with(checks: Mapping[str, Check]) -> Check:
    return lambda value: (
        isinstance(value, dict) and all(check(value[key]) for key, check in checks.items() if key in value)
    )


def _leak(value: Any) -> bool:
    """Return True for [line, split, line there, how, similarity]."""
    kinds = (int, str, int, str, int | float)
    return isinstance(value, list) and len(value) == len(kinds) and all(map(isinstance, value, kinds))


def _copy(value: Any) -> bool:
    """Return True for [line, the first line that says the same]."""
    return isinstance(value, list) and len(value) == 2 and all(map(_whole, value))  # noqa: PLR2004  a pair


def _value(pair: Any) -> bool:
    """Return True for [line, the digest of what it says]."""
    match pair:
        case [int(), str()]:
            return True
    return False


_EVALUATOR = _with(
    {
        "name": _text,
        "text": _text,
        "sha256": _text,
        "score_range": _text,
        "judge": _table,
        "since": _whole,
        "sound_since": _whole,
        "splits": _list_of(_text),
    }
)
_CANDIDATE = _with(
    {"name": _text, "sha256": _text, "trimmed": _text, "field": _text, "text": _text, "bytes": _whole}
)
_SPLIT = _with(
    {
        "name": _text,
        "file": _or_null(_text),
        "lines": _list_of_types(int, type(None)),
        "sha256": _list_of_types(str),
        "clusters": _or_null(_list_of(_text)),
        "groups": _table_of(_list_of(_text)),
    }
)
_OVERLAP = _with(
    {"of": _text, "leaks": _list_of(_leak), "copies": _list_of(_copy), "values": _list_of(_value)}
)
_PATHS = _with(
    {
        "splits": _or_null(_table_of(_or_null(_text))),
        "candidate": _or_null(_list_of(_text)),
        "candidates": _or_null(_list_of(_text)),
        "prompts": _list_of(_text),
        "system": _text,
    }
)
_SEARCHED = _with(
    {
        "steered_by": _or_null(_text),
        "decides": _or_null(_text),
        "alone": _or_null(_with({"state": _text, "text": _text})),
    }
)
_MANIFEST: Mapping[str, Check] = {
    "plan": _text,
    "created_at": _text,
    "evaluators": _list_of(_EVALUATOR),
    "additions": _list_of(_EVALUATOR),
    "candidates": _list_of(_CANDIDATE),
    "task_models": _list_of(_or_null(_text)),
    "models": _list_of(_EVALUATOR),
    "splits": _list_of(_SPLIT),
    "repeats": _whole,
    "baseline": _text,
    "seed": _whole,
    "cluster_by": _or_null(_text),
    "group_by": _list_of(_text),
    "settings": _with(
        {
            "paths": _or_null(_PATHS),
            "gates": _table,
            "format": _or_null(_text),
            "overlaps": _table_of(_OVERLAP),
            "searched": _SEARCHED,
        }
    ),
}
_CELL = _with(
    {
        "evaluator": _text,
        "candidate": _text,
        "task_model": _or_null(_text),
        "split": _text,
        **dict.fromkeys(("scored", "failed", "skipped", "owed"), _whole),
    }
)
_DOCUMENT: Mapping[str, Check] = {
    "kind": _text,
    "id": _text,
    "evaluators": _list_of(_EVALUATOR),
    "candidates": _list_of(_CANDIDATE),
    "task_models": _list_of(_or_null(_text)),
    "splits": _list_of(_SPLIT),
    "repeats": _whole,
    "cells": _list_of(_CELL),
    "selection": _with({"splits": _list_of(_SPLIT), "evaluators": _list_of(_text), "added": _list_of(_text)}),
}


RUN, BENCH = "run", "bench"  # kinds of runs
OVERLAPS = "overlaps"  # in settings: what splits have in common, by data.leaks
LEFT_OUT = "left_out"  # of it: fields that are or were candidates
LEAKS, KEEP = "leaks", "keep"  # in settings, where examples that leaked are to count
CHOSEN_AFTER = "chosen_after"  # in settings: the run by whose results its examples were taken
SEARCHED = "searched"  # in settings: what a verdict has to know of the search that a run ended
EDITED = "its run.json is of another version, or was edited"

_SHOWN = 3
MISSHAPEN = (AttributeError, IndexError, KeyError, MemoryError, OverflowError, TypeError, ValueError)
_MOST_DIFFERENCES = 10

Manifest = dict[str, Any]
SearchedRun = Mapping[
    str, Any
]  # `steered_by` and `decides`: a split or None; `alone`: words, if only the seed is left
Differences = Callable[[Manifest, Manifest], list[str]]


class NotARun(UsageError):
    """A folder whose run.json is not one of ours, or cannot be understood."""


class BeforeRelease(NotARun):
    """A folder in a format that no release wrote."""


def layout_of(manifest: Manifest) -> Layout:
    """Read the axes back; a report needs no more than these and the journal."""
    try:
        check_shape(manifest)
        splits_of = _splits_of(manifest)
        layout = Layout(
            evaluators=tuple(evaluator["name"] for evaluator in evaluators_of(manifest)),
            score_ranges=tuple(ScoreRange(evaluator["score_range"]) for evaluator in evaluators_of(manifest)),
            candidates=tuple(candidate["name"] for candidate in manifest["candidates"]),
            task_models=tuple(manifest["task_models"]),
            splits=tuple(read_split(split, manifest) for split in manifest["splits"]),
            repeats=manifest["repeats"],
            baseline=manifest["baseline"],
            seed=manifest["seed"],
            cluster_by=manifest["cluster_by"],
            group_by=tuple(manifest["group_by"]),
            margins={
                str(name): float(margin)
                for name, margin in manifest.get("settings", {}).get("margins", {}).items()
            },
            compares_models=bool(manifest.get("models")) and not splits_of,  # a board compares them itself
            splits_of=splits_of,
            keeps_leaks=manifest.get("settings", {}).get(LEAKS) == KEEP,
        )
        _check_layout(layout)
    except MISSHAPEN as error:
        raise say_edited(error) from None
    return layout


def evaluators_of(manifest: Manifest) -> list[dict[str, Any]]:
    """List the evaluators that were named, then those that were added; units are counted in this order."""
    return [*manifest["evaluators"], *additions_of(manifest)]


def _splits_of(manifest: Manifest) -> dict[str, tuple[str, ...]]:
    """Give the splits of evaluators that are for some alone."""
    entries = evaluators_of(manifest)
    return {entry["name"]: tuple(entry["splits"]) for entry in entries if "splits" in entry}


def is_bench(manifest: Manifest) -> bool:
    """Return True if a run's evaluators are models and its splits task files."""
    return kind_of(manifest) == BENCH


def kind_of(manifest: Manifest) -> str:
    """Say which command made a run."""
    return str(manifest.get("kind", RUN))


def additions_of(manifest: Manifest) -> list[dict[str, Any]]:
    """List the evaluators that were added to a run, which are no part of its plan."""
    added = [*manifest.get("additions", ())]
    entries = [*manifest["evaluators"], *added]
    names = [entry["name"] for entry in entries]
    is_sound = all(
        isinstance(entry["name"], str) and isinstance(entry.get("since", 0), int) for entry in entries
    )
    if not is_sound or len(set(names)) < len(names):
        raise ValueError("its additions are not evaluators of their own")
    return added


def say_edited(error: Exception) -> NotARun:
    """Say that a run.json is not as it was written."""
    return NotARun(
        f"run.json is not a run of optimize-eval, or was edited: {type(error).__name__} {error}",
        hint="name a folder that `optimize-eval run` made",
    )


def _check_layout(layout: Layout) -> None:
    """Raise ValueError or its like where the axes do not fit each other."""
    layout.candidates.index(layout.baseline)
    splits_for = [layout.splits_for(name) for name in layout.evaluators]
    texts = (*layout.evaluators, *layout.candidates, *(split.name for split in layout.splits))
    labels = [labels for split in layout.splits for labels in (split.clusters, *split.groups.values())]
    sizes = {len(split.lines) for split in layout.splits}
    names = layout.evaluators, layout.candidates, layout.task_models, [split.name for split in layout.splits]
    distinct = [
        len({*axis}) for axis in (*names, *labels) if axis is not None
    ]  # raises where one has no hash
    is_sound = (
        distinct[: len(names)] == [*map(len, names)]
        and all(isinstance(text, str) for text in texts)
        and all(isinstance(number, int) for number in (layout.repeats, layout.seed))
        and all(label is None or len(label) in sizes for label in labels)
        and all(len(split.sha256) == len(split.lines) for split in layout.splits)
        and all(isinstance(digest, str) for split in layout.splits for digest in split.sha256)
        and all(set(layout.group_by) == set(split.groups) for split in layout.splits)
        and all(split.has_sound_texts for split in layout.splits)
        and all(splits_for)
        and layout.repeats > 0
        and 0 < sum(sizes) * layout.repeats * len(layout.evaluators) * len(layout.candidates) <= MOST_UNITS
    )
    if not is_sound or not 0 < layout.size <= MOST_UNITS:
        raise ValueError("its parts do not fit each other")


def changed_evaluators(old: Manifest, new: Manifest) -> list[str]:
    """Say which evaluators of both are not the same, one line each; also of those that were added."""
    before, after = ({"evaluators": evaluators_of(manifest)} for manifest in (old, new))
    return list(_say_changed("evaluator", before, after, evaluator_change))


def changed_splits(old: Manifest, new: Manifest) -> list[str]:
    """Say which splits of both have not the same examples, one line each."""
    return list(_say_changed("split", old, new, partial(_split_change, new)))


def place_word(manifest: Manifest, split: str) -> str:
    """Say what the numbers of a split's examples count: lines of JSONL, records of a table."""
    paths = (manifest["settings"].get("paths") or {}).get("splits") or {}
    return counted_unit(paths.get(split) or "")


def differences(find: Differences, old: Manifest, new: Manifest) -> list[str]:
    """Find differences, also where a manifest is not what this version writes."""
    try:
        return find(old, new)
    except (AttributeError, KeyError, TypeError, ValueError):
        return [EDITED]


def list_differences(differences: Sequence[str]) -> list[str]:
    """Lay out differences for an error's text; of a great many the first."""
    lines = [f"  {line}" for line in differences[:_MOST_DIFFERENCES]]
    if len(differences) > _MOST_DIFFERENCES:
        lines.append(f"  … and {len(differences) - _MOST_DIFFERENCES:,} more")
    return lines


def _overlaps(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give what splits have in common; a run of before that was looked at knows nothing of it."""
    overlaps: Mapping[str, Any] = manifest.get("settings", {}).get(OVERLAPS, {})
    return overlaps


def left_out_of(manifest: Mapping[str, Any]) -> list[str]:
    """Name the fields that are no part of what rows say: those that are or were candidates."""
    return sorted({field for overlap in _overlaps(manifest).values() for field in overlap.get(LEFT_OUT, ())})


def with_overlaps(splits: Sequence[Split], overlaps: Mapping[str, Any]) -> tuple[Split, ...]:
    """Let splits know what they have in common."""
    return tuple(replace(split, **_overlap_of(split.name, split.lines, overlaps)) for split in splits)


def _overlap_of(name: str, lines: Sequence[int | None], overlaps: Mapping[str, Any]) -> dict[str, Any]:
    """Give the leaks and the copies among a split's lines."""
    if name not in overlaps:
        return {}
    there, own = {*lines}, overlaps[name]
    values = dict(own.get("values", ()))
    leaks = (LeakedRow(*row) for row in own["leaks"])
    return {
        "leaks": tuple(row for row in leaks if row.line in there),
        "copies": {line: first for line, first in own["copies"] if line in there},
        "values": tuple(values.get(line, "") for line in lines),
    }


def read_split(split: Mapping[str, Any], manifest: Mapping[str, Any]) -> Split:
    """Read the examples of a split, and what is known of its lines."""
    return Split(
        **_overlap_of(split["name"], split["lines"], _overlaps(manifest)),
        name=split["name"],
        lines=tuple(split["lines"]),
        sha256=tuple(split["sha256"]),
        clusters=None if split["clusters"] is None else tuple(split["clusters"]),
        groups={path: tuple(labels) for path, labels in split["groups"].items()},
        names=tuple(split.get("names", ())),
        inputs=tuple(split.get("inputs", ())),
    )


def _say_changed(what: str, old: Manifest, new: Manifest, change: Any) -> Iterable[str]:
    before, after = _by_name(what, old), _by_name(what, new)
    for name, entry in before.items():
        if name in after and _essence(entry) != _essence(after[name]):
            yield f"{what} {name} {change(entry, after[name])}"


def _by_name(what: str, manifest: Manifest) -> dict[str, Mapping[str, Any]]:
    return {entry["name"]: entry for entry in manifest.get(f"{what}s", ())}


def _essence(one: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(one.get(key) for key in ("sha256", "field", "score_range", "lines"))


def evaluator_change(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Say what is not the same in an evaluator, or in a model."""
    before = {file["name"]: file["sha256"] for file in old["files"]}
    changed = [file["name"] for file in new["files"] if before.get(file["name"]) != file["sha256"]]
    changes = [
        _was(old["text"], new["text"]),
        f"has changed: {', '.join(changed)}" if changed else "",
        f"had the score range {old['score_range']}"
        if old.get("score_range") != new.get("score_range")
        else "",
    ]
    return "; ".join(filter(None, changes)) or "has changed"


def _was(old: str, new: str) -> str:
    """Say what an evaluator was; where --extract alone is new, that is what differs."""
    added = new.removeprefix(f"{old} ")
    without = f" without {added}" if added != new and added.startswith("--extract ") else ""
    return f"was {old}{without}" if old != new else ""


def _split_change(manifest: Manifest, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    before = dict(zip(old["lines"], old["sha256"], strict=True))
    after = dict(zip(new["lines"], new["sha256"], strict=True))
    changed = [line for line in after if line in before and before[line] != after[line]]
    if changed:
        lines = ", ".join(map(str, changed[:_SHOWN])) + ("…" if len(changed) > _SHOWN else "")
        where = f"{place_word(manifest, new['name'])} {lines}"
        return f"has {len(changed):,} changed example{'s' * (len(changed) != 1)} ({where})"
    if len(after) == len(before):
        return f"has {len(after):,} examples of other lines"
    return f"has {len(after):,} examples, and had {len(before):,}"


_PROGRAM = "optimize-eval"
_BY_OUT = frozenset({"run", "bench", "optimize"})  # which name their folder so
_RESCORE = "rescore"  # which names it first
_OUT = "--out"


def resume_line(kept: Any, folder: Path) -> str:
    """Give the line for a shell; empty where what is kept is no command that resumes."""
    words = _words(kept)
    if len(words) < len((_PROGRAM, "COMMAND")) or words[0] != _PROGRAM:
        return ""
    if words[1] in _BY_OUT:
        return shlex.join(_with_out(words, str(folder)))
    if words[1] == _RESCORE and words[2:] and not words[2].startswith("-"):
        return shlex.join([*words[:2], str(folder), *words[3:]])
    return ""


def _words(kept: Any) -> list[str]:
    """Split into words; none where one could not be pasted: with a line break, say."""
    try:
        words = shlex.split(kept) if isinstance(kept, str) else []
    except ValueError:
        return []
    return words if all(word.isprintable() for word in words) else []


def _with_out(words: list[str], folder: str) -> list[str]:
    end = words.index("--") if "--" in words else len(words)
    for index, word in enumerate(words[:end]):
        if word == _OUT:
            return [*words[: index + 1], folder, *words[index + 2 :]]
        if word.startswith(f"{_OUT}="):
            return [*words[:index], _OUT, folder, *words[index + 1 :]]
    return [*words[:end], _OUT, folder, *words[end:]]
