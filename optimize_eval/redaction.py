"""Secrets struck out of texts that come from elsewhere, wherever they would be shown or kept."""

import re
from collections.abc import Iterable
from typing import Any

Secrets = tuple[str, ...]  # the longest first: one may hold another

_SHORTEST_SECRET = 6


def to_hide(values: Iterable[str], shortest: int = _SHORTEST_SECRET) -> Secrets:
    """List what must not be shown of confidential values: each whole, and each word of it."""
    words = {word for value in values for word in (value.strip(), *re.split(r"[\s;,=]+", value))}
    return tuple(sorted((word for word in words if len(word) >= shortest), key=len, reverse=True))


def redact(text: str, hidden: Secrets) -> str:
    """Strike out secrets that a server sends back.

    >>> redact("bad token: sk-canary", ("sk-canary",))
    'bad token: ***'
    """
    for secret in hidden:
        text = text.replace(secret, "***")
    return text


def redact_values(value: Any, hidden: Secrets) -> Any:
    """Strike secrets out of the texts of a decoded answer; keys and numbers stay as they came."""
    if isinstance(value, str):
        return redact(value, hidden)
    if isinstance(value, dict):
        return {key: redact_values(item, hidden) for key, item in value.items()}
    return [redact_values(item, hidden) for item in value] if isinstance(value, list) else value
