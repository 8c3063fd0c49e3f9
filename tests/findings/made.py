"""Runs made by hand: a layout and its journal's records from scores that a test writes down."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import Any, cast

from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings import summary_shape as findings
from optimize_eval.findings.summary import summarise
from optimize_eval.store import journal
from optimize_eval.store.command_units import JournalRecord
from optimize_eval.store.folder import JOURNAL
from optimize_eval.store.journal import seal
from optimize_eval.store.layout import SINGLE, Cell, Layout, Split
from optimize_eval.store.run_document import (
    BENCH,
    RUN,
    RunDocument,
    StoredCandidate,
    StoredProgram,
    StoredSplit,
    counted_cell,
)
from optimize_eval.store.run_json import write_document

LEAD = "judge"

Summary = dict[str, Any]

_PLAN = "made"


@dataclass(frozen=True, slots=True)
class Fails:
    """A call without a score."""

    kind: str = "timeout"
    message: str = "no answer within 10 s"


@dataclass(frozen=True, slots=True)
class Says:
    """A score with side information."""

    score: float
    side_info: Mapping[str, Any]


class No(Enum):
    """A unit without any answer."""

    OWED = auto()
    SKIPPED = auto()


Entry = float | Fails | Says | No
Example = Entry | tuple[Entry, ...]  # a tuple holds repeats
Candidates = Mapping[str, Mapping[str, Sequence[Example]]]  # by candidate, then by split
Asked = str | tuple[str, str]  # an evaluator, or an evaluator and a task model


@dataclass(frozen=True, kw_only=True)
class Made:
    """A run: what was asked, and what came back."""

    layout: Layout
    told: Mapping[Asked, Candidates] = field(repr=False)
    is_bench: bool = False
    _read: dict[Cell, dict[int, dict[str, Any]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def records(self, cell: Cell, places: Iterable[int] | None = None) -> Iterator[tuple[int, JournalRecord]]:
        """Give a cell's records as the journal's reader does."""
        every = self._read.get(cell)
        if every is None:
            every = self._read[cell] = dict(self._records(cell))
        wanted = every if places is None else places
        yield from ((place, cast("JournalRecord", every[place])) for place in wanted if place in every)

    def _records(self, cell: Cell) -> Iterator[tuple[int, dict[str, Any]]]:
        asked = cell.evaluator if cell.task_model is None else (cell.evaluator, cell.task_model)
        entries = self.told[asked][cell.candidate][cell.split]
        lines = self.layout.split(cell.split).lines
        for example, (line, entry) in enumerate(zip(lines, entries, strict=True)):
            for repeat, one in enumerate(_repeats(entry)):
                if one is not No.OWED:
                    where = {
                        "evaluator": cell.evaluator,
                        "candidate": cell.candidate,
                        "task_model": cell.task_model,
                        "split": cell.split,
                        "line": line,
                        "repeat": repeat + 1,
                    }
                    yield example * self.layout.repeats + repeat, where | _outcome(one)

    def every_record(self) -> Iterator[dict[str, Any]]:
        for cell in self.layout.cells:
            for _, record in self.records(cell):
                yield dict(record)

    def findings(self) -> findings.Summary:
        return summarise(self.layout, self.records)[0]

    def summary(self) -> Summary:
        return self.findings().to_dict()

    def write(self, folder: Path) -> Path:
        """Write a folder that commands take for this run's."""
        folder.mkdir()
        write_document(folder, document_of(self.layout, kind=BENCH if self.is_bench else RUN))
        header = {"schema": journal.SCHEMA, "plan": _PLAN}
        (folder / JOURNAL).write_bytes(b"".join(map(seal, [header, *self.every_record()])))
        return folder


def document_of(layout: Layout, *, kind: str = RUN, sha256: str = "") -> RunDocument:
    """Make what run.json says of a run of just this layout."""
    return RunDocument(
        id=_PLAN,
        kind=kind,
        evaluators=tuple(
            StoredProgram(
                name=name,
                text=name,
                files=(),
                sha256=sha256,
                score_range=score_range,
                splits=layout.splits_of.get(name),
            )
            for name, score_range in zip(layout.evaluators, layout.score_ranges, strict=True)
        ),
        candidates=tuple(StoredCandidate(name=name) for name in layout.candidates),
        task_models=layout.task_models,
        models=tuple(map(_model, filter(None, layout.task_models))) if kind == BENCH else (),
        splits=tuple(
            StoredSplit(name=split.name, lines=split.lines, sha256=split.sha256) for split in layout.splits
        ),
        repeats=layout.repeats,
        cells=tuple(counted_cell(cell[:4], (0, 0, 0, cell.size)) for cell in layout.cells),
        selection=layout,
        settings={"margins": dict(layout.margins)} if layout.margins else {},
    )


def made(
    told: Mapping[Any, Candidates],
    *,
    score_range: ScoreRange = ScoreRange.UNIT,
    baseline: str | None = None,
    seed: int = 0,
    clusters: Mapping[str, Sequence[str]] | None = None,
    groups: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    sha256: Mapping[str, Sequence[str]] | None = None,
    margins: Mapping[str, float] | None = None,
    is_bench: bool = False,
) -> Made:
    """Make a run of what each evaluator told of each candidate; all axes are read off it.

    In a bench task models are models, and each evaluator scores the tasks of some splits.
    """
    first = next(iter(told.values()))
    candidates = tuple(first)
    every = [one[candidates[0]] for one in told.values()]
    splits = {name: len(entries) for splits in every for name, entries in splits.items()}
    asked = [key if isinstance(key, tuple) else (key, None) for key in told]
    own = {
        name: tuple(one)
        for (name, _), one in zip(asked, every, strict=True)
        if is_bench or len(one) < len(splits)
    }
    evaluators = tuple(dict.fromkeys(evaluator for evaluator, _ in asked))
    some = next(entries[0] for entries in first[candidates[0]].values() if len(entries))
    paths = tuple(next(iter(groups.values()))) if groups else ()
    layout = Layout(
        evaluators=evaluators,
        score_ranges=(score_range,) * len(evaluators),
        candidates=candidates,
        task_models=tuple(dict.fromkeys(task_model for _, task_model in asked)),
        splits=tuple(
            Split(
                name=name,
                lines=(None,) if name == SINGLE else tuple(range(1, n + 1)),
                sha256=tuple(sha256[name]) if sha256 else tuple(f"{name} {place}" for place in range(n)),
                clusters=tuple(clusters[name]) if clusters else None,
                groups={path: tuple(groups[name][path]) for path in paths} if groups else {},
            )
            for name, n in splits.items()
        ),
        repeats=len(_repeats(some)),
        baseline=baseline or candidates[0],
        seed=seed,
        cluster_by="metadata.doc_id" if clusters else None,
        group_by=paths,
        splits_of=own,
        margins=margins or {},
    )
    return Made(layout=layout, told=told, is_bench=is_bench)


def on_val(**candidates: Sequence[Example]) -> Made:
    """Make a run of one evaluator over val alone."""
    return made({LEAD: {name: {"val": entries} for name, entries in candidates.items()}})


def on_train_and_val(**candidates: tuple[Sequence[Example], Sequence[Example]]) -> Made:
    return made({LEAD: {name: {"train": t, "val": v} for name, (t, v) in candidates.items()}})


def row_of(summary: Summary, candidate: str, evaluator: str = LEAD) -> dict[str, Any]:
    """Find the first row of a candidate."""
    found: dict[str, Any] = next(
        row for row in summary["rows"] if (row["candidate"], row["evaluator"]) == (candidate, evaluator)
    )
    return found


def headline(summary: Summary) -> str:
    return str(summary["verdict"]["text"])


def points(summary: Summary) -> list[str]:
    """Give the verdict's points as they are read: mark, blank, text."""
    return [f"{point['mark']} {point['text']}" for point in summary["verdict"]["points"]]


def saying(summary: Summary, *words: str) -> list[str]:
    """Find the points that hold all these words."""
    return [point for point in points(summary) if all(word in point for word in words)]


def noisy(n: int, *, mean: float = 0.5, sd: float = 0.1, seed: int = 1) -> list[float]:
    """Draw scores within 0 to 1 that are neither 0 nor 1."""
    draw = random.Random(seed)
    return [min(0.99, max(0.01, draw.gauss(mean, sd))) for _ in range(n)]


def moved(scores: Sequence[float], by: float, *, sd: float = 0.02, seed: int = 2) -> list[float]:
    """Move scores by so much on average, exactly."""
    draw = random.Random(seed)
    noise = [draw.gauss(0, sd) for _ in scores]
    centre = sum(noise) / len(noise)
    return [score + by + one - centre for score, one in zip(scores, noise, strict=True)]


def _model(name: str) -> StoredProgram:
    return StoredProgram(name=name, text=name, files=(), sha256=f"of {name}")


def _repeats(example: Example) -> tuple[Entry, ...]:
    return example if isinstance(example, tuple) else (example,)


def _outcome(entry: Entry) -> dict[str, Any]:
    match entry:
        case Fails(kind, message):
            return {"outcome": "failed", "kind": kind, "message": message, "seconds": 0.5, "attempts": 2}
        case No():
            return {"outcome": "skipped", "message": "filtered"}
        case Says(score, side_info):
            said = dict(side_info)
        case _:
            score, said = float(entry), {}
    return {"outcome": "scored", "score": score, "side_info": said, "seconds": 0.25, "attempts": 1}
