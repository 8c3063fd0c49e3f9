"""What one model is ahead of another, in a cell of a table: alike in all reports of leaderboards."""

from optimize_eval.findings.board.shapes import ModelPair
from optimize_eval.reports.cells import signed_mark


def lead(pair: ModelPair) -> str:
    """Write a difference; one that failures could have made is marked as a hint."""
    d = pair.difference
    if d.diff is None:
        return ""
    return signed_mark(d.mark, d.diff, is_sure=bool(pair.holds_at_worst))
