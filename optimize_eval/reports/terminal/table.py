"""Columns beside each other: numbers at the right and whole, the name as wide as there is room for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from optimize_eval.reports.columns import columns, cut, cut_apart
from optimize_eval.reports.inert import inert
from optimize_eval.reports.paint import Paint, Style, plain

_NARROWEST_NAME = 8
_BETWEEN = 2


@dataclass(frozen=True, slots=True)
class Column:
    """One column; only names are cut."""

    title: str
    texts: Sequence[str]
    is_name: bool = False
    is_text: bool = False
    is_kept: bool = False  # while others can be left out
    styles: Sequence[Style | None] = ()  # of the texts, where they are painted

    @property
    def cells(self) -> list[str]:
        return [" ".join(inert(text, ci=False).split()) if self.is_name else text for text in self.texts]

    @property
    def width(self) -> int:
        return max(columns(text) for text in (self.title, *self.cells))


def layout_table(given: Sequence[Column], width: int, paint: Paint = plain) -> list[str]:
    """Lay out; columns that do not fit, last before the end first, are left out rather than cut."""
    shown = list(given)
    while len(shown) > 2 and least_width(shown) > width:  # noqa: PLR2004  a name and a number
        shown.remove(next((one for one in shown[-2:1:-1] if not one.is_kept), shown[-2]))
    spare = width - 1 - sum(one.width + _BETWEEN for one in shown if not one.is_name)
    widths = [max(_NARROWEST_NAME, min(spare, one.width)) if one.is_name else one.width for one in shown]
    cells = [
        cut_apart(one.cells, width) if one.is_name else one.cells
        for one, width in zip(shown, widths, strict=True)
    ]
    titles = [_padded(one.title, one, size) for one, size in zip(shown, widths, strict=True)]
    painted = [
        [_padded(text, one, size, style, paint) for text, style in _styled(texts, one)]
        for one, size, texts in zip(shown, widths, cells, strict=True)
    ]
    lines = [_line(row) for row in (titles, *zip(*painted, strict=True))]
    rule = " " + "─" * (sum(widths) + _BETWEEN * (len(widths) - 1))
    return [lines[0], rule, *lines[1:]]


def least_width(shown: Sequence[Column]) -> int:
    """Tell how wide a terminal has to be for all columns."""
    return 1 + sum(_NARROWEST_NAME if one.is_name else one.width + _BETWEEN for one in shown)


def whole_width(shown: Sequence[Column]) -> int:
    """Tell how wide a terminal has to be for all columns with no name cut."""
    return 1 + sum(one.width for one in shown) + _BETWEEN * (len(shown) - 1)


def _styled(texts: Sequence[str], column: Column) -> Iterator[tuple[str, Style | None]]:
    return zip(texts, column.styles or (None,) * len(texts), strict=True)


def _padded(text: str, column: Column, width: int, style: Style | None = None, paint: Paint = plain) -> str:
    """Fill a text up to its column's width, which knows nothing of what paint adds to it."""
    shown = cut(text, width) if column.is_name or column.is_text else text
    blanks = " " * (width - columns(shown))
    told = paint(shown, style)
    return f"{told}{blanks}" if column.is_name or column.is_text else f"{blanks}{told}"


def _line(cells: Sequence[str]) -> str:
    return (" " + (" " * _BETWEEN).join(cells)).rstrip()
