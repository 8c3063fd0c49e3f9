"""What other runs have scored of a run's calls, read from their run.json alone, not from journals."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from optimize_eval.errors import OptimizeEvalError
from optimize_eval.store.document import Document, current
from optimize_eval.store.folder import JOURNAL, MANIFEST, read_document
from optimize_eval.store.keys import CellName, digest_of_candidate, shown_as

AUTO = "auto"

_MOST_RUNS = 50
_MOST_FILES = 1000
_MOST_BYTES = 1 << 22  # of a run.json that is looked into

Cells = dict[tuple[Any, ...], Mapping[str, Any]]


Owed = Mapping[CellName, Sequence[tuple[int | None, int]]]  # by cell: lines and repeats


class Elsewhere(NamedTuple):
    """A run that has scored what is owed here; at most so many calls where it has some of a cell only."""

    folder: Path
    calls: int
    is_exact: bool


def runs_beside(own: Path) -> list[Path]:
    """List the other runs in the folder that a run is in, the newest first."""
    runs: list[tuple[float, Path]] = []
    try:
        for _, path in zip(range(_MOST_FILES), own.parent.iterdir(), strict=False):
            if path.name != own.name and (path / MANIFEST).is_file() and (path / JOURNAL).is_file():
                runs.append((-(path / JOURNAL).stat().st_mtime, path))
    except OSError:
        return []
    return [path for _, path in sorted(runs)[:_MOST_RUNS]]


def known_elsewhere(own: Path, document: Document, owed: Callable[[], Owed]) -> Elsewhere | None:
    """Find the run that has scored most of what is owed, which is listed only where there is another run."""
    documents = list(_documents(own))
    wanted = owed() if documents else {}
    others = [Elsewhere(folder, *_known(there, document, wanted)) for folder, there in documents]
    best = max(others, key=lambda one: one.calls, default=None)
    return best if best and best.calls else None


def _documents(own: Path) -> Iterator[tuple[Path, Document]]:
    for folder in runs_beside(own):
        try:
            if (folder / MANIFEST).stat().st_size <= _MOST_BYTES and (document := read_document(folder)):
                yield folder, document
        except (OptimizeEvalError, OSError):
            continue


def _known(there: Document, here: Document, owed: Owed) -> tuple[int, bool]:
    """Count calls that are scored there and owed here, and say whether the cells there are all scored."""
    try:
        cells, shared, repeats = _cells(there), _shared(there, here), there["repeats"]
        sizes = {split["name"]: len(split["lines"]) * repeats for split in there["splits"]}
        calls, is_exact = 0, True
        for name, places in owed.items():
            cell = cells.get(_essence(here, name))
            if cell is None:
                continue
            both = sum(line in shared[name[3]] and repeat <= repeats for line, repeat in places)
            calls += min(both, cell["scored"])
            is_exact = is_exact and (not both or cell["scored"] == sizes[name[3]])
    except (AttributeError, KeyError, TypeError, ValueError):  # somebody edited it
        return 0, True
    return calls, is_exact


def _essence(document: Document, name: CellName) -> tuple[Any, ...]:
    """Identify a cell by content, not by the names of its evaluator and candidate."""
    evaluator, candidate, model, split = name
    program = _program(current(document["evaluators"])[evaluator])
    return (*program, _text(current(document["candidates"])[candidate]), model, split)


def _cells(document: Document) -> Cells:
    """Find cells by what they are, not by how they are called."""
    programs = {
        _shown(evaluator, str(evaluator.get("sha256"))): _program(evaluator)
        for evaluator in document["evaluators"]
    }
    texts = {
        _shown(candidate, digest_of_candidate(candidate)): _text(candidate)
        for candidate in document["candidates"]
    }
    return {
        (*programs[cell["evaluator"]], texts[cell["candidate"]], cell["task_model"], cell["split"]): cell
        for cell in document["cells"]
    }


def _shared(there: Document, here: Document) -> dict[str, set[int | None]]:
    """Find the lines of examples that are the same in both."""
    lines = {
        split["name"]: set(zip(split["lines"], split["sha256"], strict=True)) for split in there["splits"]
    }
    return {
        split["name"]: {
            line
            for line, digest in zip(split["lines"], split["sha256"], strict=True)
            if (line, digest) in lines.get(split["name"], ())
        }
        for split in here["splits"]
    }


def _shown(entry: Mapping[str, Any], digest: str) -> str:
    return shown_as(entry["name"], digest) if entry.get("superseded") else str(entry["name"])


def _program(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return entry.get("sha256"), entry["score_range"]


def _text(entry: Mapping[str, Any]) -> str:
    return digest_of_candidate(entry)
