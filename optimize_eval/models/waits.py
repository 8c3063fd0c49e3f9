"""How long a server that has no room wants to be left alone, as its headers tell it; pure."""

import math
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LONGEST = 10_000_000.0  # seconds
_FIRST_EPOCH = 1e8  # a larger number is an instant, not a span
_FIRST_IN_MS = 1e11
_PARTS = re.compile(r"(?<!\d)(\d++(?:\.\d++)?)(ms|us|µs|ns|d|h|m|s)")
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_THROUGH_LITELLM = "llm_provider-"  # how it passes on what a provider sent
_RESET = re.compile(r"(x-)?ratelimit-reset(-.+)?|anthropic-ratelimit-.+-reset")


def wait_in(headers: Mapping[str, str]) -> float | None:
    """Find the wait that headers tell, their names in lower case; None where they tell none.

    What the server asks for wins over when its limits are whole again: that may be much later. Of several
    waits of a kind the longest counts. A limit whose own `remaining` is above 0 is not what stood in the way.

    >>> wait_in({"retry-after": "2", "x-ratelimit-reset-requests": "1m2.5s"})
    2.0
    """
    now = time.time()
    wanted = max(_wanted(headers, now), default=None)
    return max(_resets(headers, now), default=None) if wanted is None else wanted


def _wanted(headers: Mapping[str, str], now: float) -> Iterator[float]:
    for name, text in headers.items():
        match name.removeprefix(_THROUGH_LITELLM):
            case "retry-after":
                yield from _span(text.strip(), now)
            case "retry-after-ms":
                yield from (wait / 1000 for wait in _span(text.strip(), now))


def _resets(headers: Mapping[str, str], now: float) -> Iterator[float]:
    for name, text in headers.items():
        if _RESET.fullmatch(name.removeprefix(_THROUGH_LITELLM)) and not _has_room(headers, name):
            yield from _span(text.strip(), now)


def _has_room(headers: Mapping[str, str], reset: str) -> bool:
    with suppress(ValueError):
        return float(headers.get(reset.replace("reset", "remaining"), "0")) > 0
    return False


def _span(text: str, now: float) -> Iterator[float]:
    """Read seconds, an instant as a number or a date, or a span such as 6m0s."""
    for read in (_number, _parts, _iso_date, _http_date):
        with suppress(ValueError, OverflowError):
            wait = read(text, now)
            yield max(0.0, min(wait, _LONGEST))
            return


def _number(text: str, now: float) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    if number > _FIRST_IN_MS:
        return number / 1000 - now
    return number - now if number > _FIRST_EPOCH else number


def _parts(text: str, _now: float) -> float:
    parts = _PARTS.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(text)
    return math.fsum(float(number) * _SECONDS[unit] for number, unit in parts)


def _iso_date(text: str, now: float) -> float:
    instant = datetime.fromisoformat(text)
    return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp() - now


def _http_date(text: str, now: float) -> float:
    return parsedate_to_datetime(text).timestamp() - now
