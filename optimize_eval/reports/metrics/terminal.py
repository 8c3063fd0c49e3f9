"""Metrics of tasks in YAML in a terminal: a table for each scorer, and how many rows its numbers are of."""

from collections.abc import Collection, Iterator

from optimize_eval.findings.summary_shape import Summary
from optimize_eval.findings.wording import count
from optimize_eval.reports.columns import wrapped
from optimize_eval.reports.metrics.lines import MetricsBlock, blocks_of
from optimize_eval.reports.paint import Paint
from optimize_eval.reports.terminal.table import Column, layout_table

_MOST = 30  # numbers of a scorer


def lines_of(
    summary: Summary, width: int, paint: Paint, *, on_board: Collection[str] | None = None
) -> Iterator[str]:
    """Lay out the metrics of a run's tasks; nothing for most runs."""
    for block in blocks_of(summary, on_board=on_board):
        yield from _table(block, width, paint)


def _table(block: MetricsBlock, width: int, paint: Paint) -> Iterator[str]:
    yield from wrapped(" ", block.title, width)
    if block.lines:
        yield from layout_table(_columns(block), width, paint)
    if len(block.lines) > _MOST:
        yield from wrapped(
            " ", f"… and {count(len(block.lines) - _MOST, 'more number')}: see summary.json", width
        )
    for remark in block.remarks:
        yield from wrapped("  · ", remark, width)


def _columns(block: MetricsBlock) -> list[Column]:
    named = Column("metric", [line.name for line in block.lines[:_MOST]], is_name=True)
    rest = [Column(title, texts[:_MOST], is_text=title == "of") for title, texts in block.columns]
    return [named, *rest]
