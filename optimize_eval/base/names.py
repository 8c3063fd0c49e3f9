"""Names that stand beside each other: of those that look alike, all but the first get -2, -3 and so on.

People see no normal forms, no characters without width and no kinds of blanks, so these tell nobody apart.
"""

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from unicodedata import category, combining, normalize

_INVISIBLE = ("\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u2800", "\u3164", "\uffa0")
_SELECTORS = (("\ufe00", "\ufe0f"), ("\U000e0100", "\U000e01ef"))  # of one form of a letter


def distinct(names: Iterable[str]) -> list[str]:
    """Make names look unique, in their order.

    >>> distinct(["judge", "judge", "judge-2", "other"])
    ['judge', 'judge-2', 'judge-2-2', 'other']
    """
    taken: set[str] = set()
    unique = []
    for name in names:
        unique.append(_unused_name(name, taken))
        taken.add(looks_of(unique[-1]))
    return unique


def told_apart(names: Sequence[str]) -> list[str]:
    r"""Write names that are there already: of those that look alike, what nobody sees is written out.

    >>> told_apart(["cafe", "cafe\u200b"])
    ['cafe', 'cafe\\u200b']
    """
    if all(name.isascii() for name in names):
        return [*names]
    many = Counter(map(looks_of, names))
    return [name if many[looks_of(name)] == 1 else _written_out(name) for name in names]


def apart(names: Iterable[str]) -> dict[str, str]:
    r"""Say of each how it is written beside the others; a name that is given twice is one name.

    >>> apart(["a", "a\u200b", "a"])
    {'a': 'a', 'a\u200b': 'a\\u200b'}
    """
    known = [*dict.fromkeys(names)]
    return dict(zip(known, told_apart(known), strict=True))


def looks_of(name: str) -> str:
    """Give what people see of a name: in one normal form, without what is invisible."""
    if name.isascii():
        return name.strip()
    return normalize("NFC", "".join(map(_seen_part, name))).strip()


def _seen_part(char: str) -> str:
    kind = category(char)
    if kind == "Cf" or char in _INVISIBLE or any(first <= char <= last for first, last in _SELECTORS):
        return ""
    return " " if kind == "Zs" else char


def _written_out(name: str) -> str:
    """Escape what is invisible, and what belongs to the letter before it."""
    return "".join(_escape(char) if combining(char) or _seen_part(char) != char else char for char in name)


def _escape(char: str) -> str:
    return char.encode("ascii", "backslashreplace").decode()


def _unused_name(name: str, taken: Container[str]) -> str:
    look, number, unused = looks_of(name), 1, name
    while look in taken:
        number += 1
        unused = f"{name.strip()}-{number}"
        look = looks_of(unused)
    return unused
