"""What is sent to a program or an endpoint and how its replies are read: one value for each kind of program.

Evaluators are given payloads and answer with scores; models under test, whose contract stands in tasks, are
given prompts and answer with texts. How a program is started, kept alive, limited and ended is the same for
both, and command's business.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field
from functools import partial
from itertools import groupby
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.protocol import (
    Answered,
    Capabilities,
    Payload,
    ScoreRange,
    Skip,
    encode,
    encode_batch,
    judge_answer,
    parse_answer,
    split_batch,
)
from optimize_eval.base.wrong_answers import SAMPLE


class Question(Protocol):
    """What a program can be sent."""

    @property
    def task_model(self) -> str | None: ...


class AnswerLike(Protocol):
    """What was read of a program's reply; a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def capabilities(self) -> Capabilities: ...
    @property
    def stderr(self) -> str: ...


QuestionT = TypeVar("QuestionT", bound=Question)
AnswerT = TypeVar("AnswerT", bound=AnswerLike)


class Contract(NamedTuple, Generic[QuestionT, AnswerT]):
    """How one question or several are written as a line, and what is read of the reply."""

    encode: Callable[[QuestionT, str | None], bytes]  # with the `_id` that it must be answered under
    encode_batch: Callable[[Sequence[QuestionT], str | None], bytes]
    judge: Callable[[dict[str, Any]], AnswerT]  # a decoded reply, or raises EvaluationError
    parse: Callable[[bytes], AnswerT]  # a whole stdout, or raises EvaluationError
    split: Callable[[Mapping[str, Any], int], list[AnswerT | EvaluationError]]  # or raises ValueError
    groups: Callable[[Sequence[QuestionT], int], Iterator[Sequence[QuestionT]]]  # what may go into one call
    fix: Callable[[QuestionT, str], str]  # what to do about a program that failed and said this on stderr
    sample: str = SAMPLE  # what a reply looks like, for messages
    likeness: Callable[[AnswerT], object] | None = None  # what must not change in a program that stays


def evaluating(score_range: ScoreRange) -> Contract[Payload, Answered]:
    """Make the contract with evaluators."""
    return Contract(
        encode=encode,
        encode_batch=encode_batch,
        judge=partial(judge_answer, score_range=score_range),
        parse=partial(parse_answer, score_range=score_range),
        split=partial(split_batch, score_range=score_range),
        groups=alike,
        fix=_fix,
        likeness=_likeness,
    )


def alike(payloads: Sequence[Payload], size: int) -> Iterator[Sequence[Payload]]:
    """Cut into runs of at most `size` that differ in their example only; one without example stays alone."""
    for (_, _, has_example), run in groupby(payloads, key=_what_a_batch_shares):
        members = list(run)
        step = size if has_example else 1
        for start in range(0, len(members), step):
            yield members[start : start + step]


def _what_a_batch_shares(payload: Payload) -> tuple[str, str | None, bool]:
    return payload.candidate, payload.task_model, payload.example is not None


def _likeness(answer: Answered) -> object:
    return "a skip" if isinstance(answer, Skip) else answer.score


def _fix(payload: Payload, stderr: str) -> str:
    if payload.example is None and "example" in stderr:
        return "it seems to need an example, and there was none: --example FILE:LINE, or --dataset FILE"
    return 'fix it, or exit 0 and answer {"error": "why"} where there is no score to give'
