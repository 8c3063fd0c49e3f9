"""Texts in a terminal of a given width: measured in columns, wrapped beside a heading, cut with a mark."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from unicodedata import combining, east_asian_width

from optimize_eval.reports.inert import inert

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
    return [(head + first).rstrip(), *(indent + one for one in rest)]


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
