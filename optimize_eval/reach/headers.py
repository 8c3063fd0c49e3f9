"""Request headers as users write them, and their values kept out of everything that is shown or stored."""

import os
import re

from optimize_eval.errors import UsageError

_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SHORTEST_SECRET = 6
_PUBLIC = frozenset({"content-type", "accept", "user-agent"})


def parse(text: str) -> tuple[str, str]:
    """Split `Name: value`; the message for a bad one does not repeat it, for it may hold a secret."""
    match = _HEADER.fullmatch(text)
    if not match or any(ord(char) < ord(" ") for char in match[2]):
        raise UsageError(
            "a header is not written as NAME: VALUE", hint="--header 'Authorization: Bearer ${TOKEN}'"
        )
    return match[1], match[2].strip()


def expand(headers: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Put environment variables in the place of ${NAME}."""
    return {name: _expanded(name, value) for name, value in headers}


def secrets(headers: dict[str, str]) -> tuple[bytes, ...]:
    """List what must not be shown: every longer value, and its last word (a bearer's token)."""
    values = [value for name, value in headers.items() if name.lower() not in _PUBLIC]
    words = {word for value in values for word in (value, value.rpartition(" ")[2])}
    return tuple(
        word.encode() for word in sorted(words, key=len, reverse=True) if len(word) >= _SHORTEST_SECRET
    )


def redact(said: bytes, secret_values: tuple[bytes, ...]) -> bytes:
    """Strike out header values that a server sends back."""
    for value in secret_values:
        said = said.replace(value, b"***")
    return said


def _expanded(name: str, value: str) -> str:
    return _VARIABLE.sub(lambda found: _value(found[1], name), value)


def _value(variable: str, header: str) -> str:
    if variable not in os.environ:
        raise UsageError(
            f"the header {header} needs the environment variable {variable}, which is not set",
            hint=f"export {variable}=…",
        )
    return os.environ[variable]
