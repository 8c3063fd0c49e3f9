"""The contract with evaluators: what is sent (Payload, encode) and what comes back (Answer or Skip).

Pure: bytes in, values out, no I/O. `parse_answer` is the one rule for runs, preflight and the public
API; its parts `decode_answer` and `judge_answer` serve where answers come many in one text. The words for
what is wrong are in wrong_answers; evaluators are called in evaluators and programs, outcomes made in run.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any

import orjson

from optimize_eval.base import strict_json, wrong_answers
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind, UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.spent import NOTHING, Spent

PROTOCOL_VERSION = 2
TASK_MODEL_VARIABLE = "OPTIMIZE_ANYTHING_TASK_MODEL"

_LONGEST_REASON = 2000  # letters of why an example is skipped
_SHORT = 24  # an answer of so few bytes has no room for a number or a nesting that needs a second look
_SCORE = b'"score"'

__all__ = [
    "PROTOCOL_VERSION",
    "TASK_MODEL_VARIABLE",
    "Answer",
    "Capabilities",
    "FailureKind",
    "Payload",
    "ScoreRange",
    "Skip",
    "check_task_model",
    "decode_answer",
    "encode",
    "encode_batch",
    "judge_answer",
    "parse_answer",
    "parse_score_range",
    "split_batch",
    "validate_evaluator_payload",
]


class ScoreRange(StrEnum):
    """Which scores count: `unit` is 0 to 1 inclusive, `any` every finite number."""

    UNIT = "unit"
    ANY = "any"


@frozen
class Payload:
    """One question to an evaluator; `example` is one JSON object on one line, sent byte for byte.

    Never sent: `split`, `line` and `repeat`, its place in a run, `prompt`, which a judge may be shown, and
    `rival`, with which a judge may compare it.
    """

    candidate: str
    example: bytes | None = None
    task_model: str | None = None
    line: int | None = None
    repeat: int = 1
    prompt: str = ""
    split: str = ""
    rival: "Payload | None" = None


@frozen
class Capabilities:
    """What an evaluator declares of itself: to be kept alive, to take several payloads at once, batches."""

    persistent: bool = False
    concurrency: int | None = None  # None: nothing was said of it
    batch: int = 1

    @classmethod
    def from_json(cls, declared: object) -> "Capabilities":
        """Read a declaration; what is unknown or of the wrong type is as if it were not there."""
        keys = declared if isinstance(declared, dict) else {}
        if len(keys) == 1 and keys.get("persistent") is True:  # what most say, with each answer
            return _PERSISTENT
        lanes, batch = _count(keys.get("concurrency")), _count(keys.get("batch")) or 1
        return cls(persistent=keys.get("persistent") is True, concurrency=lanes, batch=batch)


NO_CAPABILITIES, _PERSISTENT = Capabilities(), Capabilities(persistent=True)


@frozen
class Answer:
    """A score, everything else in the answer, and what the evaluator declared of itself."""

    score: float  # NaN where a scorer of a task gave a label instead
    side_info: JsonMapping = field(default_factory=dict)
    capabilities: Capabilities = NO_CAPABILITIES
    stderr: str = ""  # only where the user keeps it
    spent: Spent = NOTHING
    output: str = ""  # the key of the model's reply that was scored, where one was
    is_unranked: bool = False  # that is so
    reply: JsonMapping = field(default_factory=dict)  # what is to be known of it


@frozen
class Skip:
    """What stands in a score's place where an evaluator does not apply to an example: why, and the same."""

    why: str
    side_info: JsonMapping = field(default_factory=dict)
    capabilities: Capabilities = NO_CAPABILITIES
    stderr: str = ""
    spent: Spent = NOTHING
    output: str = ""


Answered = Answer | Skip


def encode(payload: Payload, identity: str | None = None) -> bytes:
    """Write a payload as one line; the example's bytes are spliced in, never decoded and encoded again."""
    parts = _opening(payload)
    if payload.example is not None:
        parts += (b',"example":', payload.example)
    return _close(parts, payload, identity)


def encode_batch(payloads: Sequence[Payload], identity: str | None = None) -> bytes:
    """Write payloads that differ in their example only as one line of the batch extension."""
    examples = b",".join(payload.example or b"{}" for payload in payloads)
    return _close([*_opening(payloads[0]), b',"examples":[', examples, b"]"], payloads[0], identity)


def _opening(payload: Payload) -> list[bytes]:
    return [
        b'{"_protocol_version":%d,"candidate":' % PROTOCOL_VERSION,
        _encode_text(payload.candidate, "candidate"),
    ]


def _close(parts: list[bytes], payload: Payload, identity: str | None) -> bytes:
    if payload.task_model is not None:
        parts += (b',"task_model":', _encode_text(payload.task_model, "task model"))
    if identity is not None:
        parts += (b',"_id":', orjson.dumps(identity))
    parts.append(b"}\n")
    return b"".join(parts)


def parse_answer(
    raw: bytes, score_range: ScoreRange = ScoreRange.UNIT, *, source: str = "stdout"
) -> Answered:
    """Read an answer or raise EvaluationError; `source` names where the bytes came from in messages."""
    return judge_answer(decode_answer(raw, source=source), score_range)


def decode_answer(raw: bytes, *, source: str = "stdout", like: str = wrong_answers.SAMPLE) -> JsonDict:
    """Read one JSON object, integers of any size exactly; raises EvaluationError.

    `source` names where the bytes came from in messages, `like` shows there what is expected.
    """
    try:
        answer = orjson.loads(raw)
    except orjson.JSONDecodeError:
        answer = _decode_exactly(raw, source, like)
    else:
        if len(raw) > _SHORT and (
            strict_json.may_hold_long_integer(raw)
            or strict_json.is_too_deep(raw.count(b"[") + raw.count(b"{"), answer)
        ):
            answer = _decode_exactly(raw, source, like)
    if not isinstance(answer, dict):
        raise wrong_answers.not_an_object(answer, source, like)
    if raw.count(_SCORE) > 1 and strict_json.gives_twice("score", raw):
        raise wrong_answers.two_scores(source)
    return answer


def judge_answer(answer: JsonDict, score_range: ScoreRange) -> Answered:
    """Judge a decoded answer, which is taken over, or raise EvaluationError with the rest of it."""
    try:
        judged = _score_or_why_not(answer, score_range)
    except EvaluationError as error:
        error.side_info = wrong_answers.said_besides(answer, error.message)
        raise
    del answer["skip" if isinstance(judged, str) else "score"]
    declared = answer.get("_capabilities")
    for key in wrong_answers.PROTOCOL_KEYS:
        answer.pop(key, None)
    capabilities = NO_CAPABILITIES if declared is None else Capabilities.from_json(declared)
    if isinstance(judged, str):
        return Skip(why=judged, side_info=answer, capabilities=capabilities)
    return Answer(score=judged, side_info=answer, capabilities=capabilities)


def split_batch(answer: JsonMapping, size: int, score_range: ScoreRange) -> list[Answered | EvaluationError]:
    """Judge each element of a batch's answer by itself; raises ValueError unless there are `size` of them."""
    results = answer.get("results")
    if not isinstance(results, list) or len(results) != size:
        count = len(results) if isinstance(results, list) else "no list of"
        raise ValueError(f"a batch of {size} got {count} results")
    return [_judge_element(element, score_range) for element in results]


def _judge_element(element: object, score_range: ScoreRange) -> Answered | EvaluationError:
    if not isinstance(element, dict):
        return wrong_answers.not_an_object(element, "the result")
    try:
        return judge_answer(element, score_range)
    except EvaluationError as error:
        return error


def validate_evaluator_payload(
    result: JsonMapping, score_range: ScoreRange | str = ScoreRange.UNIT
) -> str | None:
    """Say what is wrong with an already decoded answer; None when it would be scored, or skipped.

    >>> validate_evaluator_payload({"score": 0.7})
    >>> validate_evaluator_payload({"score": "0.7"})
    'score is the text "0.7", not a number'
    """
    if not isinstance(result, Mapping):
        return wrong_answers.not_an_object(result, "the answer").message
    try:
        _score_or_why_not(result, parse_score_range(score_range))
    except EvaluationError as error:
        return error.message
    return None


def parse_score_range(text: str) -> ScoreRange:
    try:
        return ScoreRange(text)
    except ValueError:
        raise UsageError(f"unknown score range {text!r}", hint="use one of: unit, any") from None


def check_task_model(task_model: str | None) -> str | None:
    """Refuse a task model that could be neither JSON text nor an environment variable."""
    if task_model is not None:
        _encode_text(task_model, "task model")
        if "\0" in task_model:
            raise UsageError("the task model holds a NUL character", hint="give a name: openai/gpt-4o-mini")
    return task_model


def _encode_text(text: str, what: str) -> bytes:
    if not isinstance(text, str):
        raise UsageError(f"the {what} is a {type(text).__name__}, not a text", hint="pass a str")
    try:
        return orjson.dumps(text)
    except TypeError:
        where = next((i for i, char in enumerate(text) if "\ud800" <= char <= "\udfff"), 0)
        raise UsageError(
            f"the {what} holds a lone surrogate at character {where}, which has no UTF-8 form",
            hint="replace it, for instance with text.encode('utf-8', 'replace').decode()",
        ) from None


def _decode_exactly(raw: bytes, source: str, like: str) -> Any:
    """Decode what orjson refused or would have rounded, or say precisely why it is not an answer."""
    body = raw.strip().removeprefix(b"\xef\xbb\xbf").strip()
    if not body:
        raise wrong_answers.nothing(source, like)
    if wrong_answers.is_utf16(body):
        raise wrong_answers.utf16(source)
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise wrong_answers.not_utf8(body, error.start, source) from None
    try:
        return strict_json.loads(text, unique_keys=False)
    except strict_json.JsonFault as fault:
        lines = raw[: raw.find(body[:1])].count(b"\n")  # before the text
        raise wrong_answers.not_json(text, fault, lines, source, like) from None


def _score_or_why_not(answer: JsonMapping, score_range: ScoreRange) -> float | str:
    """Give the score, or the reason of an answer that skips; a score or an error beside `skip` counts."""
    if "score" not in answer:
        why = answer.get("skip")
        if isinstance(why, str) and why.strip() and "error" not in answer:
            return why[:_LONGEST_REASON]
        raise wrong_answers.without_score(answer)
    score = answer["score"]
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise wrong_answers.wrong_type(score, answer)
    number = as_float(score) + 0.0  # turns -0.0 into 0.0
    if not math.isfinite(number):
        raise wrong_answers.not_finite(number)
    if score_range is ScoreRange.UNIT and not 0.0 <= number <= 1.0:
        raise wrong_answers.out_of_range(number)
    return number


def as_float(value: float) -> float:
    """Make a float of a number; a whole one that no float holds is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _count(declared: object) -> int | None:
    return declared if isinstance(declared, int) and not isinstance(declared, bool) and declared > 0 else None
