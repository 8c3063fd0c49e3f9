"""Texts in a terminal of a given width: columns, tables, and colour, which never says anything alone.

A text is laid out with marks that nobody prints (they are no characters); what it is written with replaces
them by codes after all else was made inert. So foreign text brings no code of its own.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from typing import NamedTuple
from unicodedata import combining, east_asian_width

from optimize_eval.reports.inert import inert


class Style(StrEnum):
    """What a text is painted as."""

    GOOD = "\ufdd0"
    BAD = "\ufdd1"
    DOUBTFUL = "\ufdd2"
    STRONG = "\ufdd3"
    STRONGLY_GOOD = "\ufdd4"
    STRONGLY_BAD = "\ufdd5"


Paint = Callable[[str, Style | None], str]

_END = "\ufdd6"
_CODES = {
    Style.GOOD: "\x1b[32m",
    Style.BAD: "\x1b[31m",
    Style.DOUBTFUL: "\x1b[33m",
    Style.STRONG: "\x1b[1m",
    Style.STRONGLY_GOOD: "\x1b[1;32m",
    Style.STRONGLY_BAD: "\x1b[1;31m",
    _END: "\x1b[0m",
}
_MARKS = re.compile("([\ufdd0-\ufdd6])")
_OF_SIGNS = {  # as they are, and in ASCII
    **dict.fromkeys("✓+▲^", Style.GOOD),
    **dict.fromkeys("✕x▼v", Style.BAD),
    **dict.fromkeys("!?△▽", Style.DOUBTFUL),
}


def plain(text: str, style: Style | None) -> str:  # noqa: ARG001  as marked
    """Leave a text as it is."""
    return text


def marked(text: str, style: Style | None) -> str:
    """Mark what is painted."""
    return f"{style}{text}{_END}" if text and style else text


def of_sign(text: str) -> Style | None:
    """Choose the style of a text by the sign that it begins with."""
    return _OF_SIGNS.get(text[:1])


def painted(text: str, safe: Callable[[str], str]) -> str:
    """Put codes in the place of marks; `safe` makes inert what is between them."""
    return "".join(_CODES[piece] if piece in _CODES else safe(piece) for piece in _MARKS.split(text))


def unmarked(text: str) -> str:
    """Escape what would be taken for a mark in foreign text."""
    return _MARKS.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def body(line: str, style: Style | None, paint: Paint) -> str:
    """Paint a line but for the blanks before it."""
    return part(line, len(line) - len(line.lstrip(" ")), len(line), style, paint)


def part(line: str, start: int, size: int, style: Style | None, paint: Paint) -> str:
    """Paint so many letters of a line."""
    end = start + size
    return f"{line[:start]}{paint(line[start:end], style)}{line[end:]}"


# Blanks within "95 % CI" and "p = 0.024", where no line is broken.
_TOGETHER = r" (?:(?=%)(?<=\d )|(?=CI)(?<=% )|(?=[=<] )(?<=\bp )|(?=\d)(?<=[=<] ))"
_NARROW = "[\0-\u02ff\u2010-\u205f\u2190-\u22ff]*"
_LEAST_ROOM = 24


def columns(text: str) -> int:
    """Count the columns that a text takes: wide letters take two, marks on a letter none."""
    if _is_narrow(text):
        return len(text)
    return sum(0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _is_narrow(text: str) -> bool:
    """Tell of most texts without looking at each letter that all take one column."""
    return text.isascii() or re.fullmatch(_NARROW, text) is not None


def cut(text: str, room: int) -> str:
    if columns(text) <= room:
        return text
    kept = text[:room]
    while columns(kept) >= room:
        kept = kept[:-1]
    return f"{kept}…"


def cut_apart(texts: Sequence[str], room: int) -> list[str]:
    """Cut texts so that no two which differ look alike: at the end, in the middle, or before they differ."""
    ways = (cut, _cut_inside, partial(_cut_before, parting=_parting(texts)))
    return next(
        (shown for way in ways if len({*(shown := [way(text, room) for text in texts])}) == len({*texts})),
        [cut(text, room) for text in texts],
    )


def _cut_inside(text: str, room: int) -> str:
    """Leave out the middle of a text that is too long."""
    if columns(text) <= room:
        return text
    tail = text[-(room - room // 3 - 1) :]
    while columns(tail) > room - room // 3 - 1:
        tail = tail[1:]
    return f"{cut(text, room // 3 + 1)[:-1]}…{tail}"


def _cut_before(text: str, room: int, parting: int) -> str:
    """Leave out what a text that is too long shares with the others at its start."""
    return text if columns(text) <= room else cut(f"…{text[parting:]}", room)


def _parting(texts: Sequence[str]) -> int:
    """Say where texts begin to differ."""
    letters = enumerate(zip(*texts, strict=False))
    return next((place for place, here in letters if len({*here}) > 1), min(map(len, texts), default=0))


def padded(text: str, room: int) -> str:
    """Fill a text up to so many columns, or cut it to them."""
    shown = cut(text, room)
    return shown + " " * (room - columns(shown))


def wrapped(head: str, text: str, width: int) -> list[str]:
    """Break a text at blanks so that it stands beside its heading, or below one that leaves no room."""
    if not has_room(head, width):
        return [*_alone(head.rstrip(), width), *(wrapped("    ", text, width) if text else [])]
    return _broken(head, text, " " * columns(head), width)


def has_room(head: str, width: int) -> bool:
    """Return True if a heading leaves room for a text beside it."""
    return columns(head) <= width - _LEAST_ROOM


def _alone(head: str, width: int) -> list[str]:
    """Give a heading lines of its own; where it is, if it fits there."""
    shown = inert(head, ci=False)
    return [shown] if columns(shown) <= width else _broken(head[: head.startswith(" ")], head, "  ", width)


def _broken(head: str, text: str, indent: str, width: int) -> list[str]:
    room = width - columns(indent)
    together = re.sub(_TOGETHER, "\0", " ".join(inert(text, ci=False).split()))
    lines = _narrow_lines(together, room) if _is_narrow(together) else _lines(together.split(" "), room)
    first, *rest = (line.replace("\0", " ") for line in lines)
    return [(head + first).rstrip(), *(indent + line for line in rest)]


def _lines(words: Iterable[str], room: int) -> Iterator[str]:
    line: list[str] = []
    used = 0
    for word in (cut(word, room) for word in words):
        needed = columns(word)
        if line and used + 1 + needed > room:
            yield " ".join(line)
            line = []
        used = used + 1 + needed if line else needed
        line.append(word)
    yield " ".join(line)


def _narrow_lines(text: str, room: int) -> Iterator[str]:
    """Give the same lines by looking at their ends only: a hostile text may be of a million words."""
    start = 0
    while len(text) - start > room:
        end = text.rfind(" ", start, start + room + 1)
        if end < 0:  # one word is longer than a line
            end = text.find(" ", start) % (len(text) + 1)
        yield cut(text[start:end], room)
        start = end + 1
    if start <= len(text):
        yield text[start:]


_NARROWEST_NAME = 8
_BETWEEN = 2


class Column(NamedTuple):
    """One column; only names are cut."""

    title: str
    texts: Sequence[str]
    is_name: bool = False
    is_text: bool = False
    is_kept: bool = False  # while others can be left out
    styles: Sequence[Style | None] = ()  # of the texts, where they are painted

    def in_letters_of(self, fit: Callable[[str], str]) -> "Column":
        """Give the same in letters that a terminal has; names stand on one line."""
        texts = [" ".join(fit(text).split()) if self.is_name else fit(text) for text in self.texts]
        return self._replace(title=fit(self.title), texts=texts)

    @property
    def width(self) -> int:
        return max(columns(text) for text in (self.title, *self.texts))


def _safe(text: str) -> str:
    return inert(text, ci=False)


class Screen(NamedTuple):
    """What texts are laid out for: so wide, with so many letters and colours."""

    width: int
    fit: Callable[[str], str] = _safe  # makes foreign text what it will be there
    paint: Paint = plain

    def wrap(self, head: str, text: str) -> list[str]:
        """Break a text at blanks so that it stands beside its heading, or below one that leaves no room."""
        return wrapped(self.fit(head), self.fit(text), self.width)

    def has_room(self, shown: Sequence[Column], *, uncut: bool = False) -> bool:
        """Return True if there is room for all columns, names cut or not."""
        fitting = [column.in_letters_of(self.fit) for column in shown]
        return (_whole_width(fitting) if uncut else _least_width(fitting)) <= self.width


def layout_table(given: Sequence[Column], screen: Screen) -> list[str]:
    """Lay out; columns that do not fit, last before the end first, are left out rather than cut."""
    shown, width, paint = [column.in_letters_of(screen.fit) for column in given], screen.width, screen.paint
    while len(shown) > 2 and _least_width(shown) > width:  # noqa: PLR2004  a name and a number
        shown.remove(next((column for column in shown[-2:1:-1] if not column.is_kept), shown[-2]))
    widths = _widths(shown, width)
    cells = [
        cut_apart(column.texts, size) if column.is_name else column.texts
        for column, size in zip(shown, widths, strict=True)
    ]
    titles = [_padded(column.title, column, size) for column, size in zip(shown, widths, strict=True)]
    painted = [
        [_padded(text, column, size, style, paint) for text, style in _styled(texts, column)]
        for column, size, texts in zip(shown, widths, cells, strict=True)
    ]
    lines = [_line(row) for row in (titles, *zip(*painted, strict=True))]
    rule = " " + "─" * (sum(widths) + _BETWEEN * (len(widths) - 1))
    return [lines[0], rule, *lines[1:]]


def tables_beside(names: Sequence[Column], others: Sequence[Column], screen: Screen) -> list[list[Column]]:
    """Deal out columns to tables that have the same names at their left, each with as many as have room."""
    tables: list[list[Column]] = [[]]
    for column in others:
        if tables[-1] and not screen.has_room([*names, *tables[-1], column]):
            tables.append([])
        tables[-1].append(column)
    return tables


def _widths(shown: Sequence[Column], width: int) -> list[int]:
    """Give each column its width; names share what others leave, the last ones first at their own."""
    names = sum(column.is_name for column in shown)
    spare = width - 1 - sum(column.width for column in shown if not column.is_name)
    spare -= _BETWEEN * (len(shown) - 1)
    widths = []
    for column in reversed(shown):
        room = column.width
        if column.is_name:
            names -= 1
            room = max(_NARROWEST_NAME, min(spare - names * _NARROWEST_NAME, column.width))
            spare -= room
        widths.append(room)
    return widths[::-1]


def _least_width(shown: Sequence[Column]) -> int:
    """Tell how wide a terminal has to be for all columns."""
    widths = (_NARROWEST_NAME if column.is_name else column.width for column in shown)
    return 1 + sum(widths) + _BETWEEN * (len(shown) - 1)


def _whole_width(shown: Sequence[Column]) -> int:
    """Tell how wide a terminal has to be for all columns with no name cut."""
    return 1 + sum(column.width for column in shown) + _BETWEEN * (len(shown) - 1)


def _styled(texts: Sequence[str], column: Column) -> Iterator[tuple[str, Style | None]]:
    return zip(texts, column.styles or (None,) * len(texts), strict=True)


def _padded(text: str, column: Column, width: int, style: Style | None = None, paint: Paint = plain) -> str:
    """Fill a text up to its column's width, which knows nothing of what paint adds to it."""
    shown = cut(text, width) if column.is_name or column.is_text else text
    blanks = " " * (width - columns(shown))
    seen = paint(shown, style)
    return f"{seen}{blanks}" if column.is_name or column.is_text else f"{blanks}{seen}"


def _line(cells: Sequence[str]) -> str:
    return (" " + (" " * _BETWEEN).join(cells)).rstrip()
