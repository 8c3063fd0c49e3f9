"""The metrics of tasks in YAML as lines of tables: of a summary, of two runs, of rows."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.side_info import fields_said
from optimize_eval.findings.summary_parts import Row
from optimize_eval.findings.summary_shape import Measured, MetricsTable, ScorerMetrics, Summary
from optimize_eval.findings.wording import count, evaluator_label, number, signed
from optimize_eval.reports.inert import shortened
from optimize_eval.reports.text import Column, Screen, layout_table
from optimize_eval.store.records import RunRecord

if TYPE_CHECKING:  # a leaderboard has nothing of diffs
    from optimize_eval.findings.diff_shapes import CountedRows, MetricDiff, MetricOfRun, ScorerMetricsDiff

NOT_DEFINED = "not defined"

_OfScorer: TypeAlias = "ScorerMetrics | ScorerMetricsDiff"
_Scorer = TypeVar("_Scorer", "ScorerMetrics", "ScorerMetricsDiff")


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
    deciding = {metric.evaluator for metric in summary.metrics if metric.split == summary.decided_on}
    for metric in summary.metrics:
        if metric.split == summary.decided_on or metric.evaluator not in deciding:
            found.setdefault((metric.evaluator, metric.split), []).append(metric)
    means = {(row.evaluator, row.candidate, row.task_model): row for row in summary.rows}

    def is_known(one: ScorerMetrics) -> bool:
        is_told = one.split == summary.decided_on if on_board is None else one.evaluator in on_board
        if not is_told:
            return False
        row = means.get((one.evaluator, one.candidate, one.task_model))
        return row is not None and _is_mean(one, row)

    return [*_blocks(entries for entries in found.values() if not all(map(is_known, entries)))]


def of_rows(table: "MetricsTable | CountedRows") -> str:
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
    for entry in entries:
        for remark in remarks(entry):
            of_whom.setdefault(remark, []).append(entry)
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
        new_rules = [rule for rule in rules if not (is_same and rule in self.rules)]
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
        lines=[line for entry in entries for line in _lines(entry, label_of(entry, entries))],
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


_MOST = 30  # numbers of a scorer
_NONE = "\N{EN DASH}"


def lines_of_diff(diffs: "Sequence[ScorerMetricsDiff]", screen: Screen) -> Iterator[str]:
    """Lay out the metrics of scorers that have changed, and name the others; nothing for most runs."""
    same = []
    above = Above()
    for place in dict.fromkeys((diff.evaluator, diff.split) for diff in diffs):
        entries = [diff for diff in diffs if (diff.evaluator, diff.split) == place]
        if any(entry.has_moved for entry in entries):
            shared = above.new(
                place[1], remarks_of(entries, _of_rows_of_both), remarks_of(entries, _of_rules_of_both)
            )
            yield from _block_of_diff(entries, shared, screen)
        else:
            same.append(place[0])
    if same:
        yield from screen.wrap(" ", f"no metric of {', '.join(dict.fromkeys(same))} has changed")


def _block_of_diff(
    entries: "Sequence[ScorerMetricsDiff]", shared: Sequence[str], screen: Screen
) -> Iterator[str]:
    first = entries[0]
    title = f"{first.display_name} ({first.evaluator}): metrics on {first.split}, B against A"
    yield from screen.wrap(" ", title)
    lines = [(label_of(entry, entries), metric) for entry in entries for metric in entry.metrics]
    if lines:
        yield from layout_table(_columns_of_diff(lines[:_MOST]), screen)
    if more := len(lines[_MOST:]):
        yield from screen.wrap(" ", f"… and {count(more, 'more number')}: see --json")
    for remark in [*shared, *remarks_of(entries, _of_metrics)]:
        yield from screen.wrap("  · ", remark)


def _columns_of_diff(lines: "Sequence[tuple[str, MetricDiff]]") -> list[Column]:
    metrics = [metric for _, metric in lines]
    whose = [who for who, _ in lines]
    return [
        Column("metric", [metric.name for metric in metrics], is_name=True),
        *([Column("of", whose, is_text=True)] if any(whose) else []),
        Column("Δ", ["" if metric.diff is None else signed(metric.diff) for metric in metrics]),
        Column("rows", [_both(_rows(metric.a), _rows(metric.b)) for metric in metrics]),
        Column("A → B", [f"{_value(metric.a)} → {_value(metric.b)}" for metric in metrics]),
    ]


def _value(one: "MetricOfRun | None") -> str:
    if one is None:
        return _NONE
    return NOT_DEFINED if one.value is None else number(one.value)


def _rows(one: "MetricOfRun | None") -> str:
    return _NONE if one is None else f"{one.n:,}"


def _both(a: str, b: str) -> str:
    return a if a == b else f"{a} → {b}"


def _of_rows_of_both(one: "ScorerMetricsDiff") -> Iterator[str]:
    for side, rows, other in (("A", one.a, one.b), ("B", one.b, one.a)):
        if rows is None:
            yield f"{side} has no such scorer"
        elif rows.n_excluded or rows.n_failed or (other and rows.n_total != other.n_total):
            yield f"{side}: {of_rows(rows)}"


def _of_rules_of_both(one: "ScorerMetricsDiff") -> Iterator[str]:
    for side, rows in (("A", one.a), ("B", one.b)):
        yield from (f"{side}: {fault}" for fault in (rows.rule_faults if rows else ()))


def _of_metrics(one: "ScorerMetricsDiff") -> Iterator[str]:
    for side, rows in (("A", one.a), ("B", one.b)):
        yield from (f"{side}: {problem}" for problem in (rows.problems if rows else ()))
    if one.a and one.b:
        yield from _only(one.metrics, one.a, one.b)


def _only(metrics: "Sequence[MetricDiff]", a: "CountedRows", b: "CountedRows") -> Iterator[str]:
    """Name the metrics of one run; that no row counts in the other is told beside its rows."""
    for side, names, other in (
        ("A", [metric.name for metric in metrics if metric.b is None], b),
        ("B", [metric.name for metric in metrics if metric.a is None], a),
    ):
        if names and other.n_scored:
            yield f"only in {side}: {', '.join(names)}"


_MOST_ROWS = 10
_LONGEST = 300
_HEAD = 12


def lines_of_rows(records: Iterable[RunRecord], screen: Screen) -> Iterator[str]:
    """Show the first rows that were scored; csv and jsonl have all of them."""
    scored = (record for record in records if record.outcome == "scored" and "scores" in record.side_info)
    head = "rows"
    for row in islice(scored, _MOST_ROWS):
        yield from screen.wrap(f" {head:<{_HEAD - 1}}", _row(row))
        head = ""
    if next(scored, None):
        yield from screen.wrap(" " * _HEAD, "… and more: see --format csv or jsonl")


def _row(one: RunRecord) -> str:
    at = one.split if one.line is None else f"{one.split} {one.line}"
    label = evaluator_label(one.evaluator, one.task_model)
    left = f"left out by {', '.join(one.excluded_by)} · " if one.excluded_by else ""
    return f"{label} · {one.candidate} · {at}: {left}{shortened(fields_said(one.side_info), _LONGEST)}"


def lines_of_summary(
    summary: Summary, screen: Screen, *, on_board: Collection[str] | None = None
) -> Iterator[str]:
    """Lay out the metrics of a run's tasks; nothing for most runs."""
    for block in blocks_of(summary, on_board=on_board):
        yield from _table(block, screen)


def _table(block: MetricsBlock, screen: Screen) -> Iterator[str]:
    yield from screen.wrap(" ", block.title)
    if block.lines:
        yield from layout_table(_columns(block), screen)
    if len(block.lines) > _MOST:
        yield from screen.wrap(
            " ", f"… and {count(len(block.lines) - _MOST, 'more number')}: see summary.json"
        )
    for remark in block.remarks:
        yield from screen.wrap("  · ", remark)


def _columns(block: MetricsBlock) -> list[Column]:
    named = Column("metric", [line.name for line in block.lines[:_MOST]], is_name=True)
    rest = [Column(title, texts[:_MOST], is_text=title == "of") for title, texts in block.columns]
    return [named, *rest]
