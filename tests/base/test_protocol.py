"""The contract: what is sent, what is accepted, and that nothing else can come out."""

import json
import math
import pickle
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.base import strict_json
from optimize_eval.base.errors import EvaluationError, FailureKind, UsageError
from optimize_eval.base.protocol import (
    Answer,
    Capabilities,
    Payload,
    ScoreRange,
    Skip,
    encode,
    parse_answer,
    split_batch,
    validate_evaluator_payload,
)
from tests.json_values import OBJECTS, TEXTS, VALUES
from tests.paths import ROOT

UNIT_SCORES = st.floats(0, 1) | st.integers(0, 1)


def kind_of(raw: bytes, score_range: ScoreRange = ScoreRange.UNIT) -> str:
    with pytest.raises(EvaluationError) as caught:
        parse_answer(raw, score_range)
    return str(caught.value.kind)


def test_a_payload_is_one_line_with_its_keys_in_order() -> None:
    line = encode(Payload(candidate="a\nb", example=b'{"x": 1}', task_model="openai/gpt-4o-mini"))
    assert line == (
        b'{"_protocol_version":2,"candidate":"a\\nb","example":{"x": 1},"task_model":"openai/gpt-4o-mini"}\n'
    )


def test_what_there_is_none_of_is_absent_and_an_empty_example_is_sent() -> None:
    assert encode(Payload(candidate="")) == b'{"_protocol_version":2,"candidate":""}\n'
    assert b'"example":{}' in encode(Payload(candidate="", example=b"{}"))


@given(TEXTS, st.none() | OBJECTS, st.none() | TEXTS)
def test_a_payload_reads_back_as_it_was(
    candidate: str, example: dict[str, Any] | None, task_model: str | None
) -> None:
    raw = None if example is None else strict_json.dumps(example)
    line = encode(Payload(candidate=candidate, example=raw, task_model=task_model))
    expected = {"_protocol_version": 2, "candidate": candidate, "example": example, "task_model": task_model}
    assert json.loads(line) == {key: value for key, value in expected.items() if value is not None}
    assert line.count(b"\n") == 1


@pytest.mark.parametrize(
    "example",
    [
        b'{"id": 123456789012345678901234567890}',
        b'{"a": 1.0, "b": 1}',
        b'{"z": 1, "a": 2}',
        b'{"e": "\\u00e9\\/"}',
        b'{"n": 1E5}',
    ],
)
def test_an_example_arrives_byte_for_byte(example: bytes) -> None:
    assert b'"example":' + example + b"}" in encode(Payload(candidate="x", example=example))


def test_a_candidate_with_a_lone_surrogate_is_refused_with_its_place() -> None:
    with pytest.raises(UsageError, match="character 2"):
        encode(Payload(candidate="ab\ud800"))


@given(st.binary(max_size=200), st.sampled_from(ScoreRange))
def test_parsing_bytes_raises_nothing_but_evaluation_errors(raw: bytes, score_range: ScoreRange) -> None:
    try:
        parse_answer(raw, score_range)
    except EvaluationError as error:
        assert error.message


@given(st.text('{}[]",:0123456789.eE+- \n\\uscoreNaInfity', max_size=60), st.sampled_from(ScoreRange))
def test_parsing_almost_json_raises_nothing_but_evaluation_errors(text: str, score_range: ScoreRange) -> None:
    try:
        parse_answer(b'{"score":' + text.encode(), score_range)
    except EvaluationError as error:
        assert error.message


@given(UNIT_SCORES, OBJECTS)
def test_an_answer_reads_back_as_it_was(score: float, side_info: dict[str, Any]) -> None:
    side_info = {k: v for k, v in side_info.items() if k not in {"score", "_id", "_capabilities"}}
    answer = parse_answer(strict_json.dumps({"score": score, **side_info}))
    assert isinstance(answer, Answer)
    assert answer.score == score
    assert answer.side_info == side_info
    assert strict_json.dumps(answer.side_info) == strict_json.dumps(side_info)


@given(
    VALUES
    | st.fixed_dictionaries({"score": VALUES | UNIT_SCORES}, optional={"error": VALUES, "note": VALUES})
    | st.fixed_dictionaries({"skip": VALUES | TEXTS}, optional={"error": VALUES, "score": VALUES})
)
def test_schema_and_code_agree(value: Any) -> None:
    for score_range, schema in SCHEMAS.items():
        try:
            parse_answer(strict_json.dumps(value), score_range)
            accepted = True
        except EvaluationError as error:
            accepted = error.kind is FailureKind.REPORTED
            if error.kind is FailureKind.SCORE_NOT_FINITE:
                return  # an integer beyond every float: a number to the schema
        assert accepted == schema.is_valid(value), value


def _schemas() -> dict[ScoreRange, Any]:
    import jsonschema

    unit = orjson.loads((ROOT / "optimize_eval/schema/answer.schema.json").read_bytes())
    any_finite = orjson.loads(orjson.dumps(unit).replace(b"#/$defs/unit_score", b"#/$defs/any_score"))
    validator = jsonschema.Draft202012Validator
    return {ScoreRange.UNIT: validator(unit), ScoreRange.ANY: validator(any_finite)}


SCHEMAS = _schemas()


@given(TEXTS, st.none() | OBJECTS, st.none() | TEXTS)
def test_every_payload_fits_its_schema(
    candidate: str, example: dict[str, Any] | None, task_model: str | None
) -> None:
    import jsonschema

    schema = orjson.loads((ROOT / "optimize_eval/schema/payload.schema.json").read_bytes())
    raw = None if example is None else strict_json.dumps(example)
    payload = json.loads(encode(Payload(candidate=candidate, example=raw, task_model=task_model)))
    jsonschema.validate(payload, schema)


@given(
    st.dictionaries(st.sampled_from(["score", "error", "skip", "x"]), VALUES | UNIT_SCORES | TEXTS),
    st.sampled_from(ScoreRange),
)
def test_a_decoded_answer_is_judged_as_a_printed_one(answer: dict[str, Any], score_range: ScoreRange) -> None:
    said = validate_evaluator_payload(answer, score_range)
    try:
        parse_answer(strict_json.dumps(answer), score_range)
    except EvaluationError as error:
        assert said == error.message
    else:
        assert said is None


ODD_ANSWERS = {
    "nothing": (b"", "no_output"),
    "only blanks": (b" \r\n\t", "no_output"),
    "a byte that is not UTF-8": (b'{"score":1,"a":"\xff"}', "invalid_utf8"),
    "a log line first": (b'Loading model\n{"score":1}', "invalid_json"),
    "a bracketed log line first": (b'[INFO] x\n{"score":1}', "invalid_json"),
    "two answers": (b'{"score":1}\n{"score":1}', "invalid_json"),
    "a Python dict": (b"{'score': 1}", "invalid_json"),
    "cut short": (b'{"score":1', "invalid_json"),
    "a NUL at the end": (b'{"score":1}\0', "invalid_json"),
    "an array": (b"[1]", "not_an_object"),
    "a number": (b"0.73", "not_an_object"),
    "a string": (b'"0.73"', "not_an_object"),
    "null": (b"null", "not_an_object"),
    "no score": (b'{"Score":1}', "missing_score"),
    "no score but an error": (b'{"error":"no key"}', "reported"),
    "an error that is not a text": (b'{"error":1}', "missing_score"),
    "text": (b'{"score":"0.7"}', "score_type"),
    "true": (b'{"score":true}', "score_type"),
    "null score": (b'{"score":null,"error":"x"}', "score_type"),
    "an array as score": (b'{"score":[]}', "score_type"),
    "NaN": (b'{"score":NaN}', "score_not_finite"),
    "Infinity": (b'{"score":-Infinity}', "score_not_finite"),
    "1e999": (b'{"score":1e999}', "score_not_finite"),
    "10^400": (b'{"score":1' + b"0" * 400 + b"}", "score_not_finite"),
    "5,000 digits": (b'{"score":' + b"1" * 5000 + b"}", "invalid_json"),
    "5,000 digits beside the score": (b'{"score":1,"n":' + b"1" * 5000 + b"}", "invalid_json"),
    "just above 1": (b'{"score":1.0000000000000002}', "score_out_of_range"),
    "below 0": (b'{"score":-0.01}', "score_out_of_range"),
    "two scores": (b'{"score":0.2,"score":0.4}', "invalid_json"),
    "NaN beside the score": (b'{"score":1,"x":NaN}', "invalid_json"),
    "1e999 beside the score": (b'{"score":1,"x":1e999}', "invalid_json"),
    "a lone surrogate": (b'{"score":1,"x":"\\ud800"}', "invalid_json"),
    "200 levels inside the answer": (b'{"score":1,"x":' + b"[" * 200 + b"]" * 200 + b"}", "invalid_json"),
    "200,000 brackets": (b"[" * 200_000, "invalid_json"),
    "200,000 nested objects": (b'{"a":' * 200_000, "invalid_json"),
}


@pytest.mark.parametrize(("raw", "kind"), ODD_ANSWERS.values(), ids=ODD_ANSWERS.keys())
def test_a_bad_answer_has_its_kind_and_says_what_to_do(raw: bytes, kind: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        parse_answer(raw)
    assert caught.value.kind == kind
    assert caught.value.message
    assert caught.value.hint or kind == "reported"


@pytest.mark.parametrize(
    ("raw", "score"),
    [
        (b'\xef\xbb\xbf {"score":0.5}\n', 0.5),
        (b'{"score":-0.0}', 0.0),
        (b'{"score":0}', 0.0),
        (b'{"score":0.5,"x":1,"x":2}', 0.5),
        (b'{"score":0.5,"error":"kept"}', 0.5),
        (b'{"score":1,"x":' + b"[" * 199 + b"]" * 199 + b"}", 1.0),
        (b'{"score":1,"x":"' + b"[" * 400 + b'"}', 1.0),
    ],
)
def test_unusual_answers_that_are_fine(raw: bytes, score: float) -> None:
    found = parse_answer(raw)
    assert isinstance(found, Answer)
    assert found.score == score
    assert math.copysign(1, found.score) == 1


def test_any_accepts_every_finite_number() -> None:
    assert parse_answer(b'{"score":-17.5}', ScoreRange.ANY) == Answer(score=-17.5)
    assert kind_of(b'{"score":NaN}', ScoreRange.ANY) == "score_not_finite"


def test_noise_is_shown_with_its_line() -> None:
    with pytest.raises(EvaluationError, match=r'stdout line 2 is not JSON: "Loading…?.*"') as caught:
        parse_answer(b'\nLoading\n{"score":1}')
    assert "log to stderr instead" in caught.value.hint


def test_side_info_keeps_128_bit_integers_and_drops_what_belongs_to_the_protocol() -> None:
    big = 2**127 + 1
    answer = parse_answer(b'{"score":1,"trace":%d,"_id":"7","_capabilities":{"persistent":true}}' % big)
    assert answer.side_info == {"trace": big}
    assert strict_json.dumps(answer.side_info) == b'{"trace":%d}' % big


OWN_WORDS = {
    "null score": (b'{"score":null,"error":"no key","m":1}', "score is null, not a number; it says: no key"),
    "an object": (b'{"error":{"message":"quota","code":429}}', 'the answer has no "score"; it says: quota'),
    "of codes only": (b'{"error":{"code":7}}', 'the answer has no "score"; it says: {"code": 7}'),
    "wrong type": (
        b'{"score":"n/a","error":"no key"}',
        'score is the text "n/a", not a number; it says: no key',
    ),
}


@pytest.mark.parametrize(("raw", "message"), OWN_WORDS.values(), ids=OWN_WORDS.keys())
def test_an_evaluators_own_words_are_in_the_failures_message(raw: bytes, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        parse_answer(raw)
    assert caught.value.message == message
    assert caught.value.hint == 'where there is no score, answer {"error": "why"} without one'


BESIDES = {
    "out of range": (b'{"score":1.5,"reasoning":"why","_id":"1"}', {"reasoning": "why"}),
    "reported": (b'{"error":"no","reasoning":"why"}', {"reasoning": "why"}),
    "its words cut": (b'{"error":"' + b"x" * 3000 + b'"}', {"error": "x" * 3000}),
    "wrong type": (b'{"score":null,"error":"no key"}', {"error": "no key"}),
    "missing": (b'{"n":36893488147419103232,"_capabilities":{}}', {"n": 2**65}),
    "NaN": (b'{"score":NaN,"n":36893488147419103232}', {"n": 2**65}),
    "1e999": (b'{"score":1e999,"why":[1]}', {"why": [1]}),
    "10^400": (b'{"score":1' + b"0" * 400 + b',"why":"x"}', {"why": "x"}),
    "NaN besides, too": (b'{"score":NaN,"also":NaN}', {}),
    "half a letter besides": (b'{"score":NaN,"also":"\\ud800"}', {}),
}


@pytest.mark.parametrize(("raw", "besides"), BESIDES.values(), ids=BESIDES.keys())
def test_a_failure_keeps_what_its_answer_says_besides_the_score(raw: bytes, besides: dict[str, Any]) -> None:
    with pytest.raises(EvaluationError) as caught:
        parse_answer(raw)
    assert caught.value.side_info == besides
    assert pickle.loads(pickle.dumps(caught.value)).side_info == besides


def test_a_skip_is_a_reason_and_what_else_was_said() -> None:
    raw = b'{"skip":"no code in it","lang":"en","_capabilities":{"persistent":true,"batch":8},"_id":"3"}'
    skip = parse_answer(raw)
    declared = Capabilities(persistent=True, batch=8)
    assert skip == Skip(why="no code in it", side_info={"lang": "en"}, capabilities=declared)
    assert validate_evaluator_payload({"skip": "no code in it"}) is None


def test_a_score_or_an_error_beside_a_skip_counts() -> None:
    assert parse_answer(b'{"skip":"x","score":0.5}') == Answer(score=0.5, side_info={"skip": "x"})
    with pytest.raises(EvaluationError, match="quota") as caught:
        parse_answer(b'{"skip":"x","error":"quota"}')
    assert (caught.value.kind, caught.value.side_info) == ("reported", {"skip": "x"})


@pytest.mark.parametrize(
    ("raw", "kind", "what"),
    [
        (
            b'{"skip":""}',
            "missing_score",
            'the answer has no "score", and its "skip" is the text "", no reason',
        ),
        (b'{"skip":" \\n"}', "missing_score", r'its "skip" is the text " \n", no reason'),
        (b'{"skip":true}', "missing_score", 'its "skip" is true, no reason'),
        (b'{"skip":null}', "missing_score", 'its "skip" is null, no reason'),
        (b'{"skip":["x"]}', "missing_score", 'its "skip" is an array of 1, no reason'),
        (b'{"skip":"x","score":null}', "score_type", "score is null, not a number"),
    ],
)
def test_a_skip_without_a_reason_is_a_wrong_answer_in_words_of_its_own(
    raw: bytes, kind: str, what: str
) -> None:
    with pytest.raises(EvaluationError) as caught:
        parse_answer(raw)
    assert (caught.value.kind, what in caught.value.message) == (kind, True), caught.value.message
    assert '{"skip": "why"}' in caught.value.hint


def test_each_result_of_a_batch_may_skip_by_itself() -> None:
    results = split_batch({"results": [{"skip": "x"}, {"score": 1}, {"skip": 1}]}, 3, ScoreRange.UNIT)
    assert results[:2] == [Skip(why="x"), Answer(score=1.0)]
    assert isinstance(results[2], EvaluationError)
