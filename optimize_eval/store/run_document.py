"""run.json as it is on disk: all that a run has, in the order in which it came, and what was named last.

`evaluators`, `candidates`, `task_models`, `splits` and `repeats` are the axes with all their entries; `cells`
says which of their products there are, with the counts at the end of the last session; `selection` is what
the last command named, in its order. What a command is about, a manifest, is made of these.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from optimize_eval.store.layout import CellName, name_in_cells, versions_of
from optimize_eval.store.ledger import UnitTable
from optimize_eval.store.manifest import Manifest

SCHEMA = "optimize-eval.run.v2"

Document = dict[str, Any]

_COUNTS = ("scored", "failed", "skipped", "owed")
_KEPT = ("version", "protocol", "kind", "created_at", "ended_at", "note", "command")


def current(entries: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Give the entries of an axis that were not superseded, by name."""
    return {entry["name"]: entry for entry in entries if not entry.get("superseded")}


def selected(document: Document) -> Manifest:
    """Say what the last command was about."""
    chosen = document["selection"]
    evaluators, candidates = current(document["evaluators"]), current(document["candidates"])
    splits = {split["name"]: split for split in document["splits"]}
    added = chosen.get("added", [])
    return {
        **{key: document[key] for key in _KEPT if key in document},
        "schema": SCHEMA,
        "plan": document["id"],
        "evaluators": [evaluators[name] for name in chosen["evaluators"] if name not in added],
        "additions": [evaluators[name] for name in added],
        "candidates": [candidates[name] for name in chosen["candidates"]],
        "task_models": chosen["task_models"],
        **_models(document, chosen["task_models"]),
        "splits": [_selected_split(split, splits[split["name"]]) for split in chosen["splits"]],
        **{key: chosen[key] for key in ("repeats", "baseline", "seed", "cluster_by", "group_by")},
        "settings": document.get("settings", {}),
        "cells": document["cells"],
    }


def everything(document: Document) -> Manifest:
    """Say what a run is about when all that it has counts, superseded versions by names of their own."""
    chosen = document["selection"]
    labels = {split["name"]: split for split in chosen["splits"]}
    splits = [
        _selected_split({**_all_of(split, labels.get(split["name"], {}))}, split)
        for split in document["splits"]
    ]
    return {
        **selected(document),
        "evaluators": [_with_all_splits(entry, document) for entry in document["evaluators"]],
        "additions": [],
        "candidates": [{**entry, "name": name_in_cells(entry)} for entry in document["candidates"]],
        "task_models": list(dict.fromkeys([*document["task_models"], *_former_models(document)])),
        "splits": splits,
        "repeats": document["repeats"],
        "cluster_by": None,
        "group_by": [],
    }


def _with_all_splits(entry: Mapping[str, Any], document: Document) -> dict[str, Any]:
    """Name a version as its cells do, with the splits of all of them, which one command may not name."""
    name = name_in_cells(entry)
    if not any("splits" in one for one in document["evaluators"]):
        return {**entry, "name": name}
    there = {cell["split"] for cell in document["cells"] if cell["evaluator"] == name}
    return {
        **entry,
        "name": name,
        "splits": [one["name"] for one in document["splits"] if one["name"] in there],
    }


def table_of(document: Document) -> UnitTable:
    """Say which units a run has."""
    evaluators = current(document["evaluators"]).values()
    return UnitTable(
        run=document["id"],
        cells=[cell_name(cell) for cell in document["cells"]],
        lines={
            split["name"]: {line: n for n, line in enumerate(split["lines"])} for split in document["splits"]
        },
        repeats=document["repeats"],
        since={evaluator["name"]: evaluator.get("since", 0) for evaluator in evaluators},
        sound_since={evaluator["name"]: evaluator.get("sound_since", 0) for evaluator in evaluators},
        models_sound_since={
            model["name"]: model.get("sound_since", 0)
            for model in current(document.get("models", ())).values()
        },
        versions=versions_of(document),
    )


def cell_name(cell: Mapping[str, Any]) -> CellName:
    return cell["evaluator"], cell["candidate"], cell["task_model"], cell["split"]


def cell_of(name: CellName, counts: Sequence[int]) -> dict[str, Any]:
    """Write down a cell; the counts are those of scored, failed, skipped and owed units."""
    keys = ("evaluator", "candidate", "task_model", "split", *_COUNTS)
    return dict(zip(keys, (*name, *counts), strict=True))


def cells_among(
    evaluators: Iterable[Mapping[str, Any]],
    candidates: Sequence[str],
    task_models: Sequence[str | None],
    splits: Iterable[str],
) -> Iterator[CellName]:
    """List the cells of axes, in their order; an evaluator may be for some splits alone."""
    every = tuple(splits)
    for evaluator in evaluators:
        own = evaluator.get("splits", every)
        yield from product(
            (evaluator["name"],), candidates, task_models, [name for name in every if name in own]
        )


def document_of(first: Manifest) -> Document:
    """Make the document of a run that has just what a manifest says."""
    added = [*first.get("additions", ())]
    evaluators = [*first["evaluators"], *added]
    names = [evaluator["name"] for evaluator in evaluators]
    if len(set(names)) < len(names):
        raise ValueError("its evaluators have the same name")
    shared = ("repeats", "baseline", "seed", "cluster_by", "group_by", "task_models")
    splits = first["splits"]
    models, candidates = first["task_models"], [candidate["name"] for candidate in first["candidates"]]
    sizes = {split["name"]: len(split["lines"]) * first["repeats"] for split in splits}
    return {
        "schema": SCHEMA,
        **{key: first[key] for key in _KEPT if key in first},
        "id": first["plan"],
        "evaluators": evaluators,
        "candidates": first["candidates"],
        "task_models": models,
        **({"models": first["models"]} if "models" in first else {}),
        "splits": [{key: split[key] for key in ("name", "lines", "sha256")} for split in splits],
        "repeats": first["repeats"],
        "cells": [
            cell_of(name, (0, 0, 0, sizes[name[3]]))
            for name in cells_among(evaluators, candidates, models, sizes)
        ],
        "selection": {
            "evaluators": names,
            "added": [entry["name"] for entry in added],
            "candidates": candidates,
            "splits": [{key: split[key] for key in split if key != "sha256"} for split in splits],
            **{key: first[key] for key in shared},
        },
        "settings": first.get("settings", {}),
    }


def _models(document: Document, names: Sequence[str | None]) -> dict[str, Any]:
    """Give the models among task models; a run whose task models are names alone has none."""
    there = current(document.get("models", ()))
    return {"models": [there[name] for name in names if name in there]} if there else {}


def _former_models(document: Document) -> list[str]:
    return [name_in_cells(model) for model in document.get("models", ()) if model.get("superseded")]


def _selected_split(chosen: Mapping[str, Any], split: Mapping[str, Any]) -> dict[str, Any]:
    """Give the lines of a split that were chosen, with their digests."""
    if chosen["lines"] == split["lines"]:
        digests = split["sha256"]
    else:
        by_line = dict(zip(split["lines"], split["sha256"], strict=True))
        digests = [by_line[line] for line in chosen["lines"]]
    return {**chosen, "sha256": digests}


def _all_of(split: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Choose all lines of a split; labels are known of those only that were chosen last."""
    is_same = chosen.get("lines") == split["lines"]
    kept = {key: chosen[key] for key in ("file", "names", "inputs") if is_same and key in chosen}
    return {
        "name": split["name"],
        "file": None,
        "lines": split["lines"],
        **kept,
        "clusters": None,
        "groups": {},
    }
