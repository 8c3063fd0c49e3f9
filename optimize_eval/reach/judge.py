"""An evaluator that is a language model: a prompt with an objective in, a score with its reasons out.

The prompt is judge_prompt's, the meaning of a reply judge_reply's, reaching the model models'. A reply that
cannot be used is asked for once more; a judge that still gives none has failed, and never scored 0. Scores
are from 0 to 1 whatever the score range.
"""

import json
from collections.abc import Sequence
from typing import Any

from optimize_eval.errors import EvaluationError, FailureKind
from optimize_eval.models import Model, ModelSpec, Reply
from optimize_eval.protocol import Answer, Payload, encode
from optimize_eval.reach import Capacity, EvaluatorSpec
from optimize_eval.reach.batch import ask_singly
from optimize_eval.reach.judge_prompt import asked_again, messages, schema_of
from optimize_eval.reach.judge_reply import Unusable, Verdict, parse_reply
from optimize_eval.reach.rubric import JudgeSpec, check_judge

_SHOWN = 200
_CUT_OFF = "length"
_NONSENSE_HINT = "a larger model, or a shorter rubric, may keep to the form"
_TOO_SHORT_HINT = "raise max_tokens: the judge's answer was cut off"


class JudgeEvaluator:
    """Asks a model."""

    note = ""
    capacity = Capacity()

    def __init__(self, spec: EvaluatorSpec) -> None:
        self._judge = check_judge(spec.judge or JudgeSpec())
        self._schema = schema_of(self._judge.rubric)
        self._model = Model(model_of(self._judge))

    def call(self, payload: Payload, deadline: float) -> Answer:
        encode(payload)  # refuses what no message could hold
        asked = messages(self._judge, payload)
        first = self._model.chat(asked, deadline, schema=self._schema)
        try:
            return _answer(self._verdict(first, payload), [first])
        except Unusable as unusable:
            asked += asked_again(first.text, str(unusable))
        second = self._model.chat(asked, deadline, schema=self._schema)
        try:
            return _answer(self._verdict(second, payload), [first, second])
        except Unusable as unusable:
            raise self._nonsense(second, unusable) from None

    def call_many(self, payloads: Sequence[Payload], timeout: float) -> list[Answer | EvaluationError]:
        return ask_singly(payloads, timeout, self.call)

    def close(self) -> None:
        self._model.close()

    def _verdict(self, reply: Reply, payload: Payload) -> Verdict:
        try:
            return parse_reply(reply.text, self._judge.rubric, payload.candidate)
        except Unusable as unusable:
            if reply.finish_reason == _CUT_OFF:
                raise Unusable("it is cut off for its length, so be brief") from None
            raise unusable from None

    def _nonsense(self, reply: Reply, unusable: Unusable) -> EvaluationError:
        said = reply.text if len(reply.text) <= _SHOWN else reply.text[: _SHOWN - 1] + "…"
        return EvaluationError(
            FailureKind.MODEL_ERROR,
            f"{self._judge.model} gave no usable judgement, also when asked again: {unusable}; "
            f"it said {json.dumps(said, ensure_ascii=False)}",
            hint=_TOO_SHORT_HINT if reply.finish_reason == _CUT_OFF else _NONSENSE_HINT,
        )


def model_of(judge: JudgeSpec) -> ModelSpec:
    """Describe the model that a judge asks."""
    return ModelSpec(
        name=judge.model,
        api_base=judge.api_base,
        temperature=judge.temperature,
        max_tokens=judge.max_tokens,
        seed=judge.seed,
    )


def _answer(verdict: Verdict, replies: Sequence[Reply]) -> Answer:
    return Answer(score=verdict.score, side_info={**verdict.side_info, "usage": _usage(replies)})


def _usage(replies: Sequence[Reply]) -> dict[str, Any]:
    """Sum the tokens of all replies; what a server does not tell is unknown, not 0."""
    return {
        "prompt_tokens": _sum([reply.prompt_tokens for reply in replies]),
        "completion_tokens": _sum([reply.completion_tokens for reply in replies]),
        "calls": len(replies),
    }


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
