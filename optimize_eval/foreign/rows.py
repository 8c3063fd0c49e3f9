"""What a reader of another tool's results gives: a row for each example that a system was tried on."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import NamedTuple

import orjson

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import DataError, Problem
from optimize_eval.base.protocol import as_float

PROVIDER, SCORER, NOT_FINITE = "provider_error", "scorer_error", "score_not_finite"  # kinds of failures
OTHER_RESULTS = "other_results"  # the rule that a file breaks which cannot be read as its tool's
LONGEST_MESSAGE = 2048
_LONGEST_TEXT = 2000  # characters of what a page shows
_LONGEST_NAME = 80
_LONGEST_INPUT = 160


class Score(NamedTuple):
    """A number; None for a label, which `said` says."""

    value: float | None
    said: str = ""


class Failure(NamedTuple):
    """No number, and why; `counted_as` is what the tool itself made of it."""

    kind: str
    message: str
    counted_as: float | None = None


class Skip(NamedTuple):
    """No number is owed, and why."""

    why: str


Result = Score | Failure | Skip


class Example(NamedTuple):
    """What was asked: `content` digests it, so that it is found again in other files."""

    content: str
    name: str
    input: str


class System(NamedTuple):
    """What was tried: a prompt and a model, of which one may be unknown; `text` is what makes them new."""

    prompt: str
    model: str
    text: str = ""


class Row(NamedTuple):
    """What became of one call."""

    system: System
    column: int  # tells apart systems that have the same names
    example: Example
    position: int  # of the example in its file
    repeat: int | None  # None where only counting tells
    results: Mapping[str, Result]  # by evaluator
    side_info: JsonMapping | None = None
    seconds: float | None = None
    usage: JsonMapping | None = None


def example_of(content: object, name: object, said: object) -> Example:
    """Digest what an example says, as canonical JSON."""
    return Example(digest(content), shorten(name, _LONGEST_NAME), shorten(said, _LONGEST_INPUT))


def digest(value: object) -> str:
    return hashlib.sha256(_canonical(value)).hexdigest()


def _canonical(value: object) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # an integer beyond 64 bits
        return json.dumps(value, ensure_ascii=False, sort_keys=True).encode(errors="backslashreplace")


def shorten(value: object, most: int = _LONGEST_TEXT) -> str:
    """Write a value as a text on one line or, where it is long, its beginning."""
    text = value if isinstance(value, str) else "" if value is None else _as_text(value)
    text = text if most == _LONGEST_TEXT else " ".join(text[: 4 * most].split())
    return f"{text[: most - 1]}…" if len(text) > most else text


def _as_text(value: object) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return _canonical(value).decode()


def number_or_failure(value: object, kind: str = NOT_FINITE) -> Result:
    """Take a number; what is none is a failure."""
    if isinstance(value, bool):
        return Score(float(value))
    if isinstance(value, int | float):
        number = as_float(value)
        return Score(number) if math.isfinite(number) else Failure(kind, f"the score is {value}")
    return Failure(kind, "the score is null" if value is None else f"the score is {shorten(value, 80)}")


def refusal(path: str, reason: str, line: int | None = None) -> DataError:
    """Say why a file cannot be read as its tool's."""
    return DataError([Problem(path=path, rule=OTHER_RESULTS, reason=reason, line=line)])


def count_of(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
