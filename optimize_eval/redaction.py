"""Secrets struck out of texts that come from elsewhere, wherever they would be shown or kept."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

Secrets = tuple[str, ...]  # the longest first: one may hold another

_SHORTEST_SECRET = 6


def to_hide(values: Iterable[str], shortest: int = _SHORTEST_SECRET) -> Secrets:
    """List what must not be shown of confidential values: each whole, and each word of it."""
    words = {word for value in values for word in (value.strip(), *re.split(r"[\s;,=]+", value))}
    return tuple(sorted((word for word in words if len(word) >= shortest), key=len, reverse=True))


def redact(text: str, hidden: Secrets) -> str:
    """Strike out secrets that a server sends back, as they are or escaped as JSON and URLs do it.

    >>> redact("bad token: sk-canary", ("sk-canary",))
    'bad token: ***'
    """
    for secret in hidden:
        text = text.replace(secret, "***")
        if "\\" in text or "%" in text:
            text = _escaped(secret).sub("***", text)
    return text


@lru_cache(maxsize=64)
def _escaped(secret: str) -> re.Pattern[str]:
    """Find a secret inside JSON, also inside a text of JSON that is in JSON, and inside a URL."""
    return re.compile("".join(_any_form(char, is_first=place == 0) for place, char in enumerate(secret)))


def _any_form(char: str, *, is_first: bool) -> str:
    """Match a character in any of its forms; as many backslashes as a few levels of escapes put before it."""
    units, several = char.encode("utf-16-be", "surrogatepass").hex(), r"\\{1,8}"
    in_json = "".join(f"{several}u(?i:{units[at : at + 4]})" for at in range(0, len(units), 4))
    in_url = "".join(f"(?i:%{byte:02x})" for byte in char.encode("utf-8", "surrogatepass"))
    plain = several if char == "\\" else ("" if is_first else r"\\{0,8}") + re.escape(char)
    return f"(?:{in_json}|{plain}|{in_url})"


def redact_values(value: Any, hidden: Secrets) -> Any:
    """Strike secrets out of the texts of a decoded answer; keys and numbers stay as they came."""
    if isinstance(value, str):
        return redact(value, hidden)
    if isinstance(value, dict):
        return {key: redact_values(item, hidden) for key, item in value.items()}
    return [redact_values(item, hidden) for item in value] if isinstance(value, list) else value
