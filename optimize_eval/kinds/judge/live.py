"""An evaluator that is a language model: a prompt with an objective in, a score with its reasons out.

The prompt is prompt's, the meaning of a reply judging's, reaching the model models'. A reply that cannot be
used, or is on another scale, is retried once; a judge whose second reply cannot be used has failed, and never
scored 0. Scores are from 0 to 1 whatever the score range.
"""

from collections.abc import Sequence
from operator import attrgetter

from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import Capacity, EvaluatorSpec
from optimize_eval.base.manners import Queue
from optimize_eval.base.protocol import Answer, Answered, Payload, encode
from optimize_eval.kinds.judge.prompt import messages
from optimize_eval.kinds.judge.rubric import JudgeSpec, check_judge, judge_of
from optimize_eval.models.judging.asking import Question, ask, usage_of
from optimize_eval.models.judging.form import schema_of
from optimize_eval.models.judging.verdicts import parse_reply
from optimize_eval.models.provider_model import live_model, with_options
from optimize_eval.models.spec import ModelSpec
from optimize_eval.programs.codec import call_singly


class JudgeEvaluator:
    """Calls a model."""

    def __init__(self, spec: EvaluatorSpec) -> None:
        self._judge = check_judge(judge_of(spec))
        self._schema = schema_of(self._judge.rubric)
        self._model = live_model(model_of(self._judge), spec.manners)
        self.stop_waiting = self._model.stop_waiting
        self.meter = self._model.meter

    def call(self, payload: Payload, deadline: float) -> Answered:
        encode(payload)  # refuses what no message could hold
        judged = [payload.candidate, (payload.example or b"").decode(), payload.prompt]
        question = Question(self._judge.model, messages(self._judge, payload), self._schema)
        asked = ask(
            self._model,
            question,
            lambda text: parse_reply(text, self._judge.rubric, judged),
            deadline,
            doubt=_off_scale,
        )
        side_info = {**asked.read.side_info, "usage": usage_of(asked.replies)}
        return Answer(score=asked.read.score, side_info=side_info, spent=asked.spent)

    def call_many(self, payloads: Sequence[Payload], timeout: float) -> list[Answered | EvaluationError]:
        return call_singly(payloads, timeout, self.call)

    @property
    def note(self) -> str:
        return self._model.note

    @property
    def queues(self) -> Sequence[Queue]:
        return self._model.queues

    @property
    def capacity(self) -> Capacity:
        return Capacity(calls=self._model.capacity)

    def close(self) -> None:
        self._model.close()


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


_off_scale = attrgetter("off_scale")
