"""What a run has but its last command did not name: said in a note, and shown by `report --all`."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

from optimize_eval.store.document import Document, everything
from optimize_eval.store.manifest import BENCH, evaluators_of, layout_of
from optimize_eval.store.stored import StoredRun

_SHOWN = 3


def with_everything(run: StoredRun) -> StoredRun:
    """Look at all that a run has, superseded versions by names of their own."""
    manifest = everything(run.document)
    return replace(run, manifest=manifest, ledger=run.ledger.of(layout_of(manifest)))


def unnamed(document: Document, named: Collection[str] = ()) -> str:
    """Say what the last command left out; empty where that is nothing. `named` are further evaluators."""
    every, chosen = everything(document), document["selection"]
    former = former_evaluators(document)
    evaluators = [one["name"] for one in evaluators_of(every) if one["name"] not in {*former, *named}]
    models = [name for name in every["task_models"] if name is not None or not former]
    axes = {
        "evaluator": (evaluators, chosen["evaluators"]),
        "candidate": ([candidate["name"] for candidate in every["candidates"]], chosen["candidates"]),
        "model" if every.get("models") else "task model": (models, chosen["task_models"]),
    }
    axis_notes = [_named(axis, _without(names, now)) for axis, (names, now) in axes.items()]
    return "; ".join(filter(None, [*axis_notes, *_examples(document), _repeats(document)]))


def former_evaluators(document: Document) -> set[str]:
    """Name the evaluators of a bench that were its models, in an earlier version that began it."""
    if document["kind"] != BENCH or None in document["selection"]["task_models"]:
        return set()
    return {cell["evaluator"] for cell in document["cells"] if cell["task_model"] is None}


def _without(names: Iterable[Any], now: Iterable[Any]) -> list[Any]:
    chosen = frozenset(now)
    return [name for name in names if name not in chosen]


def _named(axis: str, names: list[Any]) -> str:
    some = [str(name or "none") for name in names[:_SHOWN]]
    more = [f"{len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else []
    return f"{axis}{'s' * (len(names) > 1)} {', '.join([*some, *more])}" if names else ""


def _examples(document: Document) -> Iterator[str]:
    chosen = {split["name"]: len(split["lines"]) for split in document["selection"]["splits"]}
    for split in document["splits"]:
        left = len(split["lines"]) - chosen.get(split["name"], 0)
        if left:
            yield f"{left:,} example{'s' * (left > 1)} of {split['name']}"


def _repeats(document: Document) -> str:
    left = document["repeats"] - document["selection"]["repeats"]
    return f"{left:,} repeat{'s' * (left > 1)}" if left else ""
