"""What of a reply is scored: a stage of its own, between the model and the evaluators.

A reply without it is scored as an empty text: a wrong answer and no failure, for failures are left out of a
mean, and a model would gain by replies that nobody can read. A pattern that takes longer than a second is a
failure, the pattern's.
"""

import re
from collections import deque
from collections.abc import Callable
from difflib import get_close_matches

from optimize_eval.base import strict_json
from optimize_eval.base.errors import EvaluationError, UsageError
from optimize_eval.data.selection import value_at
from optimize_eval.tasks.jsonl.processing import FENCED, post_process
from optimize_eval.templates import hosted
from optimize_eval.templates.found import FLAGS, first_of

Extraction = Callable[[str], str]

_MINUS = "\u2212"
# Each part takes what it can and never gives back: a reply of a megabyte is gone through once.
_NUMBER = re.compile(
    r"(?P<sign>(?<![\w.])[-+])?"  # after a word, it is a hyphen
    r"(?:(?P<whole>\d+(?:,\d+)*)(?P<rest>(?:\.\d+)?(?:[eE][-+]?\d+)?)|(?<![\w.])\.\d+(?:[eE][-+]?\d+)?)"
)
_IN_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_REPEATS = re.compile(r"[*+?{]")  # also those that are none, as in \+: these are only searched elsewhere
_MORE = re.compile(r"\||\\\d|\(\?")  # alternatives, what was matched before, looking around
_SHORT = 2_000  # letters in which one repeat takes no time, wherever it starts
_PLAIN: dict[str, Extraction] = {
    "": lambda text: text,
    "letter": lambda text: post_process("extract_letter", text),
    "code": lambda text: post_process("extract_code_block", text),
}
_NAMES = ("letter", "code", "json:PATH", "regex:PATTERN", "last-number")


def extraction_of(rule: str) -> Extraction:
    """Read --extract; raises UsageError.

    >>> extraction_of("last-number")("First 3, then 1,200.")
    '1200'
    >>> extraction_of("json:answer.value")('Sure: {"answer": {"value": 7}}')
    '7'
    """
    name, colon, rest = rule.partition(":")
    if rule in _PLAIN:
        return _PLAIN[rule]
    if rule == "last-number":
        return _last_number
    if name == "json" and colon and rest:
        return lambda text: _json_at(text, rest)
    if name == "regex" and colon and rest:
        pattern = _pattern(rest)
        return lambda text: _matched(pattern, text)
    close = get_close_matches(name, [one.partition(":")[0] for one in _NAMES], n=1)
    hint = f"did you mean {close[0]}? " if close and close[0] != name else ""
    raise UsageError(f"--extract {rule!r} is no rule", hint=f"{hint}one of {', '.join(_NAMES)}")


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text, FLAGS)
    except (re.error, RecursionError, OverflowError) as error:
        raise UsageError(f"--extract regex:{text}: {error}", hint="quote it for your shell") from None


def _matched(pattern: re.Pattern[str], text: str) -> str:
    """Take the first group of the first match, or all of it; the host searches where it may take any time."""
    if _is_quick(pattern.pattern, text):
        return first_of(pattern.search(text))
    try:
        return hosted.search(pattern.pattern, text)
    except EvaluationError as error:
        error.message = f"extract: regex:{pattern.pattern} {error.message}"
        error.stage = "extract"
        raise


def _is_quick(pattern: str, text: str) -> bool:
    repeats = len(_REPEATS.findall(pattern))
    return not _MORE.search(pattern) and (not repeats or (repeats == 1 and len(text) <= _SHORT))


def _last_number(text: str) -> str:
    last = deque(_NUMBER.finditer(text.replace(_MINUS, "-")), maxlen=1)
    return _number(last[0]) if last else ""


def _number(found: re.Match[str]) -> str:
    """Take commas between thousands out; others part numbers, of which the last is meant."""
    whole = found["whole"]
    if whole is None or "," not in whole:
        return found[0]
    if _IN_THOUSANDS.fullmatch(whole):
        return found[0].replace(",", "")
    return whole.rpartition(",")[2] + found["rest"]


def _json_at(text: str, path: str) -> str:
    for part in _objects(text):
        value = value_at(part, path)
        if value is not None:
            return value if isinstance(value, str) else strict_json.dumps(value).decode()
    return ""


def _objects(text: str) -> list[object]:
    """Read a reply as JSON: all of it, what is fenced in it, or from its first brace to its last."""
    braced = text[text.find("{") : text.rfind("}") + 1]
    return [value for part in (text, *FENCED.findall(text), braced) if (value := _decoded(part)) is not None]


def _decoded(text: str) -> object:
    try:
        value: object = strict_json.loads(text.strip(), unique_keys=False)
    except strict_json.JsonFault:
        return None
    return value
