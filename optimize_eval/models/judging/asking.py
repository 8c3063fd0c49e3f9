"""A model is called until its reply can be used: once more, with the reason why not, and no more often."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.retries_and_caps import GivenUp
from optimize_eval.base.spent import Spent
from optimize_eval.models.chat import Reply
from optimize_eval.models.judging.verdicts import Unusable

Message = Mapping[str, str]
Read = TypeVar("Read")

THE_OBJECT = "the JSON object"

_SAID_BACK = 4000  # characters of a reply that could not be used
_SHOWN = 200
_NONSENSE_HINT = "a larger model, or a shorter rubric, may keep to the form"
_TOO_SHORT_HINT = "raise max_tokens: the judge's answer was cut off"
_REPORTED_BY_SOME = ("cached_tokens", "reasoning_tokens", "cost")


class Chat(Protocol):
    """A model that takes messages."""

    def chat(
        self, messages: Sequence[Message], deadline: float, *, schema: Mapping[str, Any] | None = None
    ) -> Reply:
        """Reply before `deadline` (an instant of time.monotonic) or raise EvaluationError."""
        ...


class Question(NamedTuple):
    """What a model is sent, and how it is requested to reply."""

    model: str  # its name, for the words of failures
    messages: Sequence[Message]
    schema: Mapping[str, Any] | None = None
    form: str = THE_OBJECT  # what the reply is to be, said where it is requested again


class Asked(NamedTuple, Generic[Read]):
    """What was read of the last reply, and all replies."""

    read: Read
    replies: Sequence[Reply]

    @property
    def spent(self) -> Spent:
        first, *others = self.replies
        return sum((reply.spent for reply in others), first.spent) if others else first.spent


def ask(
    chat: Chat,
    question: Question,
    read: Callable[[str], Read],
    deadline: float,
    *,
    doubt: Callable[[Read], str] = lambda _read: "",
) -> Asked[Read]:
    """Call a model, and once more if its reply cannot be read or is in doubt; a doubt that stays is none.

    `read` raises Unusable. Raises EvaluationError where no reply can be used.
    """
    first = chat.chat(question.messages, deadline, schema=question.schema)
    known = _read(first, read)
    reason = str(known) if isinstance(known, Unusable) else doubt(known)
    if not isinstance(known, Unusable) and not reason:
        return Asked(known, [first])
    second = _again(chat, question, first, reason, deadline)
    known = _read(second, read)
    if isinstance(known, Unusable):
        nonsense = _nonsense(question, second, known)
        nonsense.spent = first.spent + second.spent
        raise nonsense
    return Asked(known, [first, second])


def usage_of(replies: Sequence[Reply]) -> dict[str, Any]:
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


def _again(chat: Chat, question: Question, first: Reply, reason: str, deadline: float) -> Reply:
    """Call once more; what the first call spent is not lost where this one fails."""
    messages = [*question.messages, *_asked_again(first.text, reason, question.form)]
    try:
        return chat.chat(messages, deadline + first.spent.waited, schema=question.schema)
    except (EvaluationError, GivenUp) as error:
        error.spent = first.spent + error.spent
        raise


def _asked_again(said: str, reason: str, form: str) -> list[Message]:
    """Go on after a reply that could not be used."""
    shown = said if len(said) <= _SAID_BACK else said[: _SAID_BACK - 1] + "…"
    why = f"This answer cannot be used: {reason}. Answer again, with nothing but {form}."
    return [{"role": "assistant", "content": shown or "(nothing)"}, {"role": "user", "content": why}]


def _read(reply: Reply, read: Callable[[str], Read]) -> Read | Unusable:
    try:
        return read(reply.text)
    except Unusable as unusable:
        return Unusable("it is cut off for its length, so be brief") if reply.is_cut_off else unusable


def _nonsense(question: Question, reply: Reply, unusable: Unusable) -> EvaluationError:
    start = reply.text if len(reply.text) <= _SHOWN else reply.text[: _SHOWN - 1] + "…"
    return EvaluationError(
        FailureKind.MODEL_ERROR,
        f"{question.model} gave no usable judgement, also when called again: {unusable}; "
        f"it replied {json.dumps(start, ensure_ascii=False)}",
        hint=_TOO_SHORT_HINT if reply.is_cut_off else _NONSENSE_HINT,
    )


def _sum(replies: Sequence[Reply], name: str) -> Any:
    if len(replies) == 1:
        return getattr(replies[0], name)
    counts = [getattr(reply, name) for reply in replies]
    return None if None in counts else sum(counts)
