"""What is sent to a program or an endpoint, one question or several, and how its replies are read.

A Contract says it for evaluators, which are given payloads and answer with scores (here), and for models,
which are given prompts and answer with texts (models.program_model). How a program is started, kept alive,
limited and ended is the same for both, and command's business.

A batch leaves no trace: each element is judged by the rules for single answers, and a batch without a
usable answer is called again one by one. What may go together is said by the contract.
"""

import contextlib
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import Field
from functools import partial
from itertools import groupby
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec, check_text
from optimize_eval.base.frozen import frozen
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


@frozen
class CommandLine:
    """A program and its arguments."""

    kind: ClassVar[str] = "command"
    argv: tuple[str, ...]
    is_ours: bool = False  # known to stay alive, and to read no task model in its environment
    owes_proof: bool = False  # known to stay alive, but not that this changes no score

    def __post_init__(self) -> None:
        for word in self.argv:
            check_text("command", word)


@frozen
class Url:
    """A program behind HTTP."""

    kind: ClassVar[str] = "url"
    url: str


def argv_of(spec: EvaluatorSpec) -> tuple[str, ...]:
    """Give the words that start a program; none for what is not started."""
    return spec.target.argv if isinstance(spec.target, CommandLine) else ()


def is_ours(spec: EvaluatorSpec) -> bool:
    """Return True for a shipped program that need not be started to learn what it declares."""
    return isinstance(spec.target, CommandLine) and spec.target.is_ours


def owes_proof(spec: EvaluatorSpec) -> bool:
    """Return True for a program of ours that calls code of somebody else."""
    return isinstance(spec.target, CommandLine) and spec.target.owes_proof


def url_of(spec: EvaluatorSpec) -> str:
    """Give the URL of a program behind HTTP; empty for what is elsewhere."""
    return spec.target.url if isinstance(spec.target, Url) else ""


def check_url(url: str) -> str:
    """Refuse a URL that no request could be sent to; the message leaves out what may be secret."""
    from pyreqwest.http import Url as Parsed  # noqa: PLC0415  most runs call programs, and load no HTTP client

    try:
        Parsed(url)
    except ValueError as error:
        raise UsageError(
            f"{show_url(url)} is not a URL: {error}", hint="write it as http://HOST:PORT/PATH"
        ) from None
    return url


def show_url(url: str) -> str:
    """Write a URL without user, password and query."""
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
        return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"
    return f"{url.partition(':')[0]}://…"


def is_loopback(url: str) -> bool:
    """Return True if a URL leads to this very machine."""
    from ipaddress import ip_address  # noqa: PLC0415  as above

    host = urlsplit(url).hostname or ""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost"
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def split_command(command: str) -> tuple[str, ...]:
    """Split a command into words as a shell does."""
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        reason = str(error).lower().rstrip(".")
        raise UsageError(
            f"the command {command!r} cannot be split: {reason}", hint="close its quotes"
        ) from None


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
    judge: Callable[[JsonDict], AnswerT]  # a decoded reply, or raises EvaluationError
    parse: Callable[[bytes], AnswerT]  # a whole stdout, or raises EvaluationError
    split: Callable[[JsonMapping, int], list[AnswerT | EvaluationError]]  # or raises ValueError
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


class Unanswered(Exception):
    """A batch got no usable answer; its questions are to be sent singly."""


def call_in_batches(
    questions: Sequence[QuestionT],
    timeout: float,
    *,
    size: int,
    contract: Contract[QuestionT, AnswerT],
    one: Callable[[QuestionT, float], AnswerT],
    many: Callable[[Sequence[QuestionT], float], JsonMapping],
) -> list[AnswerT | EvaluationError]:
    """Answer questions in their order; `timeout` is each one's seconds, a batch has the sum of its own.

    `one` is given a deadline; `many` is given seconds, and returns a decoded reply.
    """
    outcomes: list[AnswerT | EvaluationError] = []
    for group in contract.groups(questions, size):
        if len(group) > 1:
            try:
                outcomes += contract.split(many(group, timeout * len(group)), len(group))
                continue
            except (Unanswered, ValueError):
                pass
        outcomes += call_singly(group, timeout, one)
    return outcomes


def call_singly(
    questions: Sequence[QuestionT], timeout: float, one: Callable[[QuestionT, float], AnswerT]
) -> list[AnswerT | EvaluationError]:
    """Answer questions one after the other, each with its own deadline."""
    return [_call(question, timeout, one) for question in questions]


def _call(
    question: QuestionT, timeout: float, one: Callable[[QuestionT, float], AnswerT]
) -> AnswerT | EvaluationError:
    try:
        return one(question, time.monotonic() + timeout)
    except EvaluationError as error:
        return error
