"""What values in a sweep file may be: a check returns the value, or raises ValueError with what to write."""

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from optimize_eval.base import secrets
from optimize_eval.base.documents import JsonDict
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import LONGEST_TIMEOUT
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange, as_float

HINT = "write a duration, such as 90s, 10m or 1h30m"

_LONGEST_NOTE = 1000
_ON_THE_WAY = 0.1  # of a timeout: what passes between its begin and the call is no news

_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_OF_CALLS = re.compile(r"\.(each|pass[@^][1-9][0-9]{0,3})((?:@.*)?)", re.DOTALL)  # that are repeated
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


Check = Callable[[Any], Any]
Keys = Mapping[str, Check]

HOTTEST = 2.0

_TOO_LARGE = 10**18  # so that it fits everywhere into 64 bits

_NAME = r"[A-Za-z][A-Za-z0-9_.-]*"
_COUNT_OR_SHARE = r"\d+|\d{1,3}(\.\d+)?%"


def weights(value: Any) -> dict[str, float]:
    _demand(isinstance(value, dict) and value, "write weights by evaluator: {judge = 2, style = 1}")
    return {name: weight(share) for name, share in value.items()}


def acceptance(value: object) -> str:
    return one_of(value, ["strict", "equal"])


def selection(value: object) -> str:
    return one_of(value, ["pareto", "current_best", "epsilon_greedy", "top_k_pareto"])


def beside(folder: str, name: str) -> str:
    return os.path.normpath(os.path.join(folder, name))  # noqa: PTH118  a glob is no Path


def text(value: Any) -> str:
    _demand(isinstance(value, str) and value and "\0" not in value, 'write a text in quotes: "…"')
    return str(value)


def url(value: Any) -> str:
    _demand(text(value).startswith(("http://", "https://")), "write a URL, http://… or https://…")
    return str(value)


def texts(value: Any) -> list[str]:
    _demand(isinstance(value, list) and value, 'write a list of texts: ["…", "…"]')
    return [text(item) for item in value]


def fields(value: Any) -> tuple[str, ...]:
    """Read dotted paths of examples: one, or a list."""
    return (text(value),) if isinstance(value, str) else tuple(texts(value))


def span(value: Any) -> tuple[float, float]:
    """Read the two ends of a scale."""
    hint = "write the lowest and the highest number: [1, 5]"
    _demand(isinstance(value, list) and len(value) == len(("low", "high")), hint)
    low, high = map(number, value)
    _demand(low < high, hint)
    return low, high


def integer(value: Any, least: int | None = None) -> int:
    what = "a whole number" if least is None else f"a whole number from {least}"
    _demand(isinstance(value, int) and not isinstance(value, bool), f"write {what}")
    _demand(least is None or value >= least, f"write {what}")
    _demand(abs(value) < _TOO_LARGE, "write a number of at most 18 digits")
    return int(value)


def whole(value: object) -> int:
    return integer(value, 0)


def count(value: object) -> int:
    return integer(value, 1)


def number(value: Any) -> float:
    _demand(isinstance(value, int | float) and not isinstance(value, bool), "write a number")
    given = as_float(value)
    _demand(math.isfinite(given), "write a finite number")
    return given


def timeout(value: object) -> float:
    seconds = number(value)
    _demand(0 < seconds <= LONGEST_TIMEOUT, f"write seconds above 0, at most {LONGEST_TIMEOUT:,.0f}")
    return seconds


def above_zero(value: object) -> float:
    limit = number(value)
    _demand(limit > 0, "write a number above 0")
    return limit


def weight(value: object) -> float:
    share = number(value)
    _demand(share > 0, "write a number above 0: twice the weight is twice the slots")
    return share


def boolean(value: object) -> bool:
    _demand(isinstance(value, bool), "write true or false")
    return bool(value)


def score_range(value: object) -> ScoreRange:
    return ScoreRange(one_of(value, [str(known) for known in ScoreRange]))


def engine(value: object) -> str:
    return one_of(value, ["local", "ray"])


def on_failure(value: object) -> str:
    return one_of(value, ["exclude", "abort"])


def max_failures(value: Any) -> str:
    said = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    is_known = isinstance(said, str) and re.fullmatch(_COUNT_OR_SHARE, said)
    _demand(is_known, 'write a count, such as 20, or a share, such as "5%"')
    return str(said)


def ids(value: Any) -> list[str]:
    hint = 'write a list of ids: ["t-7", 12]'
    _demand(isinstance(value, list) and value, hint)
    _demand(all(isinstance(item, str | int) and not isinstance(item, bool) for item in value), hint)
    return [str(item) for item in value]


def duration(value: Any) -> str:
    """Read a duration, or a number of seconds, as the option's text."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    said = repr(value) if is_number else value
    _demand(isinstance(said, str), 'write a duration, such as "90s", "10m" or "1h30m"')
    parse_duration(said)
    return str(said)


def name(value: object) -> str:
    _demand(re.fullmatch(_NAME, text(value)), "write a letter, then letters, digits, and _ . -")
    return str(value)


def command(value: Any) -> str | list[str]:
    hint = 'write a command, "python3 judge.py", or its words, ["python3", "judge.py"]'
    if isinstance(value, list):
        _demand(value and all(isinstance(word, str) for word in value), hint)
        return value
    _demand(isinstance(value, str) and value.strip(), hint)
    return str(value)


def metric(value: Any) -> str:
    _demand(text(value).startswith("@"), 'name an evaluator that ships: "@exact_match"')
    return str(value)


def model(value: Any) -> str:
    provider, _, name = text(value).partition("/")
    _demand(provider and name, 'name a provider and its model: "openai/gpt-4o-mini"')
    return str(value)


def temperature(value: Any) -> float:
    degrees = number(value)
    _demand(0 <= degrees <= HOTTEST, f"write a number from 0 to {HOTTEST:g}")
    return degrees


def table(value: Any) -> JsonDict:
    _demand(isinstance(value, dict), "write values by their keys: {key = value}")
    return dict(value)


def table_of_texts(value: Any) -> dict[str, str]:
    _demand(_is_table_of_texts(value), 'write texts by their keys: {key = "text"}')
    return dict(value)


def environment(value: Any) -> dict[str, str]:
    hint = 'write variables with texts: {NAME = "value"}; ${OTHER} in a text stands for one of yours'
    _demand(_is_table_of_texts(value) and all(name and "=" not in name for name in value), hint)
    return dict(value)


def header_pairs(value: Any) -> tuple[tuple[str, str], ...]:
    _demand(_is_table_of_texts(value), 'write headers with texts: {Authorization = "Bearer ${TOKEN}"}')
    return tuple(secrets.parse(f"{name}: {said}") for name, said in value.items())


def bounds(value: Any) -> dict[str, float]:
    hint = 'write the lowest mean by evaluator: {judge = 0.8, "judge@v2" = 0.9}'
    _demand(isinstance(value, dict) and value, hint)
    return {name: number(least) for name, least in value.items()}


def demand_behind(subject: str, name: str) -> tuple[str, str] | None:
    """Take apart what stands behind a name where that is a demand on repeated calls.

    >>> demand_behind("judge", "judge.pass^5@v2")
    ('pass^5', '@v2')
    """
    read = _OF_CALLS.fullmatch(name, len(subject)) if name.startswith(subject) else None
    return (read[1], read[2]) if read else None


def margin(value: object) -> list[str]:
    """Read one margin for all, or a table by evaluator, as the option's texts."""
    hint = "write a number above 0, or one by evaluator: {judge = 0.02}"
    if isinstance(value, dict):
        _demand(value, hint)
        return [f"{name}={number(least)!r}" for name, least in value.items()]
    _demand(number(value) > 0, hint)
    return [repr(number(value))]


def _is_table_of_texts(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(item, str) and "\0" not in item for item in value.values()
    )


def one_of(value: object, known: Sequence[str]) -> str:
    _demand(value in known, f"write one of: {', '.join(known)}")
    return str(value)


@frozen
class Choice:
    """A check that lets the values of an enumeration pass."""

    kind: type[StrEnum]

    def __call__(self, value: object) -> StrEnum:
        return self.kind(one_of(value, [*self.kind]))


def _demand(is_met: object, what: str) -> None:
    if not is_met:
        raise ValueError(what)


def check_note(text: str | None) -> str | None:
    """Raise UsageError for a text that cannot be kept."""
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        raise UsageError("the note is not UTF-8", hint="write it in UTF-8") from None
    if text and len(text) > _LONGEST_NOTE:
        raise UsageError(f"the note has {len(text):,} letters", hint=f"at most {_LONGEST_NOTE:,}")
    return text
