"""The contract with evaluators: what is sent (Payload, encode) and what comes back (parse_answer, Answer).

Pure: bytes in, values out, no I/O. `parse_answer` is the one rule for runs, preflight and the public
API. How an evaluator is reached lives in reach, what an outcome does to a run in run.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson

from optimize_eval import strict_json
from optimize_eval.errors import EvaluationError, FailureKind, UsageError

PROTOCOL_VERSION = 2
TASK_MODEL_VARIABLE = "OPTIMIZE_ANYTHING_TASK_MODEL"

_NOT_SIDE_INFO = ("score", "_capabilities", "_id")
_SHOWN = 80
_SHORT = 24  # an answer of so few bytes has no room for a number or a nesting that needs a second look
_LONG_NUMBER = b"0" * 19  # from so many digits an integer may not fit 64 bits, and orjson makes it a float
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"0" * 9)

_NOISE_HINT = "only the answer may stand there: log to stderr instead"
_ONE_OBJECT_HINT = 'print exactly one JSON object, such as {"score": 0.5}; log to stderr instead'
_PYTHON_HINT = "this looks like a Python dict: print json.dumps(answer) instead"
_FINITE_HINT = 'score a finite number; to say that there is no score, answer {"error": "why"}'


class ScoreRange(StrEnum):
    """Which scores count: `unit` is 0 to 1 inclusive, `any` every finite number."""

    UNIT = "unit"
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """One question to an evaluator; `example` is one JSON object on one line, sent byte for byte."""

    candidate: str
    example: bytes | None = None
    task_model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A score and whatever else the evaluator said."""

    score: float
    side_info: Mapping[str, Any] = field(default_factory=dict)


def encode(payload: Payload) -> bytes:
    """Write a payload as one line; the example's bytes are spliced in, never decoded and encoded again."""
    parts = [
        b'{"_protocol_version":%d,"candidate":' % PROTOCOL_VERSION,
        _encode_text(payload.candidate, "candidate"),
    ]
    if payload.example is not None:
        parts += (b',"example":', payload.example)
    if payload.task_model is not None:
        parts += (b',"task_model":', _encode_text(payload.task_model, "task model"))
    parts.append(b"}\n")
    return b"".join(parts)


def parse_answer(raw: bytes, score_range: ScoreRange = ScoreRange.UNIT, *, source: str = "stdout") -> Answer:
    """Read an answer or raise EvaluationError; `source` names where the bytes came from in messages."""
    try:
        answer = orjson.loads(raw)
    except orjson.JSONDecodeError:
        answer = _decode_exactly(raw, source)
    else:
        if len(raw) > _SHORT and (_has_long_number(raw) or _may_be_too_deep(raw, answer)):
            answer = _decode_exactly(raw, source)
    if not isinstance(answer, dict):
        raise _not_an_object(answer, source)
    score = _score_of(answer, score_range)
    for key in _NOT_SIDE_INFO:
        answer.pop(key, None)
    return Answer(score=score, side_info=answer)


def validate_evaluator_payload(
    result: Mapping[str, Any], score_range: ScoreRange | str = ScoreRange.UNIT
) -> str | None:
    """Say what is wrong with an already decoded answer; None when it would be scored.

    >>> validate_evaluator_payload({"score": 0.7})
    >>> validate_evaluator_payload({"score": "0.7"})
    'score is the text "0.7", not a number'
    """
    if not isinstance(result, Mapping):
        return _not_an_object(result, "the answer").message
    try:
        _score_of(result, parse_score_range(score_range))
    except EvaluationError as error:
        return error.message
    return None


def parse_score_range(text: str) -> ScoreRange:
    try:
        return ScoreRange(text)
    except ValueError:
        raise UsageError(f"unknown score range {text!r}", hint="use one of: unit, any") from None


def _encode_text(text: str, what: str) -> bytes:
    try:
        return orjson.dumps(text)
    except TypeError:
        where = next((i for i, char in enumerate(text) if "\ud800" <= char <= "\udfff"), 0)
        raise UsageError(
            f"the {what} holds a lone surrogate at character {where}, which has no UTF-8 form",
            hint="replace it, for instance with text.encode('utf-8', 'replace').decode()",
        ) from None


def _has_long_number(raw: bytes) -> bool:
    return _LONG_NUMBER in raw.translate(_DIGITS_TO_ZERO)


def _may_be_too_deep(raw: bytes, answer: Any) -> bool:
    return strict_json.is_too_deep(raw.count(b"[") + raw.count(b"{"), answer)


def _decode_exactly(raw: bytes, source: str) -> Any:
    """Decode what orjson refused or would have rounded, or say precisely why it is no answer."""
    body = raw.strip().removeprefix(b"\xef\xbb\xbf").strip()
    if not body:
        raise _nothing(source)
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise _not_utf8(body, error.start, source) from None
    try:
        return strict_json.loads(text, unique_keys=False)
    except strict_json.JsonFault as fault:
        raise _not_json(text, fault, _lines_before(body, raw), source) from None


def _lines_before(body: bytes, raw: bytes) -> int:
    return raw[: raw.find(body[:1])].count(b"\n")


def _nothing(source: str) -> EvaluationError:
    return EvaluationError(
        FailureKind.NO_OUTPUT,
        f"{source} is empty",
        hint='print one JSON object such as {"score": 0.5} and flush it before the program ends',
    )


def _not_utf8(body: bytes, offset: int, source: str) -> EvaluationError:
    return EvaluationError(
        FailureKind.INVALID_UTF8,
        f"{source} is not UTF-8: byte 0x{body[offset]:02X} at offset {offset}",
        hint="write the answer as UTF-8 (Python: PYTHONIOENCODING=utf-8), or with ASCII escapes only",
    )


def _not_json(text: str, fault: strict_json.JsonFault, skipped: int, source: str) -> EvaluationError:
    """Find the most useful thing to say about a text that is not one JSON value."""
    if _is_bad_score(text):
        return _not_finite(_lenient(text)["score"])
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
        message = (
            f"{source} is not JSON: {fault.reason}, line {row + skipped} column {column}: {_quote(first)}"
        )
        hint = _PYTHON_HINT if text.startswith("{'") else _ONE_OBJECT_HINT
    return EvaluationError(FailureKind.INVALID_JSON, message, hint=hint)


def _is_bad_score(text: str) -> bool:
    answer = _lenient(text)
    score = answer.get("score") if isinstance(answer, dict) else None
    return isinstance(score, float) and not math.isfinite(score)


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


def _not_an_object(answer: Any, source: str) -> EvaluationError:
    is_number = isinstance(answer, int | float) and not isinstance(answer, bool)
    return EvaluationError(
        FailureKind.NOT_AN_OBJECT,
        f"{source} is {_describe(answer)}, not a JSON object",
        hint=f'print {{"score": {answer if is_number else 0.5}}} instead',
    )


def _score_of(answer: Mapping[str, Any], score_range: ScoreRange) -> float:
    if "score" not in answer:
        raise _without_score(answer)
    score = answer["score"]
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise _wrong_type(score)
    try:
        number = float(score) + 0.0  # turns -0.0 into 0.0
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _not_finite(number)
    if score_range is ScoreRange.UNIT and not 0.0 <= number <= 1.0:
        raise EvaluationError(
            FailureKind.SCORE_OUT_OF_RANGE,
            f"score {number!r} is not between 0 and 1",
            hint="scale it to 0..1, or use --score-range any",
        )
    return number


def _not_finite(number: float) -> EvaluationError:
    what = "NaN" if math.isnan(number) else "infinite, or too large for a 64-bit float"
    return EvaluationError(FailureKind.SCORE_NOT_FINITE, f"score is {what}", hint=_FINITE_HINT)


def _without_score(answer: Mapping[str, Any]) -> EvaluationError:
    error = answer.get("error")
    if isinstance(error, str):
        return EvaluationError(
            FailureKind.REPORTED, error or "the evaluator reported an error without a text"
        )
    keys = ", ".join(_quote(str(key)) for key in list(answer)[:10]) or "no key at all"
    return EvaluationError(
        FailureKind.MISSING_SCORE,
        f'the answer has no "score"; it has {keys}',
        hint='add "score", a number, to the object; every other key is kept as side information',
    )


def _wrong_type(score: Any) -> EvaluationError:
    return EvaluationError(
        FailureKind.SCORE_TYPE,
        f"score is {_describe(score)}, not a number",
        hint='write the number itself, without quotes: {"score": 0.7}',
    )


def _describe(value: Any) -> str:
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
            return f"the number {value}"
    return f"a {type(value).__name__}"


def _quote(text: str) -> str:
    return json.dumps(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…", ensure_ascii=False)
