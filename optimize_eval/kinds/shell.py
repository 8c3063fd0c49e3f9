"""Words for shell lines, as bash takes them: payloads and candidates as ASCII, whatever is in them."""

import re
import shlex
from collections.abc import Sequence

_NOT_PLAIN = re.compile("[^ -~]")
_FORMATTED = {**{unit: chr(unit) for unit in range(32, 127)}, ord("%"): "%%", ord("\\"): "\\\\"}


def printf(lines: Sequence[bytes]) -> str:
    """Write what prints lines of JSON."""
    return f"printf '%s\\n' {shlex.join(plain(line) for line in lines)}"


def as_format(text: str) -> str:
    """Write a text of any characters as ASCII, as a format of printf."""
    units = text.encode("utf-8", "replace")
    return shlex.quote("".join(_FORMATTED.get(unit) or f"\\{unit:03o}" for unit in units))


def plain(line: bytes) -> str:
    """Escape all but plain ASCII, which in JSON can only stand inside texts."""
    return _NOT_PLAIN.sub(_escaped, line.decode().strip())


def _escaped(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))
