"""All that a run has, cell by cell, where its cells were not all called with the same examples.

Nothing is compared here: a mean over some examples says nothing beside one over others.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from optimize_eval.reports.columns import wrapped
from optimize_eval.reports.terminal.table import Column, layout_table
from optimize_eval.store.layout import Cell
from optimize_eval.store.stored import StoredRun
from optimize_eval.store.view import Reader

_NOTHING = "\N{EN DASH}"
_NOTE = "all that the run has; its parts have not all been called with the same examples, so none is compared"


class _Row(NamedTuple):
    cell: Cell
    examples: int
    scored: int
    failed: int
    skipped: int
    mean: float | None


def render(run: StoredRun, *, fit: Callable[[str], str], width: int) -> str:
    """Lay out a row for each cell that has a record; `fit` makes a text what it will be in the terminal."""
    with run.reader() as reader:
        rows = [row for cell in run.layout.cells if (row := _row(reader, cell, run.layout.repeats)).examples]
    return "\n".join([*wrapped(" ", _NOTE, width), *layout_table(_columns(rows, fit), width)])


def _columns(rows: Sequence[_Row], fit: Callable[[str], str]) -> list[Column]:
    models = [fit(row.cell.task_model or _NOTHING) for row in rows]
    return [
        Column("evaluator", [fit(row.cell.evaluator) for row in rows], is_name=True),
        Column("candidate", [fit(row.cell.candidate) for row in rows], is_name=True),
        *([Column("task model", models, is_name=True)] if any(row.cell.task_model for row in rows) else []),
        Column("split", [fit(row.cell.split) for row in rows], is_text=True),
        Column("mean", [_NOTHING if row.mean is None else f"{row.mean:.3f}" for row in rows]),
        Column("examples", [f"{row.examples:,}" for row in rows]),
        Column("scored", [f"{row.scored:,}" for row in rows]),
        Column("failed", [f"{row.failed:,}" for row in rows]),
        *([Column("skipped", [f"{row.skipped:,}" for row in rows])] if any(r.skipped for r in rows) else []),
    ]


def _row(reader: Reader, cell: Cell, repeats: int) -> _Row:
    """Count what a cell has; its mean is over examples, of each the mean of its repeats."""
    outcomes: dict[str, int] = defaultdict(int)
    scores: Mapping[int, list[float]] = defaultdict(list)
    examples = set()
    for place, record in reader.records(cell):
        outcomes[record["outcome"]] += 1
        examples.add(place // repeats)
        if record["outcome"] == "scored" and record["score"] is not None:
            scores[place // repeats].append(record["score"])
    mean = fmean(map(fmean, scores.values())) if scores else None
    return _Row(cell, len(examples), outcomes["scored"], outcomes["failed"], outcomes["skipped"], mean)
