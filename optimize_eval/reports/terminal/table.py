"""Columns beside each other: numbers at the right and whole, the name as wide as there is room for."""

from collections.abc import Sequence
from dataclasses import dataclass

from optimize_eval.reports.columns import columns, cut_apart, padded
from optimize_eval.reports.inert import inert

_NARROWEST_NAME = 8
_BETWEEN = 2


@dataclass(frozen=True, slots=True)
class Column:
    """One column; only names are cut."""

    title: str
    texts: Sequence[str]
    is_name: bool = False
    is_text: bool = False

    @property
    def cells(self) -> list[str]:
        return [" ".join(inert(text, ci=False).split()) if self.is_name else text for text in self.texts]

    @property
    def width(self) -> int:
        return max(columns(text) for text in (self.title, *self.cells))


def layout_table(given: Sequence[Column], width: int) -> list[str]:
    """Lay out; columns that do not fit, last before the end first, are left out rather than cut."""
    shown = list(given)
    while len(shown) > 2 and least_width(shown) > width:  # noqa: PLR2004  a name and a number
        del shown[-2]
    spare = width - 1 - sum(one.width + _BETWEEN for one in shown if not one.is_name)
    widths = [max(_NARROWEST_NAME, min(spare, one.width)) if one.is_name else one.width for one in shown]
    cells = [
        cut_apart(one.cells, width) if one.is_name else one.cells
        for one, width in zip(shown, widths, strict=True)
    ]
    rows = [[one.title for one in shown], *zip(*cells, strict=True)]
    lines = [_line(shown, row, widths) for row in rows]
    rule = " " + "─" * (sum(widths) + _BETWEEN * (len(widths) - 1))
    return [lines[0], rule, *lines[1:]]


def least_width(shown: Sequence[Column]) -> int:
    """Tell how wide a terminal has to be for all columns."""
    return 1 + sum(_NARROWEST_NAME if one.is_name else one.width + _BETWEEN for one in shown)


def _line(shown: Sequence[Column], row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        padded(text, width) if one.is_name or one.is_text else " " * (width - columns(text)) + text
        for one, text, width in zip(shown, row, widths, strict=True)
    ]
    return (" " + (" " * _BETWEEN).join(cells)).rstrip()
