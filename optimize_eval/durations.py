"""Spans of time as people write them: 90, 90s, 10m, 1h30m."""

import math
import re

from optimize_eval.errors import UsageError

_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds_of(text: str, option: str) -> float:
    """Read a span of time; raises UsageError where it is none.

    >>> seconds_of("1h30m", "--patience"), seconds_of("90", "--patience")
    (5400.0, 90.0)
    """
    text = text.strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    parts = _PART.findall(text)
    if not parts or "".join(map("".join, parts)) != text:
        raise UsageError(f"{option} {text!r} is no span of time", hint="write it as 90s, 10m or 1h30m")
    return math.fsum(float(number) * _SECONDS[unit] for number, unit in parts)
