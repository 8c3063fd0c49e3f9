"""A live judge: a unit is one vote, or those of a panel, and each vote is one question, or both of a pair.

Where a judge compares, it is asked in both orders: who only ever says "first" scores 0.5. Each question has
the whole timeout. Votes that came are kept where others failed, so that another call asks for these alone.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.names import distinct
from optimize_eval.base.protocol import Answer, Answered, Payload, Skip, encode
from optimize_eval.base.retries_and_caps import GivenUp
from optimize_eval.base.spent import NOTHING, Spent
from optimize_eval.data.selection import value_at
from optimize_eval.models.judging.judge import Asked, Question, ask, messages, usage_of
from optimize_eval.models.judging.rubric import (
    BASELINE,
    EVEN,
    JudgeSpec,
    check_judge,
    judge_of,
    model_of,
    objective_for,
    schema_of,
    score_of,
)
from optimize_eval.models.judging.verdicts import Judgement, parse_reply
from optimize_eval.models.live import CallerOfModels, Model, live_model
from optimize_eval.programs.exchange import call_singly

_LONGEST_WHY = 1000
_SAME = {"reasoning": "both texts are the same", "same": True}

_off_scale = attrgetter("off_scale")

_Asked = Asked[Judgement]
_Came = dict[tuple[int, int], _Asked]  # by seat and order


class _Seat(NamedTuple):
    """Who gives one vote."""

    name: str
    judge: JudgeSpec
    model: Model


class JudgeEvaluator(CallerOfModels):
    """Judges by what models reply."""

    def __init__(self, spec: EvaluatorSpec) -> None:
        self._judge = judge = check_judge(judge_of(spec))
        self._timeout = spec.timeout
        self._schema = schema_of(judge.answers)
        models = [live_model(model_of(member), spec.manners) for member in judge.members]
        names = distinct([member.model for member in judge.members])
        members = [_Seat(*parts) for parts in zip(names, judge.members, models, strict=True)]
        self._seats = [seat for seat in members for _ in range(judge.samples)]
        self._came: dict[Payload, _Came] = {}  # of units that failed, until they are called once more
        super().__init__(*models)

    def call(self, payload: Payload, deadline: float) -> Answered:
        encode(payload)  # refuses what no message could hold
        if why := _missing(self._judge, payload):
            return Skip(why=why)
        rival = _rival_of(self._judge, payload)
        if isinstance(rival, Skip):
            return rival
        if rival == payload.candidate:  # also the baseline's own row
            return Answer(score=EVEN, side_info=_SAME)
        asking = _Asking(self._came.pop(payload, {}), deadline, self._timeout)
        pairs: Sequence[Sequence[str]] = [()]
        if rival is not None:
            pairs = [(payload.candidate, rival), (rival, payload.candidate)]
        for number, seat in enumerate(self._seats):
            asking.ask_all(number, [self._asker(seat, payload, pair) for pair in pairs])
        if len(self._seats) - len(asking.failed) < self._judge.least_votes:
            self._came[payload] = asking.came
            raise self._failure(asking)
        return self._answer(asking, len(pairs))

    def call_many(self, payloads: Sequence[Payload], timeout: float) -> list[Answered | EvaluationError]:
        return call_singly(payloads, timeout, self.call)

    def _asker(self, seat: _Seat, payload: Payload, pair: Sequence[str]) -> Callable[[float], _Asked]:
        """Prepare one question, for a deadline."""
        rubric = self._judge.answers
        judged = [*(pair or [payload.candidate]), (payload.example or b"").decode(), payload.prompt]

        def make(deadline: float) -> _Asked:
            question = Question(seat.judge.model, messages(seat.judge, payload, pair), self._schema)
            read = lambda text: parse_reply(text, rubric, judged)  # noqa: E731
            return ask(seat.model, question, read, deadline, doubt=_off_scale)

        return make

    def _failure(self, asking: "_Asking") -> EvaluationError:
        """Fail as a vote that may still come, if enough of them may; else as one that will not."""
        failed = asking.failed
        lost = [number for number, error in failed.items() if error.retry_after is None]
        is_lost = len(self._seats) - len(lost) < self._judge.least_votes
        number = lost[0] if is_lost else next(n for n in failed if n not in lost)
        error = failed[number]
        if len(self._seats) > 1:
            error.message = f"{self._seats[number].name}: {error.message}"
        error.spent, error.before = asking.spent, asking.before
        return error

    def _answer(self, asking: "_Asking", orders: int) -> Answered:
        given = {
            number: _vote([asking.came[number, order] for order in range(orders)])
            for number in range(len(self._seats))
            if number not in asking.failed
        }
        votes = {number: vote for number, vote in given.items() if not vote.abstains}
        replies = [reply for asked in asking.came.values() for reply in asked.replies]
        usage = {"usage": usage_of(replies)}
        if not votes:
            why = next(
                (vote.side_info["reasoning"] for vote in given.values() if "reasoning" in vote.side_info), ""
            )
            return Skip(why=f"the judge abstains: {why[:_LONGEST_WHY]}", side_info=usage, spent=asking.spent)
        abstained = [self._seats[number].name for number in given if number not in votes]
        noted = {**self._failures(asking), **({"abstained": abstained} if abstained else {})}
        side_info = {**self._side_info(votes), **noted, **usage}
        score = score_of(self._judge.vote, [vote.score for vote in votes.values()])
        return Answer(score=score, side_info=side_info, spent=asking.spent)

    def _side_info(self, votes: Mapping[int, Judgement]) -> JsonMapping:
        """Say what one judge says; of several what each does, and why the lowest vote is so low."""
        if len(self._seats) == 1:
            return votes[0].side_info
        every = [
            {"judge": self._seats[number].name, "score": vote.score, **vote.side_info}
            for number, vote in votes.items()
        ]
        lowest = min(votes.values(), key=lambda vote: vote.score)
        changed = {
            f"{self._seats[number].name} {key}": value
            for number, vote in votes.items()
            for key, value in vote.side_info.get("clamped_from", {}).items()
        }
        reasoning = {key: lowest.side_info[key] for key in ("reasoning",) if key in lowest.side_info}
        return {**reasoning, "votes": every, **({"clamped_from": changed} if changed else {})}

    def _failures(self, asking: "_Asking") -> JsonDict:
        failed = {self._seats[number].name: str(error.kind) for number, error in asking.failed.items()}
        return {"failed_votes": failed} if failed else {}


class _Asking:
    """Asks what is not answered yet, and keeps what came, what failed, and what all of it took."""

    def __init__(self, came: _Came, deadline: float, timeout: float) -> None:
        self.came = came
        self.failed: dict[int, EvaluationError] = {}  # by seat
        self.spent: Spent = NOTHING
        self.before = 0.0  # seconds until the last question, beside waiting
        self._deadline: float | None = deadline  # of the first question
        self._timeout = timeout

    def ask_all(self, seat: int, questions: Sequence[Callable[[float], _Asked]]) -> None:
        """Ask the questions of a seat up to the first that fails."""
        for order, ask_in_time in enumerate(questions):
            if (seat, order) not in self.came and seat not in self.failed:
                self._ask(seat, order, ask_in_time)

    def _ask(self, seat: int, order: int, ask_in_time: Callable[[float], _Asked]) -> None:
        began = time.monotonic()
        until, self._deadline = self._deadline or began + self._timeout, None
        try:
            asked = ask_in_time(until)
        except EvaluationError as error:
            self.failed[seat] = error
            self.spent += error.spent
        except GivenUp as given_up:
            given_up.spent = self.spent + given_up.spent
            raise
        else:
            self.came[seat, order] = asked
            self.spent += asked.spent
            self.before += time.monotonic() - began - asked.spent.waited


def _missing(judge: JudgeSpec, payload: Payload) -> str:
    """Say which field the objective lacks; empty where it has all."""
    try:
        objective_for(judge, payload.example)
    except KeyError as missing:
        return f"the example has no {missing}, which the objective takes in"
    return ""


def _rival_of(judge: JudgeSpec, payload: Payload) -> str | Skip | None:
    """Give the text that a candidate is compared with; None where the judge does not compare."""
    if not judge.against:
        return None
    if judge.against == BASELINE:
        if payload.rival is None:
            raise EvaluationError(
                FailureKind.INTERNAL,
                f'there is no baseline, with which the judge compares (against = "{BASELINE}")',
                hint="run or bench it: there the first candidate or model is the baseline",
            )
        return payload.rival.candidate
    example = strict_json.loads(payload.example.decode(), unique_keys=False) if payload.example else {}
    value = value_at(example, judge.against)
    if value is None:
        return Skip(why=f"there is nothing at {judge.against!r} to compare with")
    return value if isinstance(value, str) else strict_json.dumps(value).decode()


def _vote(asked: Sequence[_Asked]) -> Judgement:
    """Make one vote of the answers to a question; of a pair the candidate stands first, then second."""
    if len(asked) == 1:
        return asked[0].read
    first, second = (answer.read for answer in asked)
    reasons = {
        key: answer.side_info["reasoning"]
        for key, answer in (("reasoning", first), ("reasoning_second", second))
        if "reasoning" in answer.side_info
    }
    better = [first.side_info["better"], second.side_info["better"]]
    return Judgement(score=(first.score + 1 - second.score) / 2, side_info={**reasons, "better": better})
