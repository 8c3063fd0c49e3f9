"""The scorer: what it takes of sample and trace, and the judge's replies, each called for once."""

import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.manners import GivenUp
from optimize_eval.base.spent import NOTHING, Spent
from optimize_eval.models.judging.asking import Asked, usage_of
from optimize_eval.tasks.definitions.score.fields import Case
from optimize_eval.tasks.definitions.score.parts import RagChecker
from optimize_eval.tasks.definitions.score.rag.judge import ClaimsJudge
from optimize_eval.tasks.definitions.score.rag.measures import SCORES, WITHOUT_PASSAGES, Flags
from optimize_eval.tasks.definitions.score.scored import Scored, kind, unusable
from optimize_eval.tasks.definitions.score.shipped import Scoring
from optimize_eval.tasks.definitions.score.tools import Tools
from optimize_eval.tasks.definitions.solve.trace import Trace

if TYPE_CHECKING:
    from optimize_eval.models.spec import Reply

Read = TypeVar("Read")
Kept = dict[Hashable, Any]  # what was read of the judge's replies


class Texts(NamedTuple):
    """What is compared."""

    query: str
    reply: str
    target: str | None  # None where no score needs it
    passages: tuple[str, ...]


def rag_checker(how: RagChecker, tools: Tools) -> Scoring:
    judge = ClaimsJudge(how.judge_model_key, tools.model(how.judge_model_key))
    names = tuple(how.scores_to_compute) or tuple(SCORES)
    kept, keeping = dict[Texts, Kept](), threading.Lock()  # of samples that failed, for the next attempt

    def score(case: Case, deadline: float) -> Scored:
        texts = _texts(how, names, case)
        with keeping:
            known = kept.setdefault(texts, {})
        evidence = JudgedEvidence(judge, texts, known, deadline - time.monotonic())
        scored = evidence.scored(names)
        with keeping:
            kept.pop(texts, None)
        return scored

    return score


class JudgedEvidence:
    """What supports which claim, by a judge; each of its calls may take as long as one."""

    def __init__(self, judge: ClaimsJudge, texts: Texts, known: Kept, seconds: float) -> None:
        self._judge = judge
        self._texts = texts
        self._known = known
        self._seconds = seconds
        self._replies: list[Reply] = []
        self._spent: Spent = NOTHING

    def scored(self, names: Sequence[str]) -> Scored:
        scores = {name: self._score(name) for name in names}
        usage = {"usage": usage_of(self._replies)} if self._replies else {}
        metadata = {**self._claims(), **usage}
        return Scored(primary=scores[names[0]], scores=scores, metadata=metadata, spent=self._spent)

    @property
    def reply_by_target(self) -> Flags:
        return self._checked(self._of_reply, self._texts.target or "")

    @property
    def target_by_reply(self) -> Flags:
        return self._checked(self._of_target, self._texts.reply)

    @property
    def reply_by_passages(self) -> Sequence[Flags]:
        return self._by_passages(self._of_reply)

    @property
    def target_by_passages(self) -> Sequence[Flags]:
        return self._by_passages(self._of_target)

    @property
    def _of_reply(self) -> tuple[str, ...]:
        return self._split(self._texts.reply)

    @property
    def _of_target(self) -> tuple[str, ...]:
        return self._split(self._texts.target or "")

    def _score(self, name: str) -> float | None:
        if not self._texts.passages and name not in WITHOUT_PASSAGES:
            return None
        return SCORES[name](self)

    def _by_passages(self, claims: tuple[str, ...]) -> Sequence[Flags]:
        columns = [self._checked(claims, passage) for passage in self._texts.passages]
        return [*zip(*columns, strict=True)]

    def _split(self, text: str) -> tuple[str, ...]:
        if not text.strip():
            return ()
        query = self._texts.query
        return self._once(text, lambda until: self._judge.split(query, text, until), tuple)

    def _checked(self, claims: tuple[str, ...], text: str) -> Flags:
        if not claims or not text.strip():
            return (False,) * len(claims)
        key = (claims, text)
        return self._once(key, lambda until: self._judge.check(claims, text, until), tuple)

    def _once(self, key: Hashable, call: Callable[[float], Asked[Any]], made: Callable[[Any], Read]) -> Read:
        """Call the judge, unless it was called for this sample before."""
        if key not in self._known:
            try:
                asked = call(time.monotonic() + self._seconds)
            except (EvaluationError, GivenUp) as error:
                error.spent = self._spent + error.spent
                raise
            self._replies += asked.replies
            self._spent += asked.spent
            self._known[key] = made(asked.read)
        found: Read = self._known[key]
        return found

    def _claims(self) -> dict[str, Any]:
        """Tell the claims that were found."""
        texts = {"reply_claims": self._texts.reply, "target_claims": self._texts.target}
        return {name: list(self._known[text]) for name, text in texts.items() if text in self._known}


def _texts(how: RagChecker, names: Sequence[str], case: Case) -> Texts:
    return Texts(
        query=_column(case.sample, how.query_column),
        reply=case.last_text,
        target=_column(case.sample, how.target_column) if {*names} - {"faithfulness"} else None,
        passages=_passages(how, case),
    )


def _column(sample: Mapping[str, Any], name: str) -> str:
    if name not in sample:
        raise unusable(f"the sample has no column {name!r}", hint=f"it has {', '.join(map(repr, sample))}")
    value = sample[name]
    if not isinstance(value, str):
        raise unusable(f"the column {name!r} holds {kind(value)}, not a text")
    return value


def _passages(how: RagChecker, case: Case) -> tuple[str, ...]:
    """Find what was retrieved: in the model's output, else in a column of the sample."""
    if found := _references(case.trace):
        return found
    if not how.context_column:
        return ()
    value = case.sample.get(how.context_column) or []
    listed = value if isinstance(value, list) else [value]
    texts = [one.get("content") if isinstance(one, Mapping) else one for one in listed]
    passages = tuple(one for one in texts if isinstance(one, str))
    if len(passages) < len(texts):
        raise unusable(f"the column {how.context_column!r} holds what is no text")
    return passages


def _references(trace: Trace | None) -> tuple[str, ...]:
    match trace.completion if trace else {}:
        case {"choices": [{"references": [*references]}, *_]}:
            contents = [one.get("content") for one in references if isinstance(one, Mapping)]
            return tuple(content for content in contents if isinstance(content, str))
    return ()
