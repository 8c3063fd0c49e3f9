"""What preflight works on: the payloads of a run, an evaluator under examination, and how it is called."""

import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple

from optimize_eval.base import strict_json
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import Answer, Answered, Payload, Skip
from optimize_eval.base.spent import Spending
from optimize_eval.evaluators.kinds import connect

SENTINEL = "__optimize_anything_preflight__"
AT_ONCE = 2 * (os.cpu_count() or 1)

_LEAST_WAIT = 0.5

CallResult = Answered | EvaluationError


class CheckStatus(StrEnum):
    """How a check came out."""

    PASS = "pass"  # noqa: S105  no password
    FAIL = "fail"
    WARN = "warn"
    SKIP = "skip"


class CheckOutcome(NamedTuple):
    """One thing looked at; `reproduce` is a shell line that shows a failure or a warning."""

    name: str
    status: CheckStatus
    message: str
    reproduce: str = ""


class Sameness(StrEnum):
    """How much of an answer stays the same when the same payload is sent again."""

    ALL = "score and side info"
    SCORE = "score"
    OUTCOME = "outcome"
    NOTHING = "nothing"


@frozen
class Material:
    """What a run would send: some payloads of each split, first ones first, and how many calls it makes."""

    splits: dict[str, tuple[Payload, ...]]
    calls: int
    slots: int
    sentinel: Payload | None = None  # where no candidate is named, and placeholders stand in the payloads

    @property
    def firsts(self) -> list[tuple[str, Payload]]:
        """List the first payload of each split and task model, and what tells it from the others."""
        models = dict.fromkeys(one.task_model for payloads in self.splits.values() for one in payloads)
        return [
            (_where(split, model if len(models) > 1 else None), first)
            for split, payloads in self.splits.items()
            for model in models
            for first in [next(one for one in payloads if one.task_model == model)]
        ]

    def alike(self, wanted: int) -> list[Payload]:
        """Choose payloads that differ from the first one by their example only, so that they make a batch."""
        first, *others = next(iter(self.splits.values()))
        same = [one for one in others if replace(one, example=first.example, line=first.line) == first]
        return [[first, *same][number % (1 + len(same))] for number in range(wanted)]

    def varied(self, wanted: int) -> list[Payload]:
        """Choose payloads that differ by their example where there are examples, else by their candidate."""
        known = list(dict.fromkeys(payload for payloads in self.splits.values() for payload in payloads))
        if len(known) > 1:
            return [known[number % len(known)] for number in range(wanted)]
        return [replace(known[0], candidate=known[0].candidate + " " * number) for number in range(wanted)]


def _where(split: str, model: str | None) -> str:
    return " ".join(word for word in ("" if split == "single" else split, model) if word)


@dataclass(slots=True, kw_only=True)
class Examined:
    """One evaluator on the table, and what is known about it."""

    spec: EvaluatorSpec
    material: Material
    until: float
    checks: list[CheckOutcome] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)  # of single calls, one process each
    first: Answered | None = None
    took_sentinel: bool = False  # and scored it, or skipped it
    sameness: Sameness = Sameness.ALL
    one_by_one: list[CallResult] = field(default_factory=list)  # what the sample is answered
    parallel: float = 1.0  # calls that go on at the same time when many slots call
    side_infos: list[Mapping[str, Any]] = field(default_factory=list)  # of a judge's replies
    spending: Spending = field(default_factory=Spending)  # on models, by all calls of these checks
    tokens: list[int | None] = field(default_factory=list)  # of calls to a model; None: it does not tell
    told: str = ""  # what it gave, where that is no answer
    is_held: bool = False  # what it leaves behind holds its stdout, and each call waits for that
    kept: list[float] = field(default_factory=list)  # seconds of calls of a process that stays
    each: float | None = None  # seconds that a run takes for a call more, where a process stays

    @property
    def is_ok(self) -> bool:
        return all(check.status is not CheckStatus.FAIL for check in self.checks)

    @property
    def estimate(self) -> float | None:
        """Guess the seconds that the run takes with this evaluator alone, called as a run calls it."""
        if not self.seconds:
            return None
        first = self.quantile(0.5)
        if self.each is not None:
            return first + self.material.calls * self.each
        return max(first, self.material.calls * first / self.parallel)

    @property
    def tokens_of_run(self) -> int | None:
        """Guess the tokens that the run takes with this evaluator."""
        known = [count for count in self.tokens if count is not None]
        return round(self.material.calls * statistics.fmean(known)) if known else None

    @property
    def sample(self) -> list[Payload]:
        return self.material.varied(AT_ONCE)

    def quantile(self, share: float) -> float:
        """Give the seconds that so many calls at most take, each with a process of its own."""
        return _quantile(self.seconds, share)

    def typical(self, share: float) -> float:
        """Give the same of calls as a run makes them."""
        return _quantile(self.kept or self.seconds, share)

    def affords(self, calls: int) -> bool:
        """Return True if so many further calls fit into the budget."""
        return time.monotonic() + calls * statistics.median(self.seconds) < self.until

    def call(self, evaluator: Evaluator, payload: Payload, *, counts: bool = False) -> CallResult:
        """Call within the budget; raises BudgetSpent where that, and not the evaluator, ended the wait."""
        left = max(_LEAST_WAIT, self.until - time.monotonic())
        result = call(evaluator, payload, min(left, self.spec.timeout), self.seconds if counts else None)
        usages = [usage.to_dict() for usage in result.spent.usages]
        self.spending.take({"evaluator": self.spec.name, "candidate": ""}, usages)
        if left < self.spec.timeout and is_late(result):
            raise BudgetSpent
        return result

    def ask_all(self, evaluator: Evaluator) -> list[CallResult]:
        return [self.call(evaluator, payload, counts=True) for payload in self.sample]

    def learn(self, again: Sequence[CallResult]) -> None:
        """Expect less sameness of answers, if the same payloads were answered otherwise this time."""
        for sameness in list(Sameness)[list(Sameness).index(self.sameness) :]:
            self.sameness = sameness
            if not self.differing(again):
                return

    def key(self, result: CallResult) -> object:
        """Reduce a result to what can be compared, given how much of it stays the same anyway."""
        if self.sameness is Sameness.NOTHING:
            return True
        if isinstance(result, EvaluationError):
            return str(result.kind)
        if isinstance(result, Skip):
            return result.why if self.sameness is Sameness.ALL else "skipped"
        score = None if result.is_unranked else result.score  # NaN is not equal to itself
        parts = {
            Sameness.ALL: (score, strict_json.dumps(dict(result.side_info))),
            Sameness.SCORE: score,
            Sameness.OUTCOME: True,
        }
        return parts[self.sameness]

    def first_unlike(
        self, singles: Sequence[CallResult], others: Sequence[CallResult]
    ) -> tuple[CallResult, CallResult] | None:
        pairs = zip(singles, others, strict=True)
        return next(((one, other) for one, other in pairs if self.key(one) != self.key(other)), None)

    def differing(self, results: Sequence[CallResult]) -> int:
        pairs = zip(results, self.one_by_one, strict=True)
        return sum(self.key(found) != self.key(single) for found, single in pairs)


def _quantile(seconds: Sequence[float], share: float) -> float:
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class BudgetSpent(Exception):
    """The time for looking at an evaluator is over."""


@contextmanager
def live(
    spec: EvaluatorSpec, *, persistent: bool | None = None, timeout: float | None = None
) -> Iterator[Evaluator]:
    chosen = spec.persistent if persistent is None else persistent
    evaluator = connect(replace(spec, persistent=chosen, timeout=timeout or spec.timeout, keep_stderr=True))
    try:
        yield evaluator
    finally:
        evaluator.close()


def call(
    evaluator: Evaluator, payload: Payload, timeout: float, seconds: list[float] | None = None
) -> CallResult:
    started = time.monotonic()
    try:
        return evaluator.call(payload, started + timeout)
    except EvaluationError as error:
        return error
    finally:
        if seconds is not None:
            seconds.append(time.monotonic() - started)


def score_of(answer: Answer) -> str:
    """Say which score an answer has; a label is none."""
    return "no number" if answer.is_unranked else f"score {answer.score:g}"


def shown(result: CallResult | None) -> str:
    """Show the score, or why there is none."""
    if isinstance(result, EvaluationError):
        return str(result.kind)
    if isinstance(result, Skip):
        return "skipped"
    if result is None:
        return "nothing"
    return "no number" if result.is_unranked else f"{result.score!r}"


def is_late(result: CallResult) -> bool:
    return isinstance(result, EvaluationError) and result.kind is FailureKind.TIMEOUT


def in_words(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
