"""Metrics of tasks in YAML in two runs, in a terminal: for each scorer A → B, and of how many rows."""

from collections.abc import Iterator, Sequence

from optimize_eval.findings.diff.measured import MetricDiff, MetricOfRun, ScorerMetricsDiff
from optimize_eval.findings.wording import count, number, signed
from optimize_eval.reports.columns import wrapped
from optimize_eval.reports.metrics.lines import NOT_DEFINED, label_of, of_rows
from optimize_eval.reports.terminal.table import Column, layout_table

_MOST = 30  # numbers of a scorer
_NONE = "\N{EN DASH}"


def lines_of(diffs: Sequence[ScorerMetricsDiff], width: int) -> Iterator[str]:
    """Lay out the metrics of scorers that have changed, and name the others; nothing for most runs."""
    same = []
    for place in dict.fromkeys((one.evaluator, one.split) for one in diffs):
        entries = [one for one in diffs if (one.evaluator, one.split) == place]
        if any(one.has_moved for one in entries):
            yield from _block(entries, width)
        else:
            same.append(place[0])
    if same:
        yield from wrapped(" ", f"no metric has changed of {', '.join(dict.fromkeys(same))}", width)


def _block(entries: Sequence[ScorerMetricsDiff], width: int) -> Iterator[str]:
    first = entries[0]
    title = f"{first.display_name} ({first.evaluator}): metrics on {first.split}, B against A"
    yield from wrapped(" ", title, width)
    lines = [(label_of(one, entries), metric) for one in entries for metric in one.metrics]
    if lines:
        yield from layout_table(_columns(lines[:_MOST]), width)
    if more := len(lines[_MOST:]):
        yield from wrapped(" ", f"… and {count(more, 'more number')}: see --json", width)
    for one in entries:
        yield from (
            line
            for remark in _remarks(one, label_of(one, entries))
            for line in wrapped("  · ", remark, width)
        )


def _columns(lines: Sequence[tuple[str, MetricDiff]]) -> list[Column]:
    metrics = [metric for _, metric in lines]
    whose = [who for who, _ in lines]
    return [
        Column("metric", [metric.name for metric in metrics], is_name=True),
        *([Column("of", whose, is_text=True)] if any(whose) else []),
        Column("Δ", ["" if metric.diff is None else signed(metric.diff) for metric in metrics]),
        Column("rows", [_both(_rows(metric.a), _rows(metric.b)) for metric in metrics]),
        Column("A → B", [f"{_value(metric.a)} → {_value(metric.b)}" for metric in metrics]),
    ]


def _value(one: MetricOfRun | None) -> str:
    if one is None:
        return _NONE
    return NOT_DEFINED if one.value is None else number(one.value)


def _rows(one: MetricOfRun | None) -> str:
    return _NONE if one is None else f"{one.n:,}"


def _both(a: str, b: str) -> str:
    return a if a == b else f"{a} → {b}"


def _remarks(one: ScorerMetricsDiff, who: str) -> Iterator[str]:
    about = f"{who}: " if who else ""
    for side, rows, other in (("A", one.a, one.b), ("B", one.b, one.a)):
        if rows is None:
            yield f"{about}{side} has no such scorer"
            continue
        if rows.n_excluded or rows.n_failed or (other and rows.n_total != other.n_total):
            yield f"{about}{side}: {of_rows(rows)}"
        yield from (f"{about}{side}: {problem}" for problem in rows.problems)
    if one.a and one.b:
        yield from _only(one.metrics, about)


def _only(metrics: Sequence[MetricDiff], about: str) -> Iterator[str]:
    for side, names in (
        ("A", [metric.name for metric in metrics if metric.b is None]),
        ("B", [metric.name for metric in metrics if metric.a is None]),
    ):
        if names:
            yield f"{about}only in {side}: {', '.join(names)}"
