"""The axes of run.json, of either version, and which records are of what it has now."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def read_axes(path: Path) -> dict[str, Any]:
    """Give what the last command was about; evaluators that were added after it stand apart."""
    told: dict[str, Any] = json.loads(path.read_bytes())
    if "selection" not in told:
        return {**told, "additions": told.get("additions", [])}
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
            {**one, "sha256": [digests[one["name"]][line] for line in one["lines"]]}
            for one in chosen["splits"]
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
