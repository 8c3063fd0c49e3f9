"""An evaluator that is a language model: a prompt with an objective in, a score with its reasons out.

The prompt is prompt's, the meaning of a reply reply's, reaching the model models'. A reply that
cannot be used, or is on another scale, is retried once; a judge whose second reply cannot be used has failed,
and never scored 0. Scores are from 0 to 1 whatever the score range.
"""

import json
from collections.abc import Sequence
from typing import Any

from optimize_eval.errors import EvaluationError, FailureKind
from optimize_eval.evaluator import Capacity, EvaluatorSpec
from optimize_eval.kinds.judge.objects import Unusable
from optimize_eval.kinds.judge.prompt import asked_again, messages, schema_of
from optimize_eval.kinds.judge.reply import Judgement, parse_reply
from optimize_eval.kinds.judge.rubric import JudgeSpec, check_judge, judge_of
from optimize_eval.models import ModelSpec, Reply
from optimize_eval.models.from_spec import live_model, with_options
from optimize_eval.programs.batch import call_singly
from optimize_eval.protocol import Answer, Answered, Payload, encode
from optimize_eval.spent import NOTHING

_SHOWN = 200
_REPORTED_BY_SOME = ("cached_tokens", "reasoning_tokens", "cost")
_NONSENSE_HINT = "a larger model, or a shorter rubric, may keep to the form"
_TOO_SHORT_HINT = "raise max_tokens: the judge's answer was cut off"


class JudgeEvaluator:
    """Calls a model."""

    def __init__(self, spec: EvaluatorSpec) -> None:
        self._judge = check_judge(judge_of(spec))
        self._schema = schema_of(self._judge.rubric)
        self._model = live_model(model_of(self._judge), spec.manners)
        self.stop_waiting = self._model.stop_waiting

    def call(self, payload: Payload, deadline: float) -> Answered:
        encode(payload)  # refuses what no message could hold
        sent = messages(self._judge, payload)
        first = self._model.chat(sent, deadline, schema=self._schema)
        read = self._read(first, payload)
        if isinstance(read, Judgement) and not read.off_scale:
            return _answer(read, [first])
        sent += asked_again(first.text, read.off_scale if isinstance(read, Judgement) else str(read))
        second = self._again(sent, deadline, first)
        read = self._read(second, payload)
        if isinstance(read, Unusable):
            nonsense = self._nonsense(second, read)
            nonsense.spent = first.spent + second.spent
            raise nonsense
        return _answer(read, [first, second])

    def call_many(self, payloads: Sequence[Payload], timeout: float) -> list[Answered | EvaluationError]:
        return call_singly(payloads, timeout, self.call)

    @property
    def note(self) -> str:
        return self._model.note

    @property
    def capacity(self) -> Capacity:
        return Capacity(calls=self._model.capacity)

    def close(self) -> None:
        self._model.close()

    def _again(self, sent: list[dict[str, str]], deadline: float, first: Reply) -> Reply:
        """Call once more; what the first call spent is not lost where this one fails."""
        try:
            return self._model.chat(sent, deadline + first.spent.waited, schema=self._schema)
        except EvaluationError as error:
            error.spent = first.spent + error.spent
            raise

    def _read(self, reply: Reply, payload: Payload) -> Judgement | Unusable:
        judged = [payload.candidate, (payload.example or b"").decode(), payload.prompt]
        try:
            return parse_reply(reply.text, self._judge.rubric, judged)
        except Unusable as unusable:
            return Unusable("it is cut off for its length, so be brief") if reply.is_cut_off else unusable

    def _nonsense(self, reply: Reply, unusable: Unusable) -> EvaluationError:
        start = reply.text if len(reply.text) <= _SHOWN else reply.text[: _SHOWN - 1] + "…"
        return EvaluationError(
            FailureKind.MODEL_ERROR,
            f"{self._judge.model} gave no usable judgement, also when called again: {unusable}; "
            f"it replied {json.dumps(start, ensure_ascii=False)}",
            hint=_TOO_SHORT_HINT if reply.is_cut_off else _NONSENSE_HINT,
        )


def model_of(judge: JudgeSpec) -> ModelSpec:
    """Describe the model that a judge calls."""
    return with_options(
        judge.table,
        judge.model,
        api_base=judge.api_base,
        temperature=judge.temperature,
        max_tokens=judge.max_tokens,
        seed=judge.seed,
    )


def _answer(verdict: Judgement, replies: Sequence[Reply]) -> Answer:
    return Answer(
        score=verdict.score,
        side_info={**verdict.side_info, "usage": _usage(replies)},
        spent=replies[0].spent if len(replies) == 1 else sum((reply.spent for reply in replies), NOTHING),
    )


def _usage(replies: Sequence[Reply]) -> dict[str, Any]:
    """Sum what all replies took, and say whose the last one is; what a server does not report is unknown."""
    last = replies[-1]
    reported = {name: _sum(replies, name) for name in _REPORTED_BY_SOME}
    answered = {"answered_by": last.model, "fingerprint": last.fingerprint, **reported}
    return {
        "prompt_tokens": _sum(replies, "prompt_tokens"),
        "completion_tokens": _sum(replies, "completion_tokens"),
        "calls": len(replies),
        **{key: value for key, value in answered.items() if value is not None},
        **({"finish_reason": last.finish_reason} if last.is_cut_off else {}),
    }


def _sum(replies: Sequence[Reply], name: str) -> Any:
    counts = [getattr(reply, name) for reply in replies]
    return None if None in counts else sum(counts)
