"""Why an answer is none: the EvaluationError for each way in which one can be wrong, with what to do next.

What is right and wrong is decided in protocol; this module finds the words.
"""

import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.strict_json import JsonFault, loads

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
_ONCE_HINT = "print one JSON object for each payload, once"
_COMMA_HINT = "take out the comma before the closing bracket"
_WHOLE_HINT = "print the whole object: was the program cut off, or a closing bracket forgotten?"
_LIBRARY_HINT = "let a JSON library write it (json.dumps, JSON.stringify, jq -n --arg), which escapes texts"
_SCRIPT_HINT = "this is how JavaScript shows an object: print JSON.stringify(answer) instead"
_NULL_HINT = (
    "JSON libraries make null of NaN, and jq of a field that is missing: "
    'score a finite number, or answer {"error": "why"}'
)
_TRUTH_HINT = 'write 1 for true and 0 for false: {"score": %d}'
_NUMBER_HINT = 'write one number: {"score": 0.7}'
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
_EXTRA = "extra data"  # the decoder's reason where a value is over, and the text is not
_OF_TEXTS = frozenset({"invalid control character", "expecting ',' delimiter", "invalid \\escape"})
_ENDS_IN_DIGIT = re.compile(r"\d,")
_BEGINNINGS = (
    ("undefined", "undefined was printed: print JSON.stringify(answer), where answer is an object"),
    ("[object ", _SCRIPT_HINT),
    ("```", "print the object alone, without the ``` around it"),
    ("\x1b[", "print only the answer there, and without colour: jq -M, or NO_COLOR=1"),
)
_CAUSES = tuple(  # what stands where JSON ended → the reason ("": the decoder's), what to do
    (re.compile(pattern), reason, hint)
    for pattern, reason, hint in (
        (r"(-?)(\.\d+)", "a number begins with a digit", 'write {0}0{1}, as printf "%.3f" does'),
        (r"\.", "a digit follows a number's point", "write 1.0 or 1, not 1."),
        (r"\+", "a number has no plus sign", "take out the +"),
        (r"(True|False|None)\b", "{0} is Python's", _PYTHON_HINT),
        (
            r"undefined\b",
            "undefined is not JSON",
            "give the value, or leave the key out (JSON.stringify does)",
        ),
        (
            r"(?i)([+-]?(?:nan|inf|infinity))\b",
            "{0} is not a JSON number",
            _FINITE_HINT.replace("{", "{{").replace("}", "}}"),
        ),
        (r"=>", "this is Ruby's way to write a hash", "print answer.to_json instead"),
        (r"[A-Za-z_$][\w$]{0,99}\s*:", "", _SCRIPT_HINT),
    )
)


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


def is_utf16(body: bytes) -> bool:
    """Return True where JSON was written in units of two or four bytes, with or without their mark."""
    return body.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in body[:2]


def utf16(source: str) -> EvaluationError:
    return EvaluationError(
        FailureKind.INVALID_UTF8,
        f"{source} is UTF-16, not UTF-8",
        hint="write UTF-8 (PowerShell: [Console]::OutputEncoding = [Text.Encoding]::UTF8)",
    )


def two_scores(source: str) -> EvaluationError:
    return EvaluationError(
        FailureKind.INVALID_JSON,
        f'{source} gives the key "score" twice in one object',
        hint="give it once: two of them contradict each other",
    )


def not_json(text: str, fault: JsonFault, skipped: int, source: str, like: str = SAMPLE) -> EvaluationError:
    """Find the most useful thing to say about a text that is not one JSON value."""
    if _is_bad_score(text):
        return _with_the_rest(not_finite(_lenient(text)["score"]), text)
    message, hint = _around_the_answer(text, fault, skipped, source) or _within(text, fault, skipped, source)
    otherwise = f"print exactly one JSON object, such as {like}; log to stderr instead"
    return EvaluationError(FailureKind.INVALID_JSON, message, hint=hint or otherwise)


def _around_the_answer(text: str, fault: JsonFault, skipped: int, source: str) -> tuple[str, str] | None:
    """Find what stands before or after an answer, or in its place."""
    first, _, rest = text.partition("\n")
    if not text.startswith("{"):
        hint = next((hint for begin, hint in _BEGINNINGS if text.startswith(begin)), _NOISE_HINT)
        return f"{source} line {skipped + 1} is not JSON: {_quote(first)}", hint
    if rest and _is_object(first):
        number, line = next((n, line) for n, line in enumerate(rest.split("\n"), skipped + 2) if line.strip())
        if _is_object(line):
            return f"{source} holds two answers, the second on line {number}: {_show(line)}", _ONCE_HINT
        return f"{source} goes on after the answer, line {number}: {_quote(line)}", _NOISE_HINT
    if rest and _is_object(text.rpartition("\n")[2]):
        return f"{source} line {skipped + 1} is not JSON: {_quote(first)}", _NOISE_HINT
    if fault.reason == _EXTRA and _is_object(second := text[fault.offset :]):
        return f"{source} holds two answers, the second is {_show(second)}", _ONCE_HINT
    return None


def _within(text: str, fault: JsonFault, skipped: int, source: str) -> tuple[str, str]:
    """Say at which place an answer is not JSON, and what to do where the cause shows."""
    comma = _comma_too_many(text, fault.offset)
    reason, hint = _cause(text, fault) if comma < 0 else ("a comma too many", _COMMA_HINT)
    row, column = _place(text, fault.offset if comma < 0 else comma)
    around = _show(text.split("\n")[row - 1][max(0, column - _SHOWN // 2) :])
    return f"{source} is not JSON: {reason}, line {row + skipped} column {column}: {around}", hint


def _comma_too_many(text: str, offset: int) -> int:
    """Find a comma before a closing bracket; Pythons differ in which of both they stop at."""
    before = text[: offset + 1].rstrip() if text[offset : offset + 1] == "," else text[:offset].rstrip()
    closes = text[len(before) :].lstrip()[:1] in {"}", "]"}
    return len(before) - 1 if closes and before.endswith(",") else -1


def _cause(text: str, fault: JsonFault) -> tuple[str, str]:
    """Give the reason and what to do, by what stands where JSON ended."""
    before, here = text[: fault.offset].rstrip(), text[fault.offset : fault.offset + _SHOWN]
    if text.startswith("{'"):
        return fault.reason, _PYTHON_HINT
    if not here.strip():
        return "it ends before the object is closed", _WHOLE_HINT
    if _ENDS_IN_DIGIT.search(before[-2:]) and here[0].isdigit():
        return (
            "a comma within a number",
            f"write a point, {SAMPLE}; LC_ALL=C makes most programs do so",
        )
    for pattern, reason, hint in _CAUSES:
        if match := pattern.match(here):
            return reason.format(*match.groups()) or fault.reason, hint.format(*match.groups())
    return fault.reason, _LIBRARY_HINT if fault.reason in _OF_TEXTS else ""


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


def not_an_object(answer: object, source: str, like: str = SAMPLE) -> EvaluationError:
    message = f"{source} is {describe(answer)}, not a JSON object"
    return EvaluationError(FailureKind.NOT_AN_OBJECT, message, hint=_object_instead_of(answer, like))


def _object_instead_of(answer: object, like: str) -> str:
    match answer:
        case [dict()]:
            return "print the object alone, without the brackets around it"
        case str() if _is_object(answer):
            return "it is JSON within a text: encode the answer once"
        case int() | float() if not isinstance(answer, bool) and abs(answer) < _LARGE and like == SAMPLE:
            return f'print {{"score": {answer}}} instead'
    return f"print {like} instead"


def not_finite(number: float) -> EvaluationError:
    what = "NaN" if math.isnan(number) else "infinite, or too large for a 64-bit float"
    return EvaluationError(FailureKind.SCORE_NOT_FINITE, f"score is {what}", hint=_FINITE_HINT)


def out_of_range(number: float) -> EvaluationError:
    return EvaluationError(
        FailureKind.SCORE_OUT_OF_RANGE,
        f"score {number!r} is not between 0 and 1",
        hint="scale it to 0..1, or use --score-range any",
    )


def said_besides(answer: JsonMapping, message: str) -> JsonDict:
    """Give what a wrong answer holds besides its score and the text that is the failure's message."""
    return {
        key: value
        for key, value in answer.items()
        if not (key == "score" or key in PROTOCOL_KEYS or (key == "error" and value == message))
    }


def without_score(answer: JsonMapping) -> EvaluationError:
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
        hint=_misplaced_score(answer)
        or 'add "score", a number, to the object; every other key is kept as side information',
    )


def _misplaced_score(answer: JsonMapping) -> str:
    """Say where the score is that is not where it should be."""
    for key, value in answer.items():
        inner = _quote(key)
        if key.strip().lower() in {"score", "scores"} and isinstance(value, int | float):
            return f'name it "score" instead of {inner}'
        if isinstance(value, Mapping) and "score" in value:
            return f'"score" stands inside of {inner}: put it at the top, {{"score": …, {inner}: …}}'
    return ""


def own_words(answer: JsonMapping) -> str:
    """Find an error that an answer tells of, as a text or as an object; empty where there is none."""
    error = answer.get("error")
    message = error.get("message") if isinstance(error, Mapping) else error
    if error and not isinstance(message, str) and isinstance(error, Mapping | list):
        message = json.dumps(error, ensure_ascii=False, default=str)
    return _cut(message, _LONGEST_REPORT) if isinstance(message, str) else ""


def without_text(answer: JsonMapping) -> EvaluationError:
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


def _keys_of(answer: JsonMapping) -> str:
    keys = [_quote(str(key)) for key in answer if key not in PROTOCOL_KEYS]
    return ", ".join([*keys[:_SHOWN_KEYS], *(["…"] if len(keys) > _SHOWN_KEYS else [])]) or "no key at all"


def wrong_type(score: object, answer: JsonMapping | None = None) -> EvaluationError:
    message = f"score is {describe(score)}, not a number"
    if words := own_words(answer or {}):
        return EvaluationError(FailureKind.SCORE_TYPE, f"{message}; it says: {words}", hint=_TEXT_HINT)
    if "skip" in (answer or {}):
        return EvaluationError(FailureKind.SCORE_TYPE, message, hint=_SKIP_HINT)
    return EvaluationError(FailureKind.SCORE_TYPE, message, hint=_number_instead_of(score))


def _number_instead_of(score: object) -> str:
    """Say what to write in the place of a score that is not a number."""
    match score:
        case None:
            return _NULL_HINT
        case bool():
            return _TRUTH_HINT % score
        case str() if _NUMBER.fullmatch(score.strip()[:_SHOWN]):
            return f'write the number itself, without quotes: {{"score": {score.strip()}}}'
    return _NUMBER_HINT


def describe(value: object) -> str:
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


def _show(text: str) -> str:
    """Show the end of a message as it is where that can be read, for a quoted quote cannot."""
    return _cut(text, _SHOWN) if text.isprintable() and '"' in text else _quote(text)


def _quote(text: str) -> str:
    return json.dumps(_cut(text, _SHOWN), ensure_ascii=False)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
