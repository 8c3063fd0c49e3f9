"""Rows that a cut keeps on one side: copies, equal and near ones, which would leak across it.

Where rows are alike by nature, near ones would chain all into one; so only few of them go together.
"""

from collections.abc import Sequence
from itertools import chain

from optimize_eval.rows.copies import find_copies
from optimize_eval.rows.example import Example
from optimize_eval.rows.leaks import equal_lines, near_lines

_MOST_NEAR = 10


def find_together(rows: Sequence[Example]) -> list[int]:
    """Name for each row the group that it is in, by the line of one of its rows."""
    groups = _Groups(rows)
    for line, other in chain(find_copies(rows).items(), equal_lines(rows)):
        groups.join(line, other)
    for line, other in near_lines(rows):
        groups.join(line, other, most=_MOST_NEAR)
    return [groups.of[row.line] for row in rows]


class _Groups:
    def __init__(self, rows: Sequence[Example]) -> None:
        self.of = {row.line: row.line for row in rows}
        self._rows = {row.line: [row.line] for row in rows}

    def join(self, line: int, other: int, *, most: float = float("inf")) -> None:
        """Put the groups of two rows together, unless these get too many."""
        one, another = self.of[line], self.of[other]
        if one == another or len(self._rows[one]) + len(self._rows[another]) > most:
            return
        kept, moved = sorted((one, another), key=lambda group: -len(self._rows[group]))
        lines = self._rows.pop(moved)
        self._rows[kept] += lines
        self.of.update(dict.fromkeys(lines, kept))
