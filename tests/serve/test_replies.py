"""The law of the bridge: what a program printed is the same outcome behind HTTP as without it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.base import strict_json
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.protocol import Answer, Capabilities, ScoreRange, Skip, parse_answer
from optimize_eval.serve import service
from optimize_eval.serve.http import HttpReply

TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
VALUES = LEAVES | st.lists(LEAVES, max_size=3) | st.dictionaries(TEXTS, LEAVES, max_size=3)
KEYS = st.sampled_from(["score", "error", "skip", "note", "_capabilities"])
PRINTED = st.binary() | st.dictionaries(KEYS, VALUES).map(lambda said: json.dumps(said).encode())


def outcome(raw: bytes, score_range: ScoreRange) -> Any:
    try:
        answer = parse_answer(raw, score_range)
    except EvaluationError as error:
        return error.kind
    told = answer.why if isinstance(answer, Skip) else answer.score
    return repr((told, dict(answer.side_info)))


def bridged(raw: bytes) -> HttpReply:
    try:
        return service.reply_of_answer(parse_answer(raw, ScoreRange.ANY), 4)
    except EvaluationError as error:
        error.answered = raw
        return service.reply_of_failure(error, 4)


@given(PRINTED, st.sampled_from(ScoreRange))
def test_what_is_printed_is_judged_the_same_behind_http(raw: bytes, score_range: ScoreRange) -> None:
    reply = bridged(raw)
    assert reply.status == 200
    assert outcome(reply.body, score_range) == outcome(raw, score_range)


@pytest.mark.parametrize("kind", sorted(set(FailureKind) - service.CARRIED))
def test_what_never_became_an_answer_is_an_error_that_is_not_asked_again(kind: FailureKind) -> None:
    error = EvaluationError(kind, "why", hint="do this", retry_after=0.0)
    error.answered = b'{"score": 1}'
    reply = service.reply_of_failure(error, 4)
    assert reply.status == 500
    assert strict_json.loads(reply.body.decode(), unique_keys=True) == {
        "error": f"{kind}: why",
        "kind": str(kind),
        "hint": "do this",
    }


def test_only_concurrency_is_declared() -> None:
    answer = Answer(score=1.0, capabilities=Capabilities(persistent=True, batch=8))
    assert parse_answer(service.reply_of_answer(answer, 3).body).capabilities == Capabilities(concurrency=3)
