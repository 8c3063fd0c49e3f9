"""Texts in a terminal of a given width: measured in columns, wrapped beside a heading, cut with a mark."""

import re
from unicodedata import combining, east_asian_width

from optimize_eval.reports.inert import inert

# Blanks within "95 % CI" and "p = 0.024", where no line is broken.
_TOGETHER = re.compile(r"(?<=\d) (?=%)|(?<=%) (?=CI)|(?<=\bp) (?=[=<] )|(?<=[=<]) (?=\d)")


_LEAST_ROOM = 24


def columns(text: str) -> int:
    """Count the columns that a text takes: wide letters take two, marks on a letter none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def cut(text: str, room: int) -> str:
    if columns(text) <= room:
        return text
    kept = text[:room]
    while columns(kept) >= room:
        kept = kept[:-1]
    return f"{kept}…"


def padded(text: str, room: int) -> str:
    """Fill a text up to so many columns, or cut it to them."""
    shown = cut(text, room)
    return shown + " " * (room - columns(shown))


def wrapped(head: str, text: str, width: int) -> list[str]:
    """Break a text at blanks so that it stands beside its heading, or below one that leaves no room."""
    if columns(head) > width - _LEAST_ROOM:
        return [*_broken("", head, "  ", width), *(wrapped("    ", text, width) if text else [])]
    return _broken(head, text, " " * columns(head), width)


def _broken(head: str, text: str, indent: str, width: int) -> list[str]:
    room = width - columns(indent)
    lines: list[list[str]] = [[]]
    used = 0
    together = _TOGETHER.sub("\0", " ".join(inert(text, ci=False).split()))
    for word in (cut(word.replace("\0", " "), room) for word in together.split(" ")):
        needed = columns(word)
        if lines[-1] and used + 1 + needed > room:
            lines.append([])
        used = used + 1 + needed if lines[-1] else needed
        lines[-1].append(word)
    first, *rest = map(" ".join, lines)
    return [(head + first).rstrip(), *(indent + one for one in rest)]
