"""The rows of a task in a run: what its scorers said, which rules leave out, and metrics of these.

What code makes of rows (which of them rules leave out, the numbers of metrics that are code) is written down
in the journal beside a digest of these rows, so that it is found again without the code, and never counts
for others.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace
from functools import cached_property, partial
from hashlib import sha256
from itertools import chain
from typing import cast

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.frozen import Remembers, frozen
from optimize_eval.findings.metrics import Values, tabulate
from optimize_eval.findings.summary_shape import MetricFault, RuleFaults, Sampled, ScorerMetrics
from optimize_eval.store.command_units import CountsAs, JournalRecord, Reader
from optimize_eval.store.layout import Cell, CellName, Layout
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.records import LeftOut, Records, Unit, unit_of
from optimize_eval.tasks.definition import PythonMetric, digest_of, digest_of_code, filter_to_dict
from optimize_eval.tasks.stored_tasks import KeptScorer, KeptTask, tasks_in


def has_tasks(run: StoredRun) -> bool:
    return "tasks" in run.document.settings


def records_of(run: StoredRun) -> Records:
    """Give a run's records, those of rows that rules leave out with these rules."""
    return Records(run, left_out)


Recorded = JsonMapping  # a line of the journal

_NONE: JsonMapping = {}


@frozen
class TaskRow:
    """A sample, and the newest records of a task's scorers, of those that were called, by evaluators."""

    line: int | None
    repeat: int
    place: int  # in a cell
    records: Mapping[str, JournalRecord]
    keys: Mapping[str, str]  # of scorers, by evaluators: one that was changed since has the same

    @property
    def scores(self) -> JsonDict:
        """Give the fields of all scorers that scored it."""
        return {
            self.keys[name]: _side_info_of(one)["scores"]
            for name, one in self.records.items()
            if one["outcome"] == "scored"
        }


@frozen
class TaskRows(Remembers):
    """The rows of a task for one candidate and model, on one split."""

    task: KeptTask
    cells: Mapping[str, Cell]  # of its scorers, by evaluators
    rows: Sequence[TaskRow]
    programs: Mapping[str, str | None]  # the digests of all evaluators
    samples: Sequence[str]  # digests

    @property
    def where(self) -> Cell:
        return next(iter(self.cells.values()))

    @cached_property
    def digest(self) -> str:
        """Digest all that a rule may look at: samples, replies and scores."""
        keys = {scorer.evaluator: scorer.key for scorer in self.task.scorers}
        scorers = [(keys[name], self.programs.get(name)) for name in self.cells]
        digest = sha256(_json([[*self.where[1:4], scorers], self.samples]))
        for row in self.rows:
            said = {
                row.keys[name]: [record["outcome"], record.get("output"), record.get("side_info")]
                for name, record in row.records.items()
            }
            digest.update(_json([row.line, row.repeat, said]))
        return digest.hexdigest()

    def of(self, evaluators: AbstractSet[str]) -> "TaskRows":
        """Give the rows as if the run had had some of the scorers alone."""
        if evaluators >= self.cells.keys():
            return self
        cells = {name: cell for name, cell in self.cells.items() if name in evaluators}
        rows = [
            replace(row, records=records)
            for row in self.rows
            if (records := {name: record for name, record in row.records.items() if name in cells})
        ]
        return replace(self, cells=cells, rows=rows)


@frozen
class Excluded:
    """Which rows rules leave out, by line and repeat, and which rows they could not be applied to."""

    rules: Mapping[tuple[int | None, int], Sequence[str]] = field(default_factory=dict)
    faults: tuple[RuleFaults, ...] = ()

    def by(self, row: TaskRow) -> Sequence[str]:
        return self.rules.get((row.line, row.repeat), ())


def rows_in(run: StoredRun, layout: Layout, task: KeptTask, reader: Reader) -> Iterator[TaskRows]:
    """Read the rows of a task, of all candidates, models and splits."""
    for cells in cells_of(task, layout).values():
        yield read_rows(run, task, cells, reader)


def cells_of(task: KeptTask, layout: Layout) -> dict[CellName, dict[str, Cell]]:
    """Find the cells of a task's scorers by where they are, which a task makes the first of their names."""
    names = {scorer.evaluator for scorer in task.scorers}
    places: dict[CellName, dict[str, Cell]] = {}
    for cell in layout.cells:
        if cell.evaluator in names:
            places.setdefault(_where(task, cell), {})[cell.evaluator] = cell
    return places


def _where(task: KeptTask, cell: Cell) -> CellName:
    return task.scorers[0].evaluator, *cell[1:4]


def read_rows(run: StoredRun, task: KeptTask, cells: Mapping[str, Cell], reader: Reader) -> TaskRows:
    """Read the rows of a task that some cells hold."""
    records: dict[int, dict[str, JournalRecord]] = {}
    for name, cell in cells.items():
        for place, record in reader.records(cell):
            records.setdefault(place, {})[name] = record
    split, repeats = run.layout.split(next(iter(cells.values())).split), run.layout.repeats
    keys = {scorer.evaluator: scorer.key for scorer in task.scorers}
    rows = [
        TaskRow(
            line=split.lines[place // repeats],
            repeat=place % repeats + 1,
            place=place,
            records=records[place],
            keys=keys,
        )
        for place in sorted(records)
    ]
    programs = {entry.name: entry.sha256 for entry in run.document.selected_evaluators}
    return TaskRows(task=task, cells=cells, rows=rows, programs=programs, samples=split.sha256)


def sampled(rows: TaskRows, scorer: KeptScorer, excluded: Excluded) -> list[tuple[Sampled, Recorded]]:
    """Give what a scorer has of each sample, and its side info; what it skipped is no sample of it."""
    samples = []
    for row in rows.rows:
        record = row.records.get(scorer.evaluator)
        if record is None or record["outcome"] == "skipped":
            continue
        said = _side_info_of(record) if record["outcome"] == "scored" else None
        fields = None if said is None else said["scores"]
        samples.append((Sampled(fields=fields, excluded_by=excluded.by(row)), said or _NONE))
    return samples


def counted(samples: Sequence[tuple[Sampled, Recorded]]) -> list[Recorded]:
    """Give the side info of the rows that metrics are of."""
    return [said for sample, said in samples if sample.fields is not None and not sample.excluded_by]


def excluded_in(computed: Sequence[Recorded], rows: TaskRows) -> Excluded | None:
    """Find what the rules came to for these rows; None where they were not applied yet."""
    if not rows.task.actions:
        return Excluded()
    known = (rows.task.digest, rows.digest)
    applied = (entry for entry in reversed(computed) if (entry.get("rules"), entry.get("rows")) == known)
    return next(map(_read_excluded, applied), None)


def _read_excluded(record: Recorded) -> Excluded:
    by: dict[tuple[int | None, int], list[str]] = {}
    for rule, places in record["excluded_by"].items():
        for line, repeat in places:
            by.setdefault((line, repeat), []).append(rule)
    faults = [RuleFaults(rule=rule, **fault) for rule, fault in record.get("failed", _NONE).items()]
    return Excluded(rules=by, faults=tuple(faults))


def _side_info_of(record: JournalRecord) -> JsonDict:
    """Give the side info of a scored row, which has scores, unless somebody edited it."""
    said = record.get("side_info") or {}
    return said if isinstance(said.get("scores"), dict) else {**said, "scores": {}}


def _json(value: object) -> bytes:
    """Write as the standard library does, so that anybody can digest it again."""
    return json.dumps(value, separators=(",", ":")).encode()


_OUTCOMES = re.compile(r"\b(scores|solver_output)\b")


def counts_as(run: StoredRun) -> CountsAs | None:
    """Let records of rows that rules leave out count as skipped; None for most runs, which have no rules."""
    left = left_out(run)
    return partial(_count_as, left, _rules_of_outcomes(run)) if left else None


def _rules_of_outcomes(run: StoredRun) -> frozenset[str]:
    """Name the rules that look at scores or replies."""
    actions = (action for task in tasks_in(run.document.settings) for action in task.actions)
    return frozenset(action.key for action in actions if _OUTCOMES.search(str(filter_to_dict(action.filter))))


def left_out(run: StoredRun) -> LeftOut:
    """Find the units that rules leave out, each with these rules."""
    tasks = [task for task in tasks_in(run.document.settings) if task.actions]
    if not tasks:
        return {}
    computed = run.ledger.ledger.computed
    with run.reader() as reader:
        every = chain.from_iterable(rows_in(run, run.layout, task, reader) for task in tasks)
        return dict(chain.from_iterable(_units_left_out(rows, excluded_in(computed, rows)) for rows in every))


def _units_left_out(rows: TaskRows, excluded: Excluded | None) -> Iterator[tuple[Unit, Sequence[str]]]:
    for row, rules in excluded.rules.items() if excluded else ():
        yield from (((*cell[:4], *row), rules) for cell in rows.cells.values())


def _count_as(left: LeftOut, of_outcomes: frozenset[str], record: JournalRecord) -> JournalRecord:
    rules = left.get(unit_of(record)) if record["outcome"] == "scored" else None
    if rules is None:
        return record
    message = f"left out by {', '.join(rules)}"
    is_by_outcome = not of_outcomes.isdisjoint(rules)
    changes = {"outcome": "skipped", "message": message, "excluded_by": rules, "by_outcome": is_by_outcome}
    return cast("JournalRecord", {**record, **changes})


CodeKey = tuple[str, str]  # the digests of code and rows

_NOT_APPLIED = "the task's rules were not applied to these rows yet: run the command again"


class TaskReading:
    """Reads the records of a run with tasks once: for numbers by cell, and for the tasks' metrics.

    The rows of a task are read together, as rules and metrics are of all that its scorers say of a sample.
    Metrics are of a layout that may lack some of the scorers that rules look at.
    """

    def __init__(self, run: StoredRun, layout: Layout, reader: Reader) -> None:
        self._run = run
        self._layout = layout
        self._reader = reader
        self._tasks = tasks_in(run.document.settings)
        self._task_of = {scorer.evaluator: task for task in self._tasks for scorer in task.scorers}
        self._cells = {
            key: cells for task in self._tasks for key, cells in cells_of(task, run.layout).items()
        }
        self._of_code = code_values(run.ledger.ledger.computed)
        self._of_outcomes = _rules_of_outcomes(run)
        self._left: dict[Unit, Sequence[str]] = {}
        self._metrics: dict[CellName, tuple[ScorerMetrics, ...]] = {}
        self._current: tuple[CellName, TaskRows] | None = None

    def records(self, cell: Cell, places: Iterable[int] | None = None) -> Iterator[tuple[int, JournalRecord]]:
        """Give a cell's records, in which rows that rules leave out count as skipped."""
        task = self._task_of.get(cell.evaluator)
        if task is None or places is not None:
            read = self._reader.records(cell, places)
        else:
            rows = self._rows(task, _where(task, cell)).rows
            read = ((row.place, row.records[cell.evaluator]) for row in rows if cell.evaluator in row.records)
        for place, record in read:
            yield place, _count_as(self._left, self._of_outcomes, record) if self._left else record

    def metrics(self) -> tuple[ScorerMetrics, ...]:
        """Give the metrics of all tasks in the run's order, of what was not read before, too."""
        wheres = [(task, where) for task in self._tasks for where in cells_of(task, self._layout)]
        for task, where in wheres:
            if where not in self._metrics:
                self._rows(task, where)
        return tuple(metrics for _, where in wheres for metrics in self._metrics[where])

    def _rows(self, task: KeptTask, where: CellName) -> TaskRows:
        if self._current is None or self._current[0] != where:
            self._current = None  # the rows of one task are enough to hold
            self._current = where, read_rows(self._run, task, self._cells[where], self._reader)
            self._take(where, self._current[1])
        return self._current[1]

    def _take(self, where: CellName, rows: TaskRows) -> None:
        computed = self._run.ledger.ledger.computed
        excluded = excluded_in(computed, rows)
        self._left.update(_units_left_out(rows, excluded))
        measured = rows.of({*self._layout.evaluators})
        if measured is not rows:
            excluded = excluded_in(computed, measured)
        present = (scorer for scorer in rows.task.scorers if scorer.evaluator in measured.cells)
        self._metrics[where] = tuple(
            _metrics(measured, scorer, excluded, self._of_code) for scorer in present
        )


def metrics_of(run: StoredRun, layout: Layout) -> tuple[ScorerMetrics, ...]:
    """Compute the metrics of all tasks of a run, in the run's order; most runs have none."""
    if not has_tasks(run):
        return ()
    with run.reader() as reader:
        return TaskReading(run, layout, reader).metrics()


def code_values(computed: Sequence[Recorded]) -> dict[CodeKey, Values | str]:
    """Read what code made of rows, by the digests of both; a text says why it failed.

    Numbers whose lines are not all there, as the journal was cut off among them, are none.
    """
    results: dict[CodeKey, dict[str, float | None] | str] = {}
    whole: dict[CodeKey, int] = {}
    for line in computed:
        if "metric" not in line:
            continue
        key = line["snippet"], line["rows"]
        values, whole[key] = results.get(key), line.get("of", 0)
        if "error" in line:
            results[key] = line["error"]
        elif not isinstance(values, dict):
            results[key] = values = {}
        if isinstance(values, dict) and line.get("name") is not None:
            values[line["name"]] = line["value"]
    return {key: said for key, said in results.items() if isinstance(said, str) or len(said) >= whole[key]}


def _metrics(
    rows: TaskRows, scorer: KeptScorer, excluded: Excluded | None, of_code: Mapping[CodeKey, Values | str]
) -> ScorerMetrics:
    task, where = rows.task, rows.cells[scorer.evaluator]
    samples = sampled(rows, scorer, excluded or Excluded())
    digest = digest_of(counted(samples)) if _has_code(scorer) else ""
    chosen = () if excluded is None else scorer.metrics
    values_of = partial(_values_of_code, of_code, digest)
    table = tabulate(chosen, [sample for sample, _ in samples], values_of, is_evidence=scorer.is_evidence)
    return ScorerMetrics(
        evaluator=where.evaluator,
        task=task.key,
        scorer=scorer.key,
        display_name=": ".join(filter(None, (task.display_name, scorer.display_name or scorer.key))),
        description=task.description,
        purpose=scorer.purpose,
        candidate=where.candidate,
        task_model=where.task_model,
        split=where.split,
        table=table,
        rule_faults=excluded.faults if excluded else (),
        problem=_NOT_APPLIED if excluded is None else "",
    )


def has_code(task: KeptTask) -> bool:
    """Return True if something of a task is to be applied to its rows, or computed of them by code."""
    return bool(task.actions) or any(map(_has_code, task.scorers))


def _has_code(scorer: KeptScorer) -> bool:
    return any(isinstance(metric, PythonMetric) for metric in scorer.metrics or ())


def _values_of_code(
    of_code: Mapping[CodeKey, Values | str], rows: str, metric: PythonMetric
) -> Values | None:
    values = of_code.get((digest_of_code(metric), rows))
    if isinstance(values, str):
        raise MetricFault(values)
    return values
