"""What other runs have scored of what a run is about, told from their run.json alone: no journal is read."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from optimize_eval.errors import OptimizeEvalError
from optimize_eval.store.document import Document, current
from optimize_eval.store.folder import JOURNAL, MANIFEST, read_document
from optimize_eval.store.keys import digest_of_candidate, shown_as

AUTO = "auto"

_MOST_RUNS = 50
_MOST_FILES = 1000
_MOST_BYTES = 1 << 22  # of a run.json that is looked into

Cells = dict[tuple[Any, ...], Mapping[str, Any]]


class Elsewhere(NamedTuple):
    """A run that has scored what is owed here."""

    folder: Path
    calls: int


def runs_beside(own: Path) -> list[Path]:
    """List the other runs in the folder that a run is in, the newest first."""
    found: list[tuple[float, Path]] = []
    try:
        for _, path in zip(range(_MOST_FILES), own.parent.iterdir(), strict=False):
            if path.name != own.name and (path / MANIFEST).is_file() and (path / JOURNAL).is_file():
                found.append((-(path / JOURNAL).stat().st_mtime, path))
    except OSError:
        return []
    return [path for _, path in sorted(found)[:_MOST_RUNS]]


def known_elsewhere(own: Path, document: Document, owed: Mapping[tuple[Any, ...], int]) -> Elsewhere | None:
    """Find the run that has scored most of what is owed; `owed` counts it by cell."""
    found = [Elsewhere(folder, _known(there, document, owed)) for folder, there in _documents(own)]
    best = max(found, key=lambda one: one.calls, default=None)
    return best if best and best.calls else None


def _documents(own: Path) -> Iterator[tuple[Path, Document]]:
    for folder in runs_beside(own):
        try:
            if (folder / MANIFEST).stat().st_size <= _MOST_BYTES and (found := read_document(folder)):
                yield folder, found
        except (OptimizeEvalError, OSError):
            continue


def _known(there: Document, here: Document, owed: Mapping[tuple[Any, ...], int]) -> int:
    """Count calls that are scored there and owed here; of a cell no more than its examples allow."""
    try:
        cells, shared = _cells(there), _shared(there, here)
        evaluators, candidates = current(here["evaluators"]), current(here["candidates"])
        repeats = min(there["repeats"], here["repeats"])
        return sum(
            min(many, shared.get(split, 0) * repeats, cells[key]["scored"])
            for (evaluator, candidate, model, split), many in owed.items()
            if (key := (*_program(evaluators[evaluator]), _text(candidates[candidate]), model, split))
            in cells
        )
    except (AttributeError, KeyError, TypeError, ValueError):  # somebody edited it
        return 0


def _cells(document: Document) -> Cells:
    """Find cells by what they are, not by how they are called."""
    programs = {_shown(one, str(one.get("sha256"))): _program(one) for one in document["evaluators"]}
    texts = {_shown(one, digest_of_candidate(one)): _text(one) for one in document["candidates"]}
    return {
        (*programs[cell["evaluator"]], texts[cell["candidate"]], cell["task_model"], cell["split"]): cell
        for cell in document["cells"]
    }


def _shared(there: Document, here: Document) -> dict[str, int]:
    """Count the examples that both have, line by line."""
    lines = {one["name"]: set(zip(one["lines"], one["sha256"], strict=True)) for one in there["splits"]}
    return {
        one["name"]: len(
            lines.get(one["name"], set()).intersection(zip(one["lines"], one["sha256"], strict=True))
        )
        for one in here["splits"]
    }


def _shown(entry: Mapping[str, Any], digest: str) -> str:
    return shown_as(entry["name"], digest) if entry.get("superseded") else str(entry["name"])


def _program(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return entry.get("sha256"), entry["score_range"]


def _text(entry: Mapping[str, Any]) -> str:
    return digest_of_candidate(entry)
