"""Durations as people write them: 90s, 10m, 1h30m; a plain number is seconds."""

import math
import re

HINT = "write a duration, such as 90s, 10m or 1h30m"

_ON_THE_WAY = 0.1  # of a timeout: what passes between its begin and the call is no news

_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_DURATION = "".join(f"(?:({_NUMBER}){unit})?" for unit in _UNITS)


def parse_duration(text: str) -> float:
    """Read a duration in seconds; raises ValueError where it is none.

    >>> [parse_duration(text) for text in ("90s", "1h30m", "0.5m", "7")]
    [90.0, 5400.0, 30.0, 7.0]
    """
    if re.fullmatch(_NUMBER, text):
        seconds = float(text)
    elif text and (match := re.fullmatch(_DURATION, text)):
        pairs = zip(match.groups(), _UNITS.values(), strict=True)
        seconds = math.fsum(float(many) * size for many, size in pairs if many)
    else:
        raise ValueError(HINT)
    if not math.isfinite(seconds):
        raise ValueError(HINT)
    return seconds


def seconds_given(given: float, usual: float) -> str:
    """Name the seconds that a call had: its timeout, unless it was clearly given fewer or more.

    >>> seconds_given(29.98, 30), seconds_given(12.34, 30)
    ('30', '12.3')
    """
    return f"{usual if abs(given - usual) <= _ON_THE_WAY * usual else round(given, 1):g}"
