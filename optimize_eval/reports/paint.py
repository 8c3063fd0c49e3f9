"""Colour in a terminal, which never says anything alone.

A text is laid out with marks that nobody prints (they are no characters); what it is written with replaces
them by codes after all else was made inert. So foreign text brings no code of its own.
"""

import re
from collections.abc import Callable
from enum import StrEnum


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
