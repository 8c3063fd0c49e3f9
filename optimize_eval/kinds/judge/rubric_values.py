"""The values of a rubric's keys; a check returns what it reads, and complains of what is wrong with it."""

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

Complain = Callable[[str, str], None]  # key.path, what is wrong with it

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_SHOWN_KEY = 40


def text(value: Any, key: str, complain: Complain) -> str:
    if isinstance(value, str) and value.strip() and _is_unicode(value):
        return value
    complain(key, 'write a text in quotes: "…"')
    return ""


def _is_unicode(value: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in value)


def number(value: Any, key: str, complain: Complain) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and abs(value) < 1e300 and math.isfinite(value):  # noqa: PLR2004  sums stay finite
        return float(value)
    complain(key, "write a number")
    return 0.0


def weight(value: Any, key: str, complain: Complain) -> float:
    found = number(value, key, lambda *_: None)
    if found <= 0:
        complain(key, "write a number above 0: twice the weight counts twice")
    return found


def between(value: Any, key: str, complain: Complain, *, most: float) -> float:
    found = number(value, key, complain)
    if not 0 <= found <= most:
        complain(key, f"write a number from 0 to {most:g}")
    return found


def whole(value: Any, key: str, complain: Complain, *, least: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**63:
        return value
    complain(key, f"write a whole number from {least}")
    return 0


def labels(value: Any, key: str, complain: Complain) -> tuple[str, ...]:
    listed = value if isinstance(value, list | tuple) else ()
    if not listed or not all(map(_is_label, listed)):
        complain(key, 'write a list of labels, without blanks around them: ["yes", "no"]')
        return ()
    refuse_repeated(value, key, complain)
    return tuple(value)


def _is_label(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and value == value.strip() and _is_unicode(value)


def fields(value: Any, key: str, complain: Complain) -> tuple[str, ...]:
    """Read dotted paths of examples, one or a list."""
    listed = value if isinstance(value, list | tuple) else (value,)
    if not listed or not all(_is_label(one) for one in listed):
        complain(key, 'name fields of the examples: ["question", "meta.topic"]')
        return ()
    return tuple(dict.fromkeys(listed))


def boolean(value: Any, key: str, complain: Complain) -> bool:
    if not isinstance(value, bool):
        complain(key, "write true or false")
    return value is True


def name(value: Any, where: str, complain: Complain) -> str:
    if isinstance(value, str) and _NAME.fullmatch(value):
        return value
    complain(where, "name it with a letter, then letters, digits, _ and -")
    return ""


def refuse_repeated(names: Iterable[str], key: str, complain: Complain) -> None:
    names = [name for name in names if name]
    for name in dict.fromkeys(one for one in names if names.count(one) > 1):
        complain(key, f"{quoted(name)} is there twice")


def at(where: str, key: object) -> str:
    plain = key if isinstance(key, str) and re.fullmatch(r"[\w-]+", key) else quoted(str(key))
    return f"{where}.{plain}" if where else plain


def quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_KEY else text[: _SHOWN_KEY - 1] + "…")
