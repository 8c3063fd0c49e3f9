"""Rows of tasks in YAML that a report is about, in a terminal: their fields, and rules that left them out."""

from collections.abc import Iterable, Iterator
from itertools import islice

from optimize_eval.findings.rows import evaluator_label
from optimize_eval.findings.side_info import fields_said
from optimize_eval.reports.columns import wrapped
from optimize_eval.reports.inert import shortened
from optimize_eval.store.records import RunRecord

_MOST = 10
_LONGEST = 300
_HEAD = 12


def lines_of(records: Iterable[RunRecord], width: int) -> Iterator[str]:
    """Show the first rows that were scored; csv and jsonl have all of them."""
    scored = (one for one in records if one.outcome == "scored" and "scores" in one.side_info)
    head = "rows"
    for one in islice(scored, _MOST):
        yield from wrapped(f" {head:<{_HEAD - 1}}", _row(one), width)
        head = ""
    if next(scored, None):
        yield from wrapped(" " * _HEAD, "… and more: see --format csv or jsonl", width)


def _row(one: RunRecord) -> str:
    at = one.split if one.line is None else f"{one.split} {one.line}"
    label = evaluator_label(one.evaluator, one.task_model)
    left = f"left out by {', '.join(one.excluded_by)} · " if one.excluded_by else ""
    return f"{label} · {one.candidate} · {at}: {left}{shortened(fields_said(one.side_info), _LONGEST)}"
