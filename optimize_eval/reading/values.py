"""What a value of a settings file may be: each check returns it, or raises ValueError with what to write.

The plain ones, which kinds of evaluators need for keys of their own; checks of options are sweepfile's.
"""

import math
import os
from typing import Any

HOTTEST = 2.0

_TOO_LARGE = 10**18  # so that it fits everywhere into 64 bits


def demand(is_met: object, what: str) -> None:
    if not is_met:
        raise ValueError(what)


def beside(folder: str, name: str) -> str:
    return os.path.normpath(os.path.join(folder, name))  # noqa: PTH118  a glob is no Path


def text(value: Any) -> str:
    demand(isinstance(value, str) and value and "\0" not in value, 'write a text in quotes: "…"')
    return str(value)


def texts(value: Any) -> list[str]:
    demand(isinstance(value, list) and value, 'write a list of texts: ["…", "…"]')
    return [text(item) for item in value]


def fields(value: Any) -> tuple[str, ...]:
    """Read dotted paths of examples: one, or a list."""
    return (text(value),) if isinstance(value, str) else tuple(texts(value))


def url(value: Any) -> str:
    demand(text(value).startswith(("http://", "https://")), "write a URL, http://… or https://…")
    return str(value)


def model(value: Any) -> str:
    provider, _, name = text(value).partition("/")
    demand(provider and name, 'name a provider and its model: "openai/gpt-4o-mini"')
    return str(value)


def integer(value: Any, least: int | None = None) -> int:
    what = "a whole number" if least is None else f"a whole number from {least}"
    demand(isinstance(value, int) and not isinstance(value, bool), f"write {what}")
    demand(least is None or value >= least, f"write {what}")
    demand(abs(value) < _TOO_LARGE, "write a number of at most 18 digits")
    return int(value)


def whole(value: Any) -> int:
    return integer(value, 0)


def count(value: Any) -> int:
    return integer(value, 1)


def number(value: Any) -> float:
    demand(isinstance(value, int | float) and not isinstance(value, bool), "write a number")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    demand(math.isfinite(found), "write a finite number")
    return found


def temperature(value: Any) -> float:
    found = number(value)
    demand(0 <= found <= HOTTEST, f"write a number from 0 to {HOTTEST:g}")
    return found
