"""Other runs whose scores may be reused: which they are, and what they have scored of these calls.

What is copied of them is decided in run.begin_or_resume, for a search in search.recorded_scores.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from optimize_eval.base import files
from optimize_eval.base.errors import OptimizeEvalError
from optimize_eval.store.folder import JOURNAL, MANIFEST, holder
from optimize_eval.store.layout import CellName
from optimize_eval.store.opened_run import StoredRun, open_stored
from optimize_eval.store.run_document import (
    RunDocument,
    StoredCandidate,
    StoredProgram,
    StoredSplit,
    current,
)
from optimize_eval.store.run_json import SCHEMA, read_document

AUTO = "auto"

_MOST_RUNS = 50
_MOST_FILES = 1000
_MOST_BYTES = 1 << 22  # of a run.json that is looked into

Owed = Iterable[tuple[CellName, Sequence[tuple[int | None, int]]]]  # of a cell: lines and repeats
Content = tuple[Any, ...]  # of a cell: programs and texts by their digests, not by their names


class OwedCell(NamedTuple):
    """What is owed of a cell, by what the cell is."""

    content: Content
    split: str
    lines: Mapping[int, set[int | None]]  # by repeat


class Elsewhere(NamedTuple):
    """A run that has scored what is owed here: at least and at most so many calls.

    The two differ where it has scored some of a cell only, and some of that cell is owed here.
    """

    folder: Path
    least: int
    calls: int


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


def known_elsewhere(own: Path, document: RunDocument, owed: Callable[[], Owed]) -> Elsewhere | None:
    """Find the run that has scored most of what is owed, which is listed only where there is another run."""
    documents = list(documents_beside(own, document))
    if not documents:
        return None
    others = [_Other(folder, there, document) for folder, there in documents]
    for cell in _by_content(document, owed()):
        for other in others:
            other.count(cell)
    best = max(others, key=lambda other: other.most)
    return Elsewhere(best.folder, best.least, best.most) if best.most else None


def documents_beside(own: Path, document: RunDocument) -> Iterator[tuple[Path, RunDocument]]:
    """Read the run.json of other runs; only those are decoded that name one of our programs."""
    programs = [evaluator.sha256.encode() for evaluator in current(document.evaluators).values()]
    for folder in runs_beside(own):
        try:
            if (folder / MANIFEST).stat().st_size > _MOST_BYTES:
                continue
            data = files.load(folder / MANIFEST, files.OF_A_RUN)
            is_like = SCHEMA.encode() in data and any(sha256 in data for sha256 in programs)
            there = read_document(folder, is_to_grow=True) if is_like else None
        except (OSError, OptimizeEvalError):
            continue
        if there:
            yield folder, there


def _by_content(document: RunDocument, owed: Owed) -> Iterator[OwedCell]:
    evaluators, candidates = current(document.evaluators), current(document.candidates)
    models = current(document.models)
    for (evaluator, candidate, model, split), places in owed:
        lines: defaultdict[int, set[int | None]] = defaultdict(set)
        for line, repeat in places:
            lines[repeat].add(line)
        what = evaluators[evaluator], candidates[candidate], _digest(models, model)
        yield OwedCell(_content(*what, split), split, lines)


def content_of_cell(document: RunDocument, cell: CellName) -> Content:
    """Say what a cell is, whatever its parts are called."""
    evaluator, candidate, model, split = cell
    what = current(document.evaluators)[evaluator], current(document.candidates)[candidate]
    return _content(*what, _digest(current(document.models), model), split)


class _Other:
    """Another run, and how many calls are scored there and owed here: at least and at most."""

    def __init__(self, folder: Path, there: RunDocument, here: RunDocument) -> None:
        self.folder = folder
        self.least = self.most = 0
        self._there, self._here = there, here
        self._sizes = {split.name: len(split.lines) * there.repeats for split in there.splits}
        try:
            self._scored = _count_scored(there)
        except KeyError:  # it was edited
            self._scored = {}

    def count(self, owed: OwedCell) -> None:
        scored = self._scored.get(owed.content)
        if scored is None:
            return
        shared, needed = self._shared[owed.split], owed.lines
        common = sum(len(needed[repeat] & shared) for repeat in needed if repeat <= self._there.repeats)
        self.least += max(0, common - (self._sizes[owed.split] - scored)) if common else 0
        self.most += min(common, scored)

    @cached_property
    def _shared(self) -> dict[str, set[int | None]]:
        return _find_shared(self._there, self._here)


def _count_scored(document: RunDocument) -> dict[Content, int]:
    """Count what is scored or skipped of each cell, by what it is, not by the names of what is in it."""
    evaluators = {evaluator.name_in_cells: evaluator for evaluator in document.evaluators}
    candidates = {candidate.name_in_cells: candidate for candidate in document.candidates}
    models = {model.name_in_cells: model for model in document.models}
    return {
        _content(
            evaluators[cell.evaluator],
            candidates[cell.candidate],
            _digest(models, cell.task_model),
            cell.split,
        ): cell.scored + cell.skipped
        for cell in document.cells
        if cell.scored or cell.skipped
    }


def _digest(models: Mapping[str, StoredProgram], name: str | None) -> str | None:
    """Give the digest of a model that is called; another task model is its name."""
    return models[name].sha256 if name is not None and name in models else name


def _content(evaluator: StoredProgram, candidate: StoredCandidate, model: str | None, split: str) -> Content:
    return evaluator.sha256, evaluator.score_range, candidate.digest, model, split


def _find_shared(there: RunDocument, here: RunDocument) -> dict[str, set[int | None]]:
    """Find the lines of examples that are the same in both."""
    others = {split.name: split for split in there.splits}
    return {split.name: _shared_lines(split, others.get(split.name)) for split in here.splits}


def _shared_lines(split: StoredSplit, other: StoredSplit | None) -> set[int | None]:
    if other is None:
        return set()
    if (split.lines, split.sha256) == (other.lines, other.sha256):
        return set(split.lines)
    return {line for line, _ in split.by_line.items() & other.by_line.items()}


def folders_of(own: Path, named: Sequence[str]) -> Iterator[tuple[Path, bool]]:
    """Give the folders that are meant, and whether they are named."""
    yield from (
        (Path(name_or_path), True)
        for name_or_path in named
        if name_or_path != AUTO and Path(name_or_path).resolve() != own.resolve()
    )
    if AUTO in named:
        yield from ((folder, False) for folder in runs_beside(own))


@contextmanager
def damage_noted(folder: Path, notes: list[str], *, is_named: bool) -> Iterator[None]:
    """Note what forbids reading another run, which is then skipped; of one that was named it is an error."""
    try:
        yield
    except OptimizeEvalError as error:
        if is_named:
            raise
        notes.append(_not_reused(folder, error.message))


def opened_for_reuse(folder: Path, notes: list[str], *, is_named: bool) -> StoredRun | None:
    """Open another run; one that is in use or changed is skipped with a note, unless it was named."""
    if is_named:
        return open_stored(folder)
    if holder(folder) is not None:
        notes.append(_not_reused(folder, "it is in use"))
        return None
    run = open_stored(folder)
    if changed := run.ledger.ledger.changed:
        notes.append(_not_reused(folder, f"{', '.join(sorted(changed))} changed while being called"))
        return None
    return run


def _not_reused(folder: Path, reason: str) -> str:
    return f"{folder} is not reused: {reason}"


def programs_of(run: StoredRun) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Give by name the programs whose scores a run has; one that changed meanwhile is none."""
    evaluators = run.document.evaluators
    for name in {evaluator.name for evaluator in evaluators} - run.ledger.ledger.changed:
        entries = [evaluator for evaluator in evaluators if evaluator.name == name and not evaluator.since]
        yield name, [(entry.sha256, str(entry.score_range)) for entry in entries]
