"""run.json on disk: what may stand in it, read with the type of each value, and how it is written.

Who reads a run refuses a selection that does not fit its axes; a command that grows it names its own.
"""

import os
import re
from collections.abc import Container, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from optimize_eval.base import files, strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping, check_type, from_foreign_dict, to_dict
from optimize_eval.store.folder import MANIFEST, NotARun, indent, put
from optimize_eval.store.layout import MOST_UNITS, Layout, Split
from optimize_eval.store.run_document import (
    COMMAND,
    ENDED,
    KEEP,
    LEAKS,
    NOTE,
    SETTINGS,
    CountedCell,
    RunDocument,
    StoredCandidate,
    StoredProgram,
    StoredSplit,
    current,
    layout_of,
    with_overlaps,
)

SCHEMA = "optimize-eval.run.v2"
MISSHAPEN = (AttributeError, IndexError, KeyError, MemoryError, OverflowError, TypeError, ValueError)

_OURS = "optimize-eval."
_LONG = 20  # items of a list that stand on a line each
_PLAIN = frozenset({str, int, type(None)})
_NOTHING = Layout(
    evaluators=(),
    score_ranges=(),
    candidates=(),
    task_models=(),
    splits=(),
    repeats=0,
    baseline="",
    seed=0,
)

_Value = TypeVar("_Value")
_Entry = TypeVar("_Entry", StoredProgram, StoredCandidate, StoredSplit, CountedCell)


def read_document(folder: Path, *, is_to_grow: bool = False) -> RunDocument | None:
    """Read run.json; None where there is none.

    One that `is_to_grow` may have any selection: the command has its own.
    """
    try:
        document = strict_json.loads_own(files.load(folder / MANIFEST, files.OF_A_RUN))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise NotARun(
            f"{folder / MANIFEST} cannot be read: {reason}",
            hint="put back the run.json that it had, or name another folder",
        ) from None
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        is_ours = str(schema).startswith(_OURS)
        what = f"of another version ({schema})" if is_ours else "not a run of optimize-eval"
        raise NotARun(f"{folder / MANIFEST} is {what}", hint="name another folder")
    try:
        return document_from(document, is_to_grow=is_to_grow)
    except MISSHAPEN as error:
        raise NotARun(
            f"{folder / MANIFEST} is not a run of optimize-eval, or was edited: "
            f"{type(error).__name__} {error}",
            hint="name a folder that `optimize-eval run` made",
        ) from None


def settings_in(folder: Path, *, fresh: bool) -> JsonMapping:
    """Read what the last command of a run kept of its options; nothing where there is none, or it goes."""
    document = None if fresh else read_document(folder, is_to_grow=True)
    return document.settings if document else {}


def write_document(folder: Path, document: RunDocument) -> None:
    put(folder / MANIFEST, _write_for_people(to_json(document)))


def _write_for_people(document: JsonMapping) -> bytes:
    """Write a document for people, but each long list on one line."""
    mark, long = os.urandom(8).hex(), []

    def shorten(value: object) -> Any:
        if isinstance(value, dict):
            return {key: shorten(item) for key, item in value.items()}
        if not isinstance(value, list | tuple):
            return value
        if len(value) <= _LONG or not set(map(type, value)).issubset(_PLAIN):
            return [shorten(item) for item in value]
        long.append(strict_json.dumps_own(value))
        return f"{mark}{len(long) - 1}"

    text = indent(shorten(document))
    return re.sub(rb'"%s(\d+)"' % mark.encode(), lambda match: long[int(match[1])], text)


def to_json(document: RunDocument) -> JsonDict:
    """Make of a document what stands in run.json."""
    layout = document.selection
    return {
        "schema": SCHEMA,
        **_some(version=document.version, protocol=document.protocol),
        "kind": document.kind,
        **_some(created_at=document.created_at),
        "id": document.id,
        "evaluators": [*map(to_dict, document.evaluators)],
        "candidates": [*map(to_dict, document.candidates)],
        "task_models": document.task_models,
        **({"models": [*map(to_dict, document.models)]} if document.models else {}),
        "splits": [*map(to_dict, document.splits)],
        "repeats": document.repeats,
        "cells": [*map(to_dict, document.cells)],
        "selection": {
            "evaluators": layout.evaluators,
            "added": document.added,
            "candidates": layout.candidates,
            "splits": [*map(_split_to_json, layout.splits)],
            **_numbers_of(layout),
            "task_models": layout.task_models,
        },
        "settings": document.settings,
        **document.words,
    }


def selected_json(document: RunDocument) -> JsonDict:
    """Make of what the last command was about what pages have, and the checksum of that."""
    layout = document.selection
    named = (entry for entry in document.selected_evaluators if entry.name not in document.added)
    models = [*map(to_dict, document.selected_models)]
    return {
        **_some(version=document.version, protocol=document.protocol),
        "kind": document.kind,
        **_some(created_at=document.created_at),
        **{key: document.words[key] for key in (ENDED, NOTE, COMMAND) if key in document.words},
        "schema": SCHEMA,
        "plan": document.id,
        "evaluators": [*map(to_dict, named)],
        "additions": [*map(to_dict, document.additions)],
        "candidates": [*map(to_dict, document.selected_candidates)],
        "task_models": [*layout.task_models],
        **({"models": models} if document.models else {}),
        "splits": [{**_split_to_json(split), "sha256": [*split.sha256]} for split in layout.splits],
        **_numbers_of(layout),
        "settings": document.settings,
        "cells": [*map(to_dict, document.cells)],
    }


def _some(**values: object) -> JsonDict:
    return {key: value for key, value in values.items() if value is not None}


def _numbers_of(layout: Layout) -> JsonDict:
    return {key: getattr(layout, key) for key in ("repeats", "baseline", "seed", "cluster_by", "group_by")}


def _split_to_json(split: Split) -> JsonDict:
    return {
        "name": split.name,
        "file": split.file,
        "lines": [*split.lines],
        "clusters": None if split.clusters is None else [*split.clusters],
        "groups": {path: [*labels] for path, labels in split.groups.items()},
        "names": [*split.names],
        "inputs": [*split.inputs],
    }


def document_from(document: JsonMapping, *, is_to_grow: bool = False) -> RunDocument:
    """Read what stands in run.json; raises one of MISSHAPEN where that cannot be a run."""
    read = RunDocument(
        id=_is(str, document["id"]),
        kind=_is(str, document["kind"]),
        version=_if_there(str, document, "version"),
        protocol=_if_there(int, document, "protocol"),
        created_at=_if_there(str, document, "created_at"),
        evaluators=_evaluators(document["evaluators"]),
        candidates=_each(StoredCandidate, document["candidates"]),
        task_models=_list(document["task_models"], str, type(None)),
        models=_each(StoredProgram, document.get("models", [])),
        splits=_each(StoredSplit, document["splits"]),
        repeats=_is(int, document["repeats"]),
        cells=_each(CountedCell, document["cells"]),
        selection=_NOTHING,
        settings=_settings(document.get("settings", {})),
        words={key: document[key] for key in document if key in {ENDED, NOTE, COMMAND}},
    )
    _check_axes(read)
    try:
        return _with_selection(read, document["selection"])
    except MISSHAPEN:
        if is_to_grow:
            return read
        raise


def _is(kind: type[_Value], value: object) -> _Value:
    if type(value) is not kind:
        raise TypeError(f"{type(value).__name__} in place of {kind.__name__}")
    return value


def _if_there(kind: type[_Value], entry: JsonMapping, key: str) -> _Value | None:
    return _is(kind, entry[key]) if key in entry else None


def _text_or_none(value: object) -> str | None:
    return None if value is None else _is(str, value)


def _list(value: Any, *kinds: type) -> tuple[Any, ...]:
    if not set(map(type, _is(list, value))).issubset(kinds):
        raise TypeError(f"a list of other things than {' and '.join(kind.__name__ for kind in kinds)}")
    return tuple(value)


def _lists(value: object) -> dict[str, tuple[str, ...]]:
    return {key: _list(texts, str) for key, texts in _is(dict, value).items()}


def _each(kind: type[_Entry], value: object) -> tuple[_Entry, ...]:
    return tuple(from_foreign_dict(kind, entry) for entry in _is(list, value))


def _evaluators(value: object) -> tuple[StoredProgram, ...]:
    evaluators = _each(StoredProgram, value)
    if any(evaluator.score_range is None for evaluator in evaluators):
        raise TypeError("an evaluator without a score range")
    return evaluators


def _check_axes(document: RunDocument) -> None:
    """Raise ValueError or its like where the axes do not fit each other."""
    now = [entry.name for entry in document.evaluators if not entry.superseded]
    texts = [entry.name for entry in document.candidates if not entry.superseded]
    if len({*now}) < len(now) or len({*texts}) < len(texts):
        raise ValueError("two of its evaluators or candidates have the same name")
    sizes = {split.name: len(split.lines) for split in document.splits}
    units = sum(sizes[cell.split] for cell in document.cells) * document.repeats
    fits = all(len(split.sha256) == len(split.lines) for split in document.splits)
    fits = fits and bool(document.models or not document.is_bench)
    if not fits or len(sizes) < len(document.splits) or not 0 < units <= MOST_UNITS:
        raise ValueError("its parts do not fit each other")


def _with_selection(document: RunDocument, chosen: JsonMapping) -> RunDocument:
    """Read what the last command named."""
    there, settings = current(document.evaluators), document.settings
    added = _list(chosen.get("added", []), str)
    names = [*(name for name in _list(chosen["evaluators"], str) if name not in added), *added]
    models = _list(chosen["task_models"], str, type(None))
    axes = {split.name: split for split in document.splits}
    layout = Layout(
        evaluators=(),
        score_ranges=(),
        candidates=_list(chosen["candidates"], str),
        task_models=models,
        splits=with_overlaps([_split(split, axes) for split in chosen["splits"]], document.overlaps),
        repeats=_is(int, chosen["repeats"]),
        baseline=_is(str, chosen["baseline"]),
        seed=_is(int, chosen["seed"]),
        cluster_by=_text_or_none(chosen["cluster_by"]),
        group_by=_list(chosen["group_by"], str),
        margins={name: float(margin) for name, margin in settings.get("margins", {}).items()},
        keeps_leaks=settings.get(LEAKS) == KEEP,
    )
    has_models = not current(document.models).keys().isdisjoint(models)
    layout = layout_of([there[name] for name in names], layout, has_models=has_models)
    _check_layout(layout, current(document.candidates))
    return replace(document, selection=layout, added=added)


def _split(chosen: JsonMapping, axes: Mapping[str, StoredSplit]) -> Split:
    """Read the lines of a split that were chosen, with their digests."""
    split, lines = axes[chosen["name"]], _list(chosen["lines"], int, type(None))
    by_line = split.by_line if lines != split.lines else {}
    return Split(
        name=split.name,
        file=_text_or_none(chosen["file"]),
        lines=lines,
        sha256=tuple(by_line[line] for line in lines) if by_line else split.sha256,
        clusters=None if chosen["clusters"] is None else _list(chosen["clusters"], str),
        groups=_lists(chosen["groups"]),
        names=_list(chosen.get("names", []), str),
        inputs=_list(chosen.get("inputs", []), str),
    )


def _check_layout(layout: Layout, candidates: Container[str]) -> None:
    """Raise ValueError or its like where what is selected does not fit together."""
    layout.candidates.index(layout.baseline)
    axes = layout.evaluators, layout.candidates, layout.task_models, [split.name for split in layout.splits]
    sizes = sum(len(split.lines) for split in layout.splits)
    most = sizes * layout.repeats * len(layout.evaluators) * len(layout.candidates)
    is_sound = (
        all(len({*axis}) == len(axis) for axis in axes)
        and all(name in candidates for name in layout.candidates)
        and all(_is_sound(split) and {*layout.group_by} == {*split.groups} for split in layout.splits)
        and all(map(layout.splits_for, layout.evaluators))
        and layout.repeats > 0
        and 0 < most <= MOST_UNITS
    )
    if not is_sound or not 0 < layout.size <= MOST_UNITS:
        raise ValueError("its parts do not fit each other")


def _is_sound(split: Split) -> bool:
    """Return True if each example has its labels, and a name and an input or none has."""
    labels = [*split.groups.values(), *([split.clusters] if split.clusters is not None else [])]
    return all(len(each) == len(split.lines) for each in labels) and all(
        len(texts) in {0, len(split.lines)} for texts in (split.names, split.inputs)
    )


def _settings(settings: object) -> JsonMapping:
    """Check what is read of the options that a run kept; the others are for who wrote them."""
    kept: JsonMapping = _is(dict, settings)
    for key, hint in SETTINGS.items():
        try:
            if key in kept:
                check_type(hint, kept[key])
        except (LookupError, TypeError, ValueError):
            raise TypeError(f"in its {key!r}") from None
    return kept
