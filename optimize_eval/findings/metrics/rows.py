"""The rows of a task in a run: what all its scorers said of a sample, and what was made of rows afterwards.

What code makes of rows (which of them rules leave out, the numbers of metrics that are code) is written down
in the journal beside a digest of these rows, so that it is found again without the code, and never counts
for others.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from hashlib import sha256
from typing import Any

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.metrics.shape import RuleFaults, Sampled
from optimize_eval.store.layout import Cell, Layout
from optimize_eval.store.manifest import evaluators_of
from optimize_eval.store.stored import StoredRun
from optimize_eval.store.view import JournalRecord, Reader
from optimize_eval.tasks.kept import KeptScorer, KeptTask

Recorded = Mapping[str, Any]  # a line of the journal

_NONE: Mapping[str, Any] = {}


@frozen
class TaskRow:
    """A sample, and the newest records of a task's scorers, of those that were called, by evaluators."""

    line: int | None
    repeat: int
    place: int  # in a cell
    records: Mapping[str, JournalRecord]
    keys: Mapping[str, str]  # of scorers, by evaluators: one that was changed since has the same

    @property
    def scores(self) -> dict[str, Any]:
        """Give the fields of all scorers that scored it."""
        return {
            self.keys[name]: _said(one)["scores"]
            for name, one in self.records.items()
            if one["outcome"] == "scored"
        }


@frozen
class TaskRows:
    """The rows of a task for one candidate and model, on one split."""

    task: KeptTask
    cells: Mapping[str, Cell]  # of its scorers, by evaluators
    rows: Sequence[TaskRow]
    digest: str

    @property
    def where(self) -> Cell:
        return next(iter(self.cells.values()))


@frozen
class Excluded:
    """Which rows rules leave out, by line and repeat, and which rows they could not be applied to."""

    rules: Mapping[tuple[int | None, int], Sequence[str]] = field(default_factory=dict)
    faults: tuple[RuleFaults, ...] = ()

    def by(self, row: TaskRow) -> Sequence[str]:
        return self.rules.get((row.line, row.repeat), ())


def rows_in(run: StoredRun, layout: Layout, task: KeptTask, reader: Reader) -> Iterator[TaskRows]:
    """Read the rows of a task, of all candidates, models and splits."""
    names = {scorer.evaluator: scorer.key for scorer in task.scorers}
    programs = {one["name"]: one.get("sha256") for one in evaluators_of(run.manifest)}
    places: dict[tuple[str, str | None, str], dict[str, Cell]] = {}
    for cell in layout.cells:
        if cell.evaluator in names:
            where = cell.candidate, cell.task_model, cell.split
            places.setdefault(where, {})[cell.evaluator] = cell
    for where, cells in places.items():
        rows = _rows(layout, cells, reader, names)
        about = [*where, [(names[name], programs.get(name)) for name in cells]]
        samples = layout.split(where[2]).sha256
        yield TaskRows(task=task, cells=cells, rows=rows, digest=_digest(about, samples, rows))


def sampled(rows: TaskRows, scorer: KeptScorer, excluded: Excluded) -> list[tuple[Sampled, Recorded]]:
    """Give what a scorer has of each sample, and its side info; what it skipped is no sample of it."""
    found = []
    for row in rows.rows:
        record = row.records.get(scorer.evaluator)
        if record is None or record["outcome"] == "skipped":
            continue
        said = _said(record) if record["outcome"] == "scored" else None
        fields = None if said is None else said["scores"]
        found.append((Sampled(fields=fields, excluded_by=excluded.by(row)), said or _NONE))
    return found


def counted(samples: Sequence[tuple[Sampled, Recorded]]) -> list[Recorded]:
    """Give the side info of the rows that metrics are of."""
    return [said for one, said in samples if one.fields is not None and not one.excluded_by]


def excluded_in(computed: Sequence[Recorded], rows: TaskRows) -> Excluded | None:
    """Find what the rules came to for these rows; None where they were not applied yet."""
    if not rows.task.actions:
        return Excluded()
    known = (rows.task.digest, rows.digest)
    found = (one for one in reversed(computed) if (one.get("rules"), one.get("rows")) == known)
    return next(map(_excluded, found), None)


def _excluded(record: Recorded) -> Excluded:
    by: dict[tuple[int | None, int], list[str]] = {}
    for rule, places in record["excluded_by"].items():
        for line, repeat in places:
            by.setdefault((line, repeat), []).append(rule)
    faults = [RuleFaults(rule=rule, **fault) for rule, fault in record.get("failed", _NONE).items()]
    return Excluded(rules=by, faults=tuple(faults))


def _rows(
    layout: Layout, cells: Mapping[str, Cell], reader: Reader, keys: Mapping[str, str]
) -> list[TaskRow]:
    found: dict[int, dict[str, JournalRecord]] = {}
    for name, cell in cells.items():
        for place, record in reader.records(cell):
            found.setdefault(place, {})[name] = record
    lines, repeats = layout.split(next(iter(cells.values())).split).lines, layout.repeats
    return [
        TaskRow(
            line=lines[place // repeats],
            repeat=place % repeats + 1,
            place=place,
            records=found[place],
            keys=keys,
        )
        for place in sorted(found)
    ]


def _said(record: JournalRecord) -> dict[str, Any]:
    """Give the side info of a scored row, which has scores, unless somebody edited it."""
    said = record.get("side_info") or {}
    return said if isinstance(said.get("scores"), dict) else {**said, "scores": {}}


def _digest(about: Sequence[Any], samples: Sequence[str], rows: Sequence[TaskRow]) -> str:
    """Digest all that a rule may look at: samples, replies and scores."""
    digest = sha256(_json([about, samples]))
    for row in rows:
        told = {
            row.keys[name]: [one["outcome"], one.get("output"), one.get("side_info")]
            for name, one in row.records.items()
        }
        digest.update(_json([row.line, row.repeat, told]))
    return digest.hexdigest()


def _json(value: Any) -> bytes:
    """Write as the standard library does, so that anybody can digest it again."""
    return json.dumps(value, separators=(",", ":")).encode()
