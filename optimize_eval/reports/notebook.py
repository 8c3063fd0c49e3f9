"""A run's summary as notebooks show it: the verdict, its points and one table per evaluator, in HTML.

Pure: summary → text. Foreign text is escaped and made inert.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from optimize_eval.aggregates.rows import asked_with
from optimize_eval.aggregates.wording import interval, number
from optimize_eval.reports.cells import Row, Summary, difference, failed, shown_rows, tables_of
from optimize_eval.reports.inert import inert, shortened

_NAME = 100


def render(summary: Summary, run: str) -> str:
    """Lay out what matters first; `run` is the folder as people name it."""
    verdict = summary["verdict"]
    points = "".join(f"<li>{point['mark']} {_safe(point['text'])}</li>" for point in verdict["points"])
    tables = "".join(_table(rows, summary) for rows in tables_of(summary))
    return (
        f"<p><b>{_safe(verdict['text'])}.</b></p>{f'<ul>{points}</ul>' if points else ''}{tables}"
        f"<p><code>optimize-eval report {_safe(run)}</code></p>"
    )


def _table(rows: Sequence[Row], summary: Summary) -> str:
    split = summary["decided_on"]
    shown = shown_rows(rows, summary)
    caption = _safe(f"{asked_with(rows[0]['evaluator'], rows[0]['task_model'])}: {split}")
    titles = ["candidate", split, "95 % CI", f"Δ {split}", "failed"]
    lines = [_line("th", titles), *(_line("td", _cells(row, split)) for row in shown)]
    return f"<table><caption>{caption}</caption>{''.join(lines)}</table>"


def _cells(row: Row, split: str) -> list[str]:
    s: Mapping[str, Any] = row["splits"][split]
    d = row["vs_baseline"] and row["vs_baseline"][split]
    return [
        shortened(row["candidate"], _NAME),
        number(s["mean"]),
        interval(s["ci"], number) if s["ci"] else "",
        difference(d) if d else "",
        f"{failed(row):,}",
    ]


def _line(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_safe(cell)}</{tag}>' for cell in cells)}</tr>"


def _safe(text: str) -> str:
    return escape(inert(text, ci=False))
