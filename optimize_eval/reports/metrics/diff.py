"""Metrics of tasks in YAML in two runs, in a terminal: for each scorer A → B, and of how many rows."""

from collections.abc import Iterator, Sequence

from optimize_eval.findings.diff_shapes import CountedRows, MetricDiff, MetricOfRun, ScorerMetricsDiff
from optimize_eval.findings.wording import count, number, signed
from optimize_eval.reports.columns import wrapped
from optimize_eval.reports.metrics.lines import NOT_DEFINED, Above, label_of, of_rows, remarks_of
from optimize_eval.reports.terminal.table import Column, layout_table

_MOST = 30  # numbers of a scorer
_NONE = "\N{EN DASH}"


def lines_of(diffs: Sequence[ScorerMetricsDiff], width: int) -> Iterator[str]:
    """Lay out the metrics of scorers that have changed, and name the others; nothing for most runs."""
    same = []
    above = Above()
    for place in dict.fromkeys((one.evaluator, one.split) for one in diffs):
        entries = [one for one in diffs if (one.evaluator, one.split) == place]
        if any(one.has_moved for one in entries):
            shared = above.new(place[1], remarks_of(entries, _of_rows), remarks_of(entries, _of_rules))
            yield from _block(entries, shared, width)
        else:
            same.append(place[0])
    if same:
        yield from wrapped(" ", f"no metric of {', '.join(dict.fromkeys(same))} has changed", width)


def _block(entries: Sequence[ScorerMetricsDiff], shared: Sequence[str], width: int) -> Iterator[str]:
    first = entries[0]
    title = f"{first.display_name} ({first.evaluator}): metrics on {first.split}, B against A"
    yield from wrapped(" ", title, width)
    lines = [(label_of(one, entries), metric) for one in entries for metric in one.metrics]
    if lines:
        yield from layout_table(_columns(lines[:_MOST]), width)
    if more := len(lines[_MOST:]):
        yield from wrapped(" ", f"… and {count(more, 'more number')}: see --json", width)
    for remark in [*shared, *remarks_of(entries, _of_metrics)]:
        yield from wrapped("  · ", remark, width)


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


def _of_rows(one: ScorerMetricsDiff) -> Iterator[str]:
    for side, rows, other in (("A", one.a, one.b), ("B", one.b, one.a)):
        if rows is None:
            yield f"{side} has no such scorer"
        elif rows.n_excluded or rows.n_failed or (other and rows.n_total != other.n_total):
            yield f"{side}: {of_rows(rows)}"


def _of_rules(one: ScorerMetricsDiff) -> Iterator[str]:
    for side, rows in (("A", one.a), ("B", one.b)):
        yield from (f"{side}: {fault}" for fault in (rows.rule_faults if rows else ()))


def _of_metrics(one: ScorerMetricsDiff) -> Iterator[str]:
    for side, rows in (("A", one.a), ("B", one.b)):
        yield from (f"{side}: {problem}" for problem in (rows.problems if rows else ()))
    if one.a and one.b:
        yield from _only(one.metrics, one.a, one.b)


def _only(metrics: Sequence[MetricDiff], a: CountedRows, b: CountedRows) -> Iterator[str]:
    """Name the metrics of one run; that no row counts in the other is told beside its rows."""
    for side, names, other in (
        ("A", [metric.name for metric in metrics if metric.b is None], b),
        ("B", [metric.name for metric in metrics if metric.a is None], a),
    ):
        if names and other.n_scored:
            yield f"only in {side}: {', '.join(names)}"
