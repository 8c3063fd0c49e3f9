"""Why an answer is none: the EvaluationError for each way in which one can be wrong, with what to do next.

What is right and wrong is decided in protocol; this module finds the words.
"""

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from optimize_eval.errors import EvaluationError, FailureKind
from optimize_eval.reading.strict_json import JsonFault, loads

SAMPLE = '{"score": 0.5}'  # what an answer looks like
PROTOCOL_KEYS = ("_capabilities", "_id")  # which are no side information

_SHOWN = 80
_SHOWN_KEYS = 10
_LONGEST_REPORT = 2000
_LARGE = 10**300  # a larger integer has no float, and maybe no text either

_TEXT_HINT = 'where there is no score, answer {"error": "why"} without one'
_NOISE_HINT = "print only the answer there: log to stderr instead"
_PYTHON_HINT = "this looks like a Python dict: print json.dumps(answer) instead"
_SKIP_HINT = 'say why it does not apply: {"skip": "why"}, without a score and without an error'
_FINITE_HINT = 'score a finite number; to say that there is no score, answer {"error": "why"}'


def nothing(source: str, like: str = SAMPLE) -> EvaluationError:
    return EvaluationError(
        FailureKind.NO_OUTPUT,
        f"{source} is empty",
        hint=f"print one JSON object such as {like} and flush it before the program ends",
    )


def not_utf8(body: bytes, offset: int, source: str) -> EvaluationError:
    return EvaluationError(
        FailureKind.INVALID_UTF8,
        f"{source} is not UTF-8: byte 0x{body[offset]:02X} at offset {offset}",
        hint="write the answer as UTF-8 (Python: PYTHONIOENCODING=utf-8), or with ASCII escapes only",
    )


def not_json(text: str, fault: JsonFault, skipped: int, source: str, like: str = SAMPLE) -> EvaluationError:
    """Find the most useful thing to say about a text that is not one JSON value."""
    if _is_bad_score(text):
        return _with_the_rest(not_finite(_lenient(text)["score"]), text)
    first, _, rest = text.partition("\n")
    if not text.startswith("{"):
        message, hint = f"{source} line {skipped + 1} is not JSON: {_quote(first)}", _NOISE_HINT
    elif rest and _is_object(first):
        number, line = next((n, line) for n, line in enumerate(rest.split("\n"), skipped + 2) if line.strip())
        message, hint = f"{source} goes on after the answer, line {number}: {_quote(line)}", _NOISE_HINT
    elif rest and _is_object(text.rpartition("\n")[2]):
        message, hint = f"{source} line {skipped + 1} is not JSON: {_quote(first)}", _NOISE_HINT
    else:
        row, column = _place(text, fault.offset)
        around = _quote(text.split("\n")[row - 1][max(0, column - _SHOWN // 2) :])
        message = f"{source} is not JSON: {fault.reason}, line {row + skipped} column {column}: {around}"
        one = f"print exactly one JSON object, such as {like}; log to stderr instead"
        hint = _PYTHON_HINT if text.startswith("{'") else one
    return EvaluationError(FailureKind.INVALID_JSON, message, hint=hint)


def _is_bad_score(text: str) -> bool:
    answer = _lenient(text)
    score = answer.get("score") if isinstance(answer, dict) else None
    return isinstance(score, float) and not math.isfinite(score)


def _with_the_rest(error: EvaluationError, text: str) -> EvaluationError:
    """Let a failure keep what stands beside a score that is not a number, where that is JSON."""
    with suppress(ValueError, RecursionError):
        error.side_info = loads(
            json.dumps(said_besides(_lenient(text), ""), allow_nan=False), unique_keys=False
        )
    return error


def _is_object(text: str) -> bool:
    return isinstance(_lenient(text), dict)


def _lenient(text: str) -> Any:
    """Decode with NaN and Infinity allowed, only to explain a failure; None when even that fails."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _place(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def not_an_object(answer: Any, source: str, like: str = SAMPLE) -> EvaluationError:
    is_number = isinstance(answer, int | float) and not isinstance(answer, bool)
    is_score = is_number and abs(answer) < _LARGE and like == SAMPLE
    return EvaluationError(
        FailureKind.NOT_AN_OBJECT,
        f"{source} is {describe(answer)}, not a JSON object",
        hint=f'print {{"score": {answer}}} instead' if is_score else f"print {like} instead",
    )


def not_finite(number: float) -> EvaluationError:
    what = "NaN" if math.isnan(number) else "infinite, or too large for a 64-bit float"
    return EvaluationError(FailureKind.SCORE_NOT_FINITE, f"score is {what}", hint=_FINITE_HINT)


def out_of_range(number: float) -> EvaluationError:
    return EvaluationError(
        FailureKind.SCORE_OUT_OF_RANGE,
        f"score {number!r} is not between 0 and 1",
        hint="scale it to 0..1, or use --score-range any",
    )


def said_besides(answer: Mapping[str, Any], message: str) -> dict[str, Any]:
    """Give what a wrong answer holds besides its score and the text that is the failure's message."""
    return {
        key: value
        for key, value in answer.items()
        if not (key == "score" or key in PROTOCOL_KEYS or (key == "error" and value == message))
    }


def without_score(answer: Mapping[str, Any]) -> EvaluationError:
    if isinstance(error := answer.get("error"), str):
        report = _cut(error, _LONGEST_REPORT) or "the evaluator reported an error without a text"
        return EvaluationError(FailureKind.REPORTED, report)  # what to do is the evaluator's to say
    if words := own_words(answer):
        message = f'the answer has no "score"; it says: {words}'
        return EvaluationError(FailureKind.MISSING_SCORE, message, hint=_TEXT_HINT)
    if "skip" in answer and "error" not in answer:
        message = f'the answer has no "score", and its "skip" is {describe(answer["skip"])}, no reason'
        return EvaluationError(FailureKind.MISSING_SCORE, message, hint=_SKIP_HINT)
    return EvaluationError(
        FailureKind.MISSING_SCORE,
        f'the answer has no "score"; it has {_keys_of(answer)}',
        hint='add "score", a number, to the object; every other key is kept as side information',
    )


def own_words(answer: Mapping[str, Any]) -> str:
    """Find an error that an answer tells of, as a text or as an object; empty where there is none."""
    error = answer.get("error")
    message = error.get("message") if isinstance(error, Mapping) else error
    if error and not isinstance(message, str) and isinstance(error, Mapping | list):
        message = json.dumps(error, ensure_ascii=False, default=str)
    return _cut(message, _LONGEST_REPORT) if isinstance(message, str) else ""


def without_text(answer: Mapping[str, Any]) -> EvaluationError:
    """Say that a model's answer is none."""
    if isinstance(error := answer.get("error"), str):
        report = _cut(error, _LONGEST_REPORT) or "it reported an error without a text"
        return EvaluationError(
            FailureKind.REPORTED, report, hint="the model program itself reported this error"
        )
    if "text" in answer:
        message = f'"text" is {describe(answer["text"])}, not a text'
        hint = 'answer {"text": "…"}; to say that there is none, {"error": "why"}'
        return EvaluationError(FailureKind.MODEL_ERROR, message, hint=hint)
    return EvaluationError(
        FailureKind.MODEL_ERROR,
        f'the answer has no "text"; it has {_keys_of(answer)}',
        hint='add "text", what the model says; every other key is kept as side information',
    )


def _keys_of(answer: Mapping[str, Any]) -> str:
    keys = [_quote(str(key)) for key in answer if key not in PROTOCOL_KEYS]
    return ", ".join([*keys[:_SHOWN_KEYS], *(["…"] if len(keys) > _SHOWN_KEYS else [])]) or "no key at all"


def wrong_type(score: Any, answer: Mapping[str, Any] | None = None) -> EvaluationError:
    message = f"score is {describe(score)}, not a number"
    if words := own_words(answer or {}):
        return EvaluationError(FailureKind.SCORE_TYPE, f"{message}; it says: {words}", hint=_TEXT_HINT)
    if "skip" in (answer or {}):
        return EvaluationError(FailureKind.SCORE_TYPE, message, hint=_SKIP_HINT)
    return EvaluationError(
        FailureKind.SCORE_TYPE,
        message,
        hint='write the number itself, without quotes: {"score": 0.7}',
    )


def describe(value: Any) -> str:
    """Say what a decoded value is, in a few words that fit into a message."""
    match value:
        case None | True | False:
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return f"the text {_quote(value)}"
        case list() | tuple():
            return f"an array of {len(value)}"
        case Mapping():
            return "an object"
        case int() | float():
            return f"the number {float(value):g}" if abs(value) < _LARGE else "a large number"
    return f"a {type(value).__name__}"


def _quote(text: str) -> str:
    return json.dumps(_cut(text, _SHOWN), ensure_ascii=False)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
