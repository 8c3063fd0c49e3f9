"""What one model is ahead of another, in a cell of a table: alike in all reports of leaderboards."""

from optimize_eval.findings import comparison
from optimize_eval.findings.board_shapes import ModelPair
from optimize_eval.reports.cells import signed_mark

_HINTS = {comparison.BETTER: comparison.HINT_BETTER, comparison.WORSE: comparison.HINT_WORSE}


def lead(pair: ModelPair) -> str:
    """Write a difference; one that failures, skips or rules could have made is marked as a hint."""
    d = pair.difference
    if d.diff is None:
        return ""
    mark = d.mark if pair.holds else _HINTS.get(d.mark, d.mark)
    return signed_mark(mark, d.diff, is_sure=True)
