"""The metrics of a summary as lines of tables: a table for each scorer, with what its numbers are of."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.diff_shapes import CountedRows, ScorerMetricsDiff
from optimize_eval.findings.shapes import Row
from optimize_eval.findings.summary_shape import Measured, MetricsTable, ScorerMetrics, Summary
from optimize_eval.findings.wording import count, number

NOT_DEFINED = "not defined"

_OfScorer = ScorerMetrics | ScorerMetricsDiff
_Scorer = TypeVar("_Scorer", ScorerMetrics, ScorerMetricsDiff)


@frozen
class MetricLine:
    """One number of a metric; a metric without numbers says why."""

    name: str
    who: str  # candidate and model, where there are several
    value: str
    n: int
    missing: int
    left_out: int


@frozen
class MetricsBlock:
    """The metrics of one scorer on one split."""

    evaluator: str
    display_name: str
    split: str
    lines: Sequence[MetricLine]
    remarks: Sequence[str]  # how many rows the numbers are of, and what went wrong

    @property
    def title(self) -> str:
        return f"{self.display_name} ({self.evaluator}): metrics on {self.split}"

    @property
    def has_several(self) -> bool:
        return any(line.who for line in self.lines)

    @property
    def columns(self) -> Iterator[tuple[str, list[str]]]:
        """Give the columns after the metric's name; those without anything to tell are omitted."""
        lines = self.lines
        if self.has_several:
            yield "of", [line.who for line in lines]
        yield "value", [line.value for line in lines]
        yield "rows", [f"{line.n:,}" for line in lines]
        for name, counts in (
            ("missing", [line.missing for line in lines]),
            ("left out", [line.left_out for line in lines]),
        ):
            if any(counts):
                yield name, [f"{one:,}" for one in counts]


def blocks_of(summary: Summary, *, on_board: Collection[str] | None = None) -> list[MetricsBlock]:
    """Lay out the metrics of the split that decides; of a scorer that is for others, of these.

    A run's tables have the means of the scorers on that split, a bench's board has those of the scorers
    `on_board`.
    """
    found: dict[tuple[str, str], list[ScorerMetrics]] = {}
    deciding = {one.evaluator for one in summary.metrics if one.split == summary.decided_on}
    for one in summary.metrics:
        if one.split == summary.decided_on or one.evaluator not in deciding:
            found.setdefault((one.evaluator, one.split), []).append(one)
    means = {(row.evaluator, row.candidate, row.task_model): row for row in summary.rows}

    def is_known(one: ScorerMetrics) -> bool:
        is_told = one.split == summary.decided_on if on_board is None else one.evaluator in on_board
        if not is_told:
            return False
        row = means.get((one.evaluator, one.candidate, one.task_model))
        return row is not None and _is_mean(one, row)

    return [*_blocks(entries for entries in found.values() if not all(map(is_known, entries)))]


def of_rows(table: MetricsTable | CountedRows) -> str:
    """Say how many rows the numbers are of, and where the others are."""
    excluded = ", ".join(f"{rule} {many:,}" for rule, many in table.excluded_by.items())
    rest = [
        f"{table.n_excluded:,} excluded ({excluded})" if table.n_excluded else "",
        f"{table.n_failed:,} failed" if table.n_failed else "",
    ]
    others = ", ".join(filter(None, rest))
    told = f"{table.n_scored:,} of {count(table.n_total, 'row')} count"
    return f"{told}: {others}" if others else told


def label_of(one: _OfScorer, among: Iterable[_OfScorer]) -> str:
    """Name candidate and model where there are others; empty where there is one of each."""
    entries = list(among)
    has_candidates = len({other.candidate for other in entries}) > 1
    has_models = len({other.task_model for other in entries}) > 1
    parts = [one.candidate if has_candidates else "", (one.task_model or "") if has_models else ""]
    return " with ".join(filter(None, parts))


def _is_mean(one: ScorerMetrics, row: Row) -> bool:
    """Return True if all there is to tell is the mean that a table above has, under no name of its own."""
    table, mean = one.table, row.splits[one.split].mean
    has_more = one.problem or one.rule_faults or table.n_excluded or any(m.problem for m in table.metrics)
    numbers = [pair for measured in table.metrics for pair in measured.values.items()]
    if has_more or mean is None or len(numbers) != 1:
        return False
    ((name, value),) = numbers
    is_named = name != "accuracy" and not name.endswith("_mean")
    return not is_named and value is not None and math.isclose(value, mean, rel_tol=1e-9)


def remarks_of(entries: Sequence[_Scorer], remarks: Callable[[_Scorer], Iterable[str]]) -> list[str]:
    """Put remarks together: what is the same of several stands once, with their names, or for all of them."""
    of_whom: dict[str, list[_Scorer]] = {}
    for one in entries:
        for remark in remarks(one):
            of_whom.setdefault(remark, []).append(one)
    told = []
    for remark, whom in of_whom.items():
        names = "" if len(whom) == len(entries) else ", ".join(label_of(one, entries) for one in whom)
        told.append(f"{names}: {remark}" if names else remark)
    return told


@dataclass(slots=True)
class Above:
    """What stands above on the rows of a task, which its scorers share: it is said once."""

    task: object = None
    rows: Sequence[str] = ()
    rules: Sequence[str] = ()

    def new(self, task: object, rows: Sequence[str], rules: Sequence[str]) -> list[str]:
        """Give what does not stand above."""
        is_same = task == self.task
        new_rows = [] if is_same and rows == self.rows else rows
        new_rules = [one for one in rules if not (is_same and one in self.rules)]
        self.rules = [*self.rules, *new_rules] if is_same else rules
        self.task, self.rows = task, rows
        return [*new_rows, *new_rules]


def _blocks(scorers: Iterable[Sequence[ScorerMetrics]]) -> Iterator[MetricsBlock]:
    above = Above()
    for entries in scorers:
        task = entries[0].task, entries[0].split
        shared = above.new(task, remarks_of(entries, _of_rows), remarks_of(entries, _of_rules))
        block = _block(entries, shared)
        if block.lines or block.remarks:
            yield block


def _block(entries: Sequence[ScorerMetrics], shared: Sequence[str]) -> MetricsBlock:
    first = entries[0]
    return MetricsBlock(
        evaluator=first.evaluator,
        display_name=first.display_name,
        split=first.split,
        lines=[line for one in entries for line in _lines(one, label_of(one, entries))],
        remarks=[*shared, *remarks_of(entries, _problems)],
    )


def _lines(one: ScorerMetrics, who: str) -> Iterator[MetricLine]:
    for measured in one.table.metrics:
        for name, value in measured.values.items():
            text = NOT_DEFINED if value is None else number(value)
            yield MetricLine(
                name=name,
                who=who,
                value=text,
                n=measured.n,
                missing=measured.missing,
                left_out=measured.left_out,
            )


def _of_rows(one: ScorerMetrics) -> Iterator[str]:
    table = one.table
    if (table.n_excluded or table.n_failed) and not one.problem:
        yield of_rows(table)


def _of_rules(one: ScorerMetrics) -> Iterator[str]:
    if one.problem:
        yield one.problem
    yield from (fault.told(one.split) for fault in one.rule_faults)


def _problems(one: ScorerMetrics) -> Iterator[str]:
    yield from (_problem(measured) for measured in one.table.metrics if measured.problem)


def _problem(measured: Measured) -> str:
    said = measured.problem
    return said if said.startswith("metric ") else f"metric {measured.type}: {said}"
